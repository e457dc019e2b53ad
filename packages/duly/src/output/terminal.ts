import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { cellsOf, takeCells } from './cells.ts';

/** The styles the command uses. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue';

/** Where text goes, and what may be done there. */
export interface Terminal {
  /** Whether a person looks at it, so that lines may be rewritten in place. */
  readonly isTerminal: boolean;
  /** Width in cells; endless off a terminal, where nothing is cut. */
  columns(): number;
  rows(): number;
  write(text: string): void;
  /** Writes a line. */
  line(text?: string): void;
  /** Writes a sentence: on a terminal its lines are broken between words. */
  sentence(text: string): void;
  /** Colours a text, where colours are wanted. */
  paint(style: Style | Style[], text: string): string;
}

/** How a terminal is written to. */
export interface TerminalOptions {
  /** Whether what is written takes the way that `redirectWrites` may have laid; else it goes straight to the stream. */
  isRedirectable?: boolean;
}

/** Looks at a stream and at NO_COLOR, FORCE_COLOR and TERM. */
export function createTerminal(
  stream: NodeJS.WriteStream,
  { isRedirectable = false }: TerminalOptions = {},
): Terminal {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isTerminal = stream.isTTY === true && TERM !== 'dumb';
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0';
  const hasColour = (NO_COLOR === undefined || NO_COLOR === '') && (isTerminal || isForced);
  const straight = stream.write.bind(stream);
  const write = (text: string): void => {
    if (isRedirectable) stream.write(text);
    else straight(text);
  };
  const columns = (): number =>
    isTerminal ? (stream as WriteStream).columns || 80 : Number.POSITIVE_INFINITY;
  return {
    isTerminal,
    columns,
    rows: () => (isTerminal ? (stream as WriteStream).rows || 24 : Number.POSITIVE_INFINITY),
    write,
    line: (text = '') => write(`${text}\n`),
    sentence: (text) =>
      write(
        `${text
          .split('\n')
          .flatMap((one) => wrap(one, columns()))
          .join('\n')}\n`,
      ),
    paint: (style, text) => (hasColour ? styleText(style, text, { validateStream: false }) : text),
  };
}

// Everything below a blank, but the two that are part of ordinary text and are handled where it is printed; and what turns the
// direction of writing, which would turn what stands around it too.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text that somebody else wrote (errors, log lines, steps), without what could move the cursor or clear the screen. */
export function harmless(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(controls, '\ufffd');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return harmless(text)
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replace(/\t/g, ' ');
}

/** How many cells a text takes, colours not counted. */
export function widthOf(text: string): number {
  return cellsOf(stripVTControlCharacters(text));
}

/** Fills a text up with blanks to a width. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? blanks + text : text + blanks;
}

/** Cuts a plain text to a width, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (cellsOf(text) <= width) return text;
  return width <= 1 ? takeCells(text, Math.max(0, width)) : `${takeCells(text, width - 1)}…`;
}

/** Cuts a text with colours to a width. */
export function cutPainted(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let result = '';
  let left = width - 1;
  let isFull = false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  for (const part of text.split(/(\u001b\[[0-9;]*m)/)) {
    // Colours after the cut end what was begun before it.
    if (part.startsWith('\u001b')) result += part;
    else if (!isFull) {
      const fitting = takeCells(part, left);
      left -= cellsOf(fitting);
      isFull = fitting.length < part.length;
      result += isFull ? `${fitting}…` : fitting;
    }
  }
  return result;
}

/**
 * Breaks a text into lines of a width, between words; what begins with blanks, or with a mark of a list behind them, goes on below its first word. A word that is wider
 * than a line stays whole: it may have to be copied.
 */
export function wrap(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const indent = (/^ *(?:[-!] )?/.exec(stripVTControlCharacters(text)) as RegExpExecArray)[0].length;
  const lines: string[] = [];
  const [first = '', ...words] = text.split(' ');
  let line = first;
  for (const word of words) {
    if (widthOf(line) > indent && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    } else line = `${line} ${word}`;
  }
  return [...lines, line];
}
