/** How many cells of a terminal a text takes: not its length, which counts code units. */

// East Asian wide and fullwidth blocks, as Unicode's EastAsianWidth.txt has them (W and F), blocks taken whole.
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x4dff],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18dff],
  [0x1aff0, 0x1b2ff],
  [0x1d300, 0x1d37f],
  [0x20000, 0x3fffd],
];

// Marks that stand on the letter before them, and what is not shown at all.
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;
const emoji = /^\p{Emoji_Presentation}$/u;
// One of these alone is a letter in a box; a pair is a flag of two cells.
const regionalIndicator = /^\p{Regional_Indicator}$/u;
const emojiSelector = '\ufe0f';
const plain = /^[\u0020-\u007e]*$/;

// Made when it is first needed: it takes 5 ms, which is much of the start of a command that prints plain text.
let graphemes: Intl.Segmenter | undefined;

/**
 * The cells a text without colours takes. Where terminals differ (joined emoji) the larger number: a line that is thought to
 * be wider than it is looks a little short; one that is thought to be narrower wraps, and what is redrawn below it floods the screen.
 */
export function cellsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  let last = 0;
  for (const character of text) {
    // A sign that is asked to look like an emoji becomes as wide as one.
    if (character === emojiSelector) {
      if (last === 1) cells++;
      last = 0;
      continue;
    }
    last = cellsOfCharacter(character);
    cells += last;
  }
  return cells;
}

function cellsOfCharacter(character: string): number {
  const code = character.codePointAt(0) as number;
  if (code < 0x300) return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : 1;
  if (zeroWidth.test(character)) return 0;
  if (regionalIndicator.test(character)) return 1;
  if (emoji.test(character)) return 2;
  return wideRanges.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

/** As much of a text as fits into so many cells. Letters with their marks, and joined emoji, are kept or left whole. */
export function takeCells(text: string, width: number): string {
  if (plain.test(text)) return text.slice(0, Math.max(0, width));
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  let taken = '';
  let left = width;
  for (const { segment } of graphemes.segment(text)) {
    left -= cellsOf(segment);
    if (left < 0) break;
    taken += segment;
  }
  return taken;
}
