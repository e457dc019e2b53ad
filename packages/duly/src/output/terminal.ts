import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';

/** The styles the command uses. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue';

/** Where text goes, and what may be done there. */
export interface Terminal {
  /** Whether a person looks at it, so that lines may be rewritten in place. */
  readonly isTerminal: boolean;
  /** Width in characters; endless off a terminal, where nothing is cut. */
  columns(): number;
  rows(): number;
  write(text: string): void;
  /** Writes a line. */
  line(text?: string): void;
  /** Colours a text, where colours are wanted. */
  paint(style: Style | Style[], text: string): string;
}

/** Looks at a stream and at NO_COLOR, FORCE_COLOR and TERM. */
export function createTerminal(stream: NodeJS.WriteStream): Terminal {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isTerminal = stream.isTTY === true && TERM !== 'dumb';
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0';
  const hasColour = (NO_COLOR === undefined || NO_COLOR === '') && (isTerminal || isForced);
  const write = (text: string): void => {
    stream.write(text);
  };
  return {
    isTerminal,
    columns: () => (isTerminal ? (stream as WriteStream).columns || 80 : Number.POSITIVE_INFINITY),
    rows: () => (isTerminal ? (stream as WriteStream).rows || 24 : Number.POSITIVE_INFINITY),
    write,
    line: (text = '') => write(`${text}\n`),
    paint: (style, text) => (hasColour ? styleText(style, text, { validateStream: false }) : text),
  };
}

// Everything below a blank, but the two that are part of ordinary text and are handled where it is printed.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

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

/** How many columns a text takes, colours not counted. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Cuts a plain text to a width, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  return width <= 1 ? text.slice(0, Math.max(0, width)) : `${text.slice(0, width - 1)}…`;
}

/** Cuts a text with colours to a width. */
export function cutPainted(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let result = '';
  let left = width - 1;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  for (const part of text.split(/(\u001b\[[0-9;]*m)/)) {
    if (part.startsWith('\u001b')) result += part;
    else if (left > 0) {
      const kept = part.slice(0, left);
      left -= kept.length;
      result += left === 0 ? `${kept}…` : kept;
    }
  }
  return result;
}
