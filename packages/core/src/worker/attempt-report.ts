import type { Clock, Timer } from '../base/clock.ts';
import type { LogLine, Progress, ReportBody } from '../contract/engine.ts';
import { createReportBuffer } from './report-buffer.ts';

/** Progress and log lines of one attempt. Neither call waits, and neither can flood the store. */
export interface AttemptReport {
  /** Shows progress. The percentage never goes back; a field that is null keeps its last value. */
  progress(progress: Progress): void;
  log(level: LogLine['level'], message: string): void;
  /**
   * Ends the report and returns what has not arrived yet, for the settlement; null: nothing. A promise while
   * a report is on its way.
   */
  take(): ReportBody | null | Promise<ReportBody | null>;
}

/** What the report of an attempt is made of. */
export interface AttemptReportOptions {
  clock: Pick<Clock, 'elapsed' | 'after'>;
  /** The store's clock, as far as it is known here. */
  storeNow(): number;
  /** Sends a report. Rejects if the store did not answer. */
  send(body: ReportBody): Promise<'kept' | 'lost'>;
  /** Called when the store says that the attempt no longer counts. */
  onLost(): void;
}

/**
 * Reports of one job are at least this far apart: enough for a progress bar, and ten a second for the store.
 */
const everyMs = 100;

/** Opens the report of one attempt. */
export function openAttemptReport({ clock, storeNow, send, onLost }: AttemptReportOptions): AttemptReport {
  const buffer = createReportBuffer();
  let lastElapsed = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;
  let sending: Promise<void> | null = null;
  let isClosed = false;

  async function sendBuffer(): Promise<void> {
    const taken = buffer.take();
    if (taken === null) return;
    try {
      if ((await send(taken.body)) === 'lost') onLost();
    } catch {
      // The store is away: it goes along with the next report or the settlement.
      buffer.putBack(taken);
    }
  }

  function schedule(): void {
    if (isClosed || sending !== null || timer !== null) return;
    const waitMs = lastElapsed + everyMs - clock.elapsed();
    if (waitMs > 0) timer = clock.after(waitMs, sendNow);
    else sendNow();
  }

  function sendNow(): void {
    timer = null;
    sending = sendBuffer().then(() => {
      sending = null;
      lastElapsed = clock.elapsed();
      if (!buffer.isEmpty()) schedule();
    });
  }

  const takeRest = (): ReportBody | null => buffer.take()?.body ?? null;

  return {
    progress(next) {
      buffer.show(next);
      schedule();
    },
    log(level, message) {
      buffer.addLine(level, message, storeNow());
      schedule();
    },
    take() {
      isClosed = true;
      timer?.cancel();
      // A report that is on its way could arrive after the settlement, and would then count for nothing.
      return sending === null ? takeRest() : sending.then(takeRest);
    },
  };
}
