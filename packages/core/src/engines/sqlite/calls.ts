import type { Clock } from '../../base/clock.ts';
import { dulyError, isDulyError } from '../../base/errors.ts';
import type { Reply, Stamp } from '../../contract/engine.ts';
import type { Notifications } from './notifications.ts';
import type { Connection, Work } from './work.ts';

/** Options of {@link createCalls}. */
export interface CallsOptions {
  connection: Connection;
  clock: Clock;
  /** How long a write waits for another connection's transaction. */
  busyMs: number;
  notifications: Notifications;
}

/** Runs the verbs of one engine on its connection, until it is closed. */
export interface Calls {
  /** Throws if the store is closed, as the other functions do. */
  requireOpen(): void;
  /** Runs a verb that only reads, on a snapshot. It never waits for a writer. */
  read<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & Reply;
  /** Answers without a transaction if a few reads suffice; null: the verb needs `write`. */
  readOnlyCheck<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result | null,
  ): (Result & Reply) | null;
  /** Runs a verb that writes, and sends its notifications. */
  write<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Promise<Result & Reply>;
  close(): void;
}

/** How long one attempt waits within SQLite for another connection's transaction. */
export const busyTryMs = 100;
const busyPauseMs = 10;

/** Creates the calls of one engine. */
export function createCalls({ connection, clock, busyMs, notifications }: CallsOptions): Calls {
  let isClosed = false;

  function requireOpen(): void {
    if (!isClosed) return;
    const { path } = connection;
    throw dulyError('store_closed', {
      message: `The store "${path}" was closed.`,
      hint: 'Open a new one; a closed store stays closed.',
      details: { path },
    });
  }

  function commit<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & Reply {
    const { reply, notifications: noted } = connection.write(stamp, verb);
    if (noted.size > 0) notifications.send(noted);
    return reply;
  }

  return {
    requireOpen,
    read(stamp, verb) {
      requireOpen();
      return connection.read(stamp, verb);
    },
    readOnlyCheck(stamp, verb) {
      requireOpen();
      return connection.readOnlyCheck(stamp, verb);
    },
    // SQLite itself waits for a moment. Between two attempts, other connections can read.
    async write(stamp, verb) {
      const sinceElapsed = clock.elapsed();
      for (;;) {
        requireOpen();
        try {
          return commit(stamp, verb);
        } catch (error) {
          const isBusy =
            isDulyError(error, 'store_busy') || isDulyError(error, 'store_locked_by_user_transaction');
          if (!isBusy || clock.elapsed() - sinceElapsed >= busyMs) throw error;
          await clock.sleep(busyPauseMs);
        }
      }
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      notifications.close();
      connection.db.close();
    },
  };
}
