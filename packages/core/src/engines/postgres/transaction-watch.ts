import type { Clock } from '../../base/clock.ts';
import type { Followed, Hint } from '../../contract/engine.ts';
import type { Database } from './work.ts';

/** Learns what becomes of users' transactions. */
export interface Follower {
  follow(followed: Followed): void;
  close(): void;
}

// Most transactions are committed a moment after their last statement. One that has been open for long is looked at less often: the wait is
// a tenth of its age, so its hint is late by no more than that, and never by more than a second.
const firstWaitMs = 1;
const longestWaitMs = 1_000;
const ageShare = 0.1;

interface Waiting {
  hints: Set<Hint>;
  sinceElapsed: number;
}

/**
 * Makes a follower. It asks the server what became of the transactions it was given, all with one statement, and tells the hints of those that
 * were committed. What it does not learn, the next poll of a node finds.
 */
export function createFollower(options: {
  database: Pick<Database, 'query'>;
  clock: Clock;
  tell(hints: Iterable<Hint>): void;
}): Follower {
  const { database, clock, tell } = options;
  const waiting = new Map<string, Waiting>();
  const ended = new AbortController();
  let news = new AbortController();
  let isRunning = false;

  async function look(): Promise<void> {
    const rows = await database.query<{ xid: string; status: string | null }>(
      'SELECT x AS xid, pg_xact_status(x::xid8) AS status FROM jsonb_array_elements_text($1::jsonb) x',
      [JSON.stringify([...waiting.keys()])],
    );
    const told = new Set<Hint>();
    for (const { xid, status } of rows) {
      if (status === 'in progress') continue;
      if (status === 'committed') for (const hint of waiting.get(xid)?.hints ?? []) told.add(hint);
      waiting.delete(xid);
    }
    if (told.size > 0) tell(told);
  }

  function waitMs(): number {
    const now = clock.elapsed();
    const youngestMs = Math.min(...[...waiting.values()].map(({ sinceElapsed }) => now - sinceElapsed));
    return Math.min(longestWaitMs, Math.max(firstWaitMs, youngestMs * ageShare));
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.size > 0 && !ended.signal.aborted) {
      await clock.sleep(waitMs(), AbortSignal.any([ended.signal, news.signal]));
      news = new AbortController();
      if (ended.signal.aborted) break;
      // A server that is away is asked again; by then its transactions are over.
      await look().catch(() => clock.sleep(longestWaitMs, ended.signal));
    }
    isRunning = false;
  }

  return {
    follow({ transaction, hints }) {
      if (ended.signal.aborted) return;
      if (transaction === null) {
        tell(hints);
        return;
      }
      const known = waiting.get(transaction);
      if (known === undefined) {
        waiting.set(transaction, { hints: new Set(hints), sinceElapsed: clock.elapsed() });
        // Who sleeps because of an old transaction must not let a young one wait.
        news.abort();
      } else for (const hint of hints) known.hints.add(hint);
      if (!isRunning) void run();
    },
    close: () => ended.abort(),
  };
}
