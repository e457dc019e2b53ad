import type { Clock, Timer } from '../base/clock.ts';
import { logLineBytesMax } from '../base/json.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, LogLine, Progress, ReportBody } from '../contract/engine.ts';
import { createBatcher } from '../store/batcher.ts';

/** Carries progress and log lines of all attempts of a worker to the store, coalesced. */
export interface Reporter {
  /**
   * Opens the report of one attempt, which was taken at this monotonic instant. `onLost` is told when the store says that the attempt no
   * longer counts.
   */
  open(job: ClaimedJob, takenElapsed: number, onLost: () => void): AttemptReport;
}

/** Progress and log lines of one attempt. Neither call waits, and neither can flood the store. */
export interface AttemptReport {
  /** Shows progress. The percentage never goes back; a field that is null keeps its last value. */
  progress(progress: Progress): void;
  log(level: LogLine['level'], message: string): void;
  /** Ends the report and gives what has not arrived yet, for the settlement; null: nothing. A promise while a report is on its way. */
  take(): ReportBody | null | Promise<ReportBody | null>;
}

/** Reports of one job are at least this far apart: enough for a progress bar, and ten a second for the store. */
const reportEveryMs = 100;
/** Lines of one attempt that wait for the next report. */
const bufferedLinesMax = 1_000;
/** Lines kept per job; the engine lets the oldest give way. */
export const logLinesMax = 1_000;

/** Makes the reporter of one worker. */
export function createReporter(options: {
  engine: Pick<Engine, 'report'>;
  clock: Clock;
  random: Random;
}): Reporter {
  const { engine, clock, random } = options;
  const batcher = createBatcher<{ id: string; fence: number } & ReportBody, 'kept' | 'lost'>({
    clock,
    random,
    maxItems: 500,
    weigh: ({ logs }) => logs.reduce((sum, { message }) => sum + message.length, 0),
    maxWeight: 1024 * 1024,
    send: async (reports) => (await engine.report({ reports, logLimit: logLinesMax })).reports,
  });

  function open(job: ClaimedJob, takenElapsed: number, onLost: () => void): AttemptReport {
    let shown: Progress = { percent: 0, message: null, step: null, of: null };
    let isDirty = false;
    let lines: LogLine[] = [];
    let lineCount = 0;
    let droppedCount = 0;
    let lastElapsed = Number.NEGATIVE_INFINITY;
    let timer: Timer | null = null;
    let onItsWay: Promise<void> | null = null;
    let isClosed = false;

    // The store's clock, as far as it is known here: the instant of the claim, and what has passed since.
    const storeNow = (): number => Math.round(job.claimedAt + clock.elapsed() - takenElapsed);

    function takeBody(): ReportBody | null {
      if (!isDirty && lines.length === 0) return null;
      const logs = [...lines];
      const [first] = lines;
      if (droppedCount > 0 && first !== undefined) {
        const message = `${droppedCount} lines before this one were dropped: more than ${bufferedLinesMax} at once.`;
        // In the place, and with the number, of the last one that was dropped.
        logs.unshift({ line: first.line - 1, at: first.at, level: 'warn', message });
      }
      const progress = isDirty ? shown : null;
      lines = [];
      droppedCount = 0;
      isDirty = false;
      return { progress, logs };
    }

    function keep(added: LogLine[]): void {
      lines.push(...added);
      // Half goes at once: taking them off one by one would cost a copy of the buffer for every line.
      if (lines.length > bufferedLinesMax) {
        const dropped = lines.length - bufferedLinesMax / 2;
        lines.splice(0, dropped);
        droppedCount += dropped;
      }
    }

    async function send(): Promise<void> {
      const before = { lines, droppedCount };
      const body = takeBody();
      if (body === null) return;
      try {
        const answer = await batcher.push({ id: job.id, fence: job.fence, ...body });
        if (answer === 'lost') onLost();
      } catch {
        // The store is away. What was to be shown goes along with the next report or the settlement. The note about dropped
        // lines is made anew then, so that it counts those that give way meanwhile too.
        isDirty ||= body.progress !== null;
        const later = lines;
        lines = before.lines;
        droppedCount += before.droppedCount;
        keep(later);
      }
    }

    function schedule(): void {
      if (isClosed || onItsWay !== null || timer !== null) return;
      const waitMs = lastElapsed + reportEveryMs - clock.elapsed();
      if (waitMs > 0) timer = clock.after(waitMs, sendNow);
      else sendNow();
    }

    function sendNow(): void {
      timer = null;
      onItsWay = send().then(() => {
        onItsWay = null;
        lastElapsed = clock.elapsed();
        if (isDirty || lines.length > 0) schedule();
      });
    }

    return {
      progress(next) {
        shown = {
          percent: Math.max(shown.percent, next.percent),
          message: next.message ?? shown.message,
          step: next.step ?? shown.step,
          of: next.of ?? shown.of,
        };
        isDirty = true;
        schedule();
      },
      log(level, message) {
        lineCount++;
        keep([{ line: lineCount, at: storeNow(), level, message: cutLine(message) }]);
        schedule();
      },
      take() {
        isClosed = true;
        timer?.cancel();
        // A report that is on its way could arrive after the settlement, and would then count for nothing.
        return onItsWay === null ? takeBody() : onItsWay.then(takeBody);
      },
    };
  }

  return { open };
}

/** Two reports of one attempt as one, the older first. */
export function joinReports(older: ReportBody | null, newer: ReportBody | null): ReportBody | null {
  if (older === null || newer === null) return older ?? newer;
  return { progress: newer.progress ?? older.progress, logs: [...older.logs, ...newer.logs] };
}

/** Cuts a line to its limit in bytes, between characters, and says so. */
function cutLine(message: unknown): string {
  const text = typeof message === 'string' ? message : String(message);
  if (text.length * 3 <= logLineBytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= logLineBytesMax) return text;
  const mark = `… [cut: ${bytes.length} bytes]`;
  // A character that was cut in two is written as U+FFFD at the end, and taken off.
  const cut = bytes
    .subarray(0, logLineBytesMax - Buffer.byteLength(mark))
    .toString()
    .replace(/\uFFFD+$/, '');
  return cut + mark;
}
