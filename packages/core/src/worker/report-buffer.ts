import { logLineBytesMax } from '../base/json.ts';
import type { LogLine, Progress, ReportBody } from '../contract/engine.ts';

/** Progress and log lines of one attempt until a report takes them. It drops the oldest lines when it is full. */
export interface ReportBuffer {
  /** Merges progress. The percentage never goes back; a field that is null keeps its last value. */
  show(progress: Progress): void;
  /** Adds a line of this instant of the store. */
  addLine(level: LogLine['level'], message: string, at: number): void;
  isEmpty(): boolean;
  /** Removes and returns everything; null: it is empty. */
  take(): TakenReport | null;
  /** Puts back what a report took that did not arrive. */
  putBack(taken: TakenReport): void;
}

/** What a report takes. */
export interface TakenReport {
  body: ReportBody;
  /** Its lines without the note about dropped ones: put back, the note is written anew. */
  lines: LogLine[];
  droppedCount: number;
}

/** Lines of one attempt that wait for the next report. */
const linesMax = 1_000;

/** Creates an empty buffer. */
export function createReportBuffer(): ReportBuffer {
  let shown: Progress = { percent: 0, message: null, step: null, of: null };
  let isDirty = false;
  let lines: LogLine[] = [];
  /** Lines of the attempt so far. */
  let lineCount = 0;
  let droppedCount = 0;

  function dropOldest(): void {
    if (lines.length <= linesMax) return;
    // Half at once: dropping them one by one would copy the buffer for every line.
    const count = lines.length - linesMax / 2;
    lines.splice(0, count);
    droppedCount += count;
  }

  return {
    show(next) {
      shown = {
        percent: Math.max(shown.percent, next.percent),
        message: next.message ?? shown.message,
        step: next.step ?? shown.step,
        of: next.of ?? shown.of,
      };
      isDirty = true;
    },
    addLine(level, message, at) {
      lines.push({ line: ++lineCount, at, level, message: cutLine(message) });
      dropOldest();
    },
    isEmpty: () => !isDirty && lines.length === 0,
    take() {
      if (!isDirty && lines.length === 0) return null;
      const logs = droppedCount > 0 ? [...droppedNote(lines, droppedCount), ...lines] : [...lines];
      const taken = { body: { progress: isDirty ? shown : null, logs }, lines, droppedCount };
      lines = [];
      droppedCount = 0;
      isDirty = false;
      return taken;
    },
    putBack(taken) {
      isDirty ||= taken.body.progress !== null;
      lines = [...taken.lines, ...lines];
      droppedCount += taken.droppedCount;
      dropOldest();
    },
  };
}

/** A line about dropped ones, with the place and number of the last of them. */
function droppedNote([first]: readonly LogLine[], count: number): LogLine[] {
  if (first === undefined) return [];
  const message = `${count} lines before this one were dropped: more than ${linesMax} at once.`;
  return [{ line: first.line - 1, at: first.at, level: 'warn', message }];
}

/** Cuts a line to its limit in bytes, between characters, and says so. */
function cutLine(message: unknown): string {
  const text = typeof message === 'string' ? message : String(message);
  if (text.length * 3 <= logLineBytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= logLineBytesMax) return text;
  const mark = `… [cut: ${bytes.length} bytes]`;
  // A character that was cut in two becomes U+FFFD at the end, and is removed.
  const cut = bytes
    .subarray(0, logLineBytesMax - Buffer.byteLength(mark))
    .toString()
    .replace(/\uFFFD+$/, '');
  return cut + mark;
}
