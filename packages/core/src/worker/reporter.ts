import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, ReportBody } from '../contract/engine.ts';
import { createBatcher } from '../store/batcher.ts';
import { type AttemptReport, openAttemptReport } from './attempt-report.ts';

/** Carries progress and log lines of all attempts of a worker to the store, coalesced. */
export interface Reporter {
  /**
   * Opens the report of one attempt, which was taken at this monotonic instant. `onLost` is called when the
   * store says that the attempt no longer counts.
   */
  open(job: ClaimedJob, takenElapsed: number, onLost: () => void): AttemptReport;
}

/** Lines stored per job; the engine drops the oldest. */
export const logLinesMax = 1_000;

/** Creates the reporter of one worker. */
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

  return {
    open: ({ id, fence, claimedAt }, takenElapsed, onLost) =>
      openAttemptReport({
        clock,
        // The instant of the claim, and what has passed since.
        storeNow: () => Math.round(claimedAt + clock.elapsed() - takenElapsed),
        send: (body) => batcher.push({ id, fence, ...body }),
        onLost,
      }),
  };
}

/** Two reports of one attempt as one, the older first. */
export function joinReports(older: ReportBody | null, newer: ReportBody | null): ReportBody | null {
  if (older === null || newer === null) return older ?? newer;
  return { progress: newer.progress ?? older.progress, logs: [...older.logs, ...newer.logs] };
}
