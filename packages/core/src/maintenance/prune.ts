import type { Clock } from '../base/clock.ts';
import type { Engine } from '../contract/engine.ts';

/** What the pruning pass is made of. */
export interface PruneOptions {
  engine: Pick<Engine, 'prune'>;
  clock: Pick<Clock, 'now'>;
  /** How long ledger rows are kept before they are compacted into one for each month. Default 400 days. */
  ledgerMs?: number;
  /** How long audit rows are kept. Default 400 days. */
  auditMs?: number;
  /** How long the feed of changes is kept. Default 1 day: whoever was away for longer reads the jobs themselves again. */
  changesMs?: number;
  /** How long jobs of the tasks here are kept, as it is now. Left out: for days, as is the default. */
  tasksMs?(): readonly number[];
}

const dayMs = 24 * 3_600_000;
// Short transactions: other writers wait for no more than one of them.
const pruneMax = 500;
// Between two full ones, so that pruning a long history leaves most of the store's time to work.
const breathMs = 50;
const everyMsMax = 60_000;
/** The longest wait between two passes. Nothing was past its time: what comes to it next has been kept for hours or days already. */
export const idleEveryMsMax = 5 * 60_000;
// However short something is kept: a pass is some ten statements, and those are for work.
const everyMsMin = 1_000;
const idleEveryMsMin = 5_000;
// What is kept for seconds is looked for every few seconds, so that the store holds at most a quarter more than it was told to.
const looksPerRetention = 4;

/** Makes the pass that forgets what is past its time, a bounded amount at once. */
export function createPrunePass(options: PruneOptions): () => Promise<number> {
  const { engine, clock, ledgerMs = 400 * dayMs, auditMs = 400 * dayMs, changesMs = dayMs } = options;
  const { tasksMs = () => [] } = options;

  return async () => {
    const reply = await engine.prune({
      limit: pruneMax,
      ledgerMs,
      compactStarts: monthStarts(clock.now()),
      auditMs,
      changesMs,
    });
    if (reply.more) return breathMs;
    const shortestMs = Math.min(ledgerMs, auditMs, changesMs, ...tasksMs());
    return reply.jobs + reply.keys + reply.values + reply.rows > 0
      ? Math.min(everyMsMax, Math.max(everyMsMin, Math.ceil(shortestMs / looksPerRetention)))
      : Math.min(idleEveryMsMax, Math.max(idleEveryMsMin, shortestMs));
  };
}

// Far more than a ledger is kept, on both sides: which month a row belongs to does not depend on this machine's clock.
const yearsBack = 30;
const yearsAhead = 2;

/** The beginnings of the months (UTC) around an instant, ascending. */
export function monthStarts(now: number): number[] {
  const year = new Date(now).getUTCFullYear();
  const starts: number[] = [];
  for (let month = (year - yearsBack) * 12; month < (year + yearsAhead) * 12; month++) {
    starts.push(Date.UTC(Math.floor(month / 12), month % 12));
  }
  return starts;
}
