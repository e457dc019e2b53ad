import type { Clock } from '../../base/clock.ts';
import type { Notification, WatchedTransaction } from '../../contract/engine.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import type { Database } from './work.ts';

/** Reports how user transactions end. */
export interface TransactionWatch {
  watch(watched: WatchedTransaction): void;
  close(): void;
}

// Most transactions are committed a moment after their last statement. One that has been open for long is looked at less often: the wait is
// a tenth of its age, so its notification is late by no more than that, and never by more than a second.
const firstWaitMs = 1;
const longestWaitMs = 1_000;
const ageShare = 0.1;

interface Waiting {
  notifications: NotificationSet;
  sinceElapsed: number;
}

/**
 * Creates a watch. It asks the server what became of the transactions it was given, all with one statement, and sends the notifications of those that
 * were committed. What it does not learn, the next poll of a node finds.
 */
export function createTransactionWatch(options: {
  database: Pick<Database, 'query'>;
  clock: Clock;
  notify(notifications: Iterable<Notification>): void;
}): TransactionWatch {
  const { database, clock, notify } = options;
  const waiting = new Map<string, Waiting>();
  const ended = new AbortController();
  let news = new AbortController();
  let isRunning = false;

  async function look(): Promise<void> {
    const rows = await database.query<{ xid: string; status: string | null }>(
      'SELECT x AS xid, pg_xact_status(x::xid8) AS status FROM jsonb_array_elements_text($1::jsonb) x',
      [JSON.stringify([...waiting.keys()])],
    );
    const committed = new NotificationSet();
    for (const { xid, status } of rows) {
      if (status === 'in progress') continue;
      if (status === 'committed') committed.addAll(waiting.get(xid)?.notifications ?? []);
      waiting.delete(xid);
    }
    if (committed.size > 0) notify(committed);
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
    watch({ transaction, notifications }) {
      if (ended.signal.aborted) return;
      if (transaction === null) {
        notify(notifications);
        return;
      }
      const known = waiting.get(transaction);
      if (known === undefined) {
        waiting.set(transaction, {
          notifications: new NotificationSet().addAll(notifications),
          sinceElapsed: clock.elapsed(),
        });
        // Who sleeps because of an old transaction must not let a young one wait.
        news.abort();
      } else known.notifications.addAll(notifications);
      if (!isRunning) void run();
    },
    close: () => ended.abort(),
  };
}
