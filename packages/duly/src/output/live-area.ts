import { type Clock, systemClock, type Timer } from '@duly/core';
import { cutPainted, type Terminal } from './terminal.ts';

/** Lines at the bottom of a terminal that are redrawn in place, below ordinary lines that scroll away. */
export interface LiveArea {
  /** What stands at the bottom from now on; asked for when it is drawn. */
  set(lines: () => readonly string[]): void;
  /** Prints a line above it. */
  print(line: string): void;
  /** Prints any text above it, as somebody else wrote it. What has no line end yet stands just above the area until it has. */
  write(text: string): void;
  /** Takes it away. */
  close(): void;
}

// Not more often than a person can see; a burst of changes becomes one drawing.
const drawMs = 60;
// More than a screen of unprinted text is printed at once, so that a handler that prints without end cannot fill the memory.
const printedLengthMax = 64 * 1024;

/** Makes an area on a terminal. Off a terminal only `print` and `write` do something. */
export function createLiveArea(out: Terminal, clock: Clock = systemClock): LiveArea {
  let lines: () => readonly string[] = () => [];
  let drawn = 0;
  let timer: Timer | null = null;
  let printed = '';
  /** A line without its end. */
  let begun = '';

  // To the first column too: what a person types (the ^C of an interrupt) moves the cursor.
  const erase = (): string => `\r${drawn === 0 ? '' : `\u001b[${drawn}A`}\u001b[0J`;

  function draw(): void {
    timer?.cancel();
    timer = null;
    const bottom = begun === '' ? lines() : [lastReturn(begun), ...lines()];
    // A line that wraps would take two rows, and the next drawing would begin in the wrong one.
    const shown = bottom.map((line) => `${cutPainted(line, out.columns() - 1)}\n`);
    // One write: the terminal never shows the state between erasing and drawing.
    if (drawn + shown.length + printed.length > 0) out.write(erase() + printed + shown.join(''));
    drawn = shown.length;
    printed = '';
  }

  function soon(): void {
    if (printed.length > printedLengthMax) draw();
    else timer ??= clock.after(drawMs, draw, { unref: true });
  }

  return {
    set(next) {
      if (!out.isTerminal) return;
      lines = next;
      soon();
    },
    print(line) {
      if (!out.isTerminal) {
        out.line(line);
        return;
      }
      printed += `${line}\n`;
      soon();
    },
    write(text) {
      if (!out.isTerminal) {
        out.write(text);
        return;
      }
      const all = begun + text;
      const end = all.lastIndexOf('\n') + 1;
      printed += all.slice(0, end);
      begun = all.slice(end);
      soon();
    },
    close() {
      lines = () => [];
      if (begun !== '') printed += `${begun}\n`;
      begun = '';
      draw();
    },
  };
}

/** What a terminal would show of a line that goes back to its beginning, as progress bars do. */
function lastReturn(line: string): string {
  const parts = line.split('\r').filter((part) => part !== '');
  return (parts.at(-1) ?? '').replace(/\t/g, ' ');
}
