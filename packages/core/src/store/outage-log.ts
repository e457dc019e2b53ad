import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';

/** What an outage log is made of. */
export interface OutageLogOptions {
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/** Writes about an outage of the store when it begins, at most once a minute while it lasts, and when it has ended. */
export interface OutageLog {
  /** Something that is tried again failed because of the store. */
  failed(error: unknown, doing: string): void;
  /** The store answered a call. */
  answered(): void;
}

const reminderMs = 60_000;
// While some calls fail and others do not, the outage has not ended.
const quietMs = 1_000;

/** Creates the log of one Duly. */
export function createOutageLog({ clock, logger }: OutageLogOptions): OutageLog {
  let sinceElapsed: number | null = null;
  let lastElapsed = 0;
  let writtenElapsed = Number.NEGATIVE_INFINITY;
  let isWritten = false;
  let count = 0;

  return {
    failed(error, doing) {
      lastElapsed = clock.elapsed();
      sinceElapsed ??= lastElapsed;
      count++;
      if (lastElapsed - writtenElapsed < reminderMs) return;
      writtenElapsed = lastElapsed;
      isWritten = true;
      const seconds = Math.round((lastElapsed - sinceElapsed) / 1_000);
      const message =
        count === 1
          ? `The store failed while Duly was ${doing}. It is tried again until it answers.`
          : `The store has failed for ${seconds} s, in ${count} calls.`;
      logger.warn({ error, doing, failedCalls: count }, message);
    },
    answered() {
      if (sinceElapsed === null || clock.elapsed() - lastElapsed < quietMs) return;
      const seconds = Math.max(1, Math.round((lastElapsed - sinceElapsed) / 1_000));
      if (isWritten) {
        logger.warn(
          { failedCalls: count },
          `The store answers again. It failed for ${seconds} s, in ${count} calls.`,
        );
      }
      sinceElapsed = null;
      isWritten = false;
      count = 0;
    },
  };
}
