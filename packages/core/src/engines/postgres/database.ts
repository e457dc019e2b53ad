import type { Clock } from '../../base/clock.ts';
import { type DulyError, dulyError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { PgPool } from '../shared/pool.ts';
import { type Connection, inTransaction } from './connection.ts';
import { Connections } from './connections.ts';
import type { FallbackConnection } from './fallback-connection.ts';
import { isRetryable } from './store-error.ts';
import { createWarmUp } from './warm-up.ts';
import type { Database } from './work.ts';

/** Options of {@link createDatabase}. */
export interface DatabaseOptions {
  pool: PgPool;
  /** Where the server is, without secrets. */
  place: string;
  clock: Clock;
  random: Random;
  /** How long one call may take. After that its connection is closed as lost. */
  callMs: number;
  /** How long a statement of a transaction waits for a lock. */
  lockMs: number;
  /**
   * How long the connection that was used last stays out of the pool, ready for the next call. 0 (default):
   * it goes back at once, as it must if the pool is the program's own.
   */
  keepMs?: number;
  /** A connection beside the pool, for calls that wait too long for the pool; null (default): none. */
  fallback?: FallbackConnection | null;
}

/** A database that can be closed for further calls. */
export interface ClosableDatabase extends Database {
  /**
   * Runs this text on `count` connections, one after the other, once the process is quiet, and pins these
   * connections. Does nothing if `keepMs` is 0, and reports no failure: the next call does.
   */
  warmUp(text: string, count: number): void;
  /** Refuses every later call and waits for the calls that run. Does not end the pool. */
  close(): Promise<void>;
}

// Pauses of 5, 10 … 80 ms, then the error is reported.
const retryMax = 5;
const firstRetryMs = 5;

/**
 * Creates a database on a pool. A query is a transaction of its own; `transaction` holds one connection for
 * several statements. Settings are made for one transaction (SET LOCAL), so a pooler may use another session
 * for each.
 */
export function createDatabase(options: DatabaseOptions): ClosableDatabase {
  const { pool, place, clock, random, callMs, lockMs, keepMs = 0, fallback = null } = options;
  const connections = new Connections({ pool, place, clock, callMs, keepMs, fallback });
  const running = new Set<Promise<unknown>>();
  const warmUp = createWarmUp({ clock, isBusy: () => running.size > 0 });
  let isClosed = false;
  // The isolation is explicit, because a database may have another one by default.
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${limits(lockMs, callMs)}`;

  function trackInFlight<Result>(call: () => Promise<Result>): Promise<Result> {
    if (isClosed) return Promise.reject(closedError(place));
    const answer = retryRolledBack(call, clock, random);
    running.add(answer);
    const forget = () => running.delete(answer);
    answer.then(forget, forget);
    return answer;
  }

  return {
    query: (text, values) =>
      trackInFlight(() => connections.use((connection) => connection.ask(text, values, true))),
    transaction: (fn) =>
      trackInFlight(() =>
        connections.use((connection, allow) =>
          inTransaction(connection, begin, (inside) =>
            fn(inside, async (ms) => {
              allow(ms);
              await inside.query(limits(ms, ms));
            }),
          ),
        ),
      ),
    warmUp(text, count) {
      if (keepMs === 0) return;
      const run = (connection: Connection) => runWarmUp(connection, text);
      warmUp.whenQuiet(() => {
        trackInFlight(() => connections.warmUp(count, run, () => isClosed)).catch(() => {});
      });
    },
    async close() {
      isClosed = true;
      warmUp.cancel();
      await Promise.allSettled(running);
      connections.close();
    },
  };
}

/** The server ends a slow call shortly before the process gives it up, so that its error still arrives. */
function limits(lockMs: number, callMs: number): string {
  return `SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${Math.ceil(callMs * 0.9)}`;
}

async function runWarmUp(connection: Connection, text: string): Promise<void> {
  // If the text does not run to its end, its transaction stays open.
  connection.isSpent = true;
  await connection.ask(text);
  connection.isSpent = false;
}

/**
 * Repeats a call that the server rolled back because of a deadlock or a conflict, or that it never began
 * because the session was ended for being idle.
 */
async function retryRolledBack<Result>(
  once: () => Promise<Result>,
  clock: Clock,
  random: Random,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await once();
    } catch (error) {
      if (!isRetryable((error as Error).cause) || tries >= retryMax) throw error;
      // Half to the whole of the pause: two calls that met in a deadlock must not meet again.
      await clock.sleep(firstRetryMs * 2 ** tries * (0.5 + random.next() / 2));
    }
  }
}

function closedError(place: string): DulyError {
  return dulyError('store_closed', {
    message: `The store at ${place} was closed.`,
    hint: 'Open a new one; a closed store stays closed.',
    details: { place },
  });
}
