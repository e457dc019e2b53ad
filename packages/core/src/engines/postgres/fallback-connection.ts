import type { Clock, Timer } from '../../base/clock.ts';
import type { PgPool, PgPoolClient } from '../shared/pool.ts';
import type { PgClient } from './driver.ts';

/** One connection beside the program's own pool. */
export interface FallbackConnection {
  /** Gives the connection to one caller at a time, until that caller releases it. Connects if needed. */
  take(): Promise<PgPoolClient>;
  /** Closes the connection, which must be released. */
  close(): void;
}

// After this long without a connection of the pool, its connections are all in use by slow calls.
const fallbackAfterMs = 1_000;
// It is probably needed again soon; after this it only costs the server a connection.
const idleMs = 60_000;

/** Creates a fallback connection without connecting. */
export function createFallbackConnection(options: { create(): PgClient; clock: Clock }): FallbackConnection {
  const { create, clock } = options;
  /** Open and unused. */
  let idle: PgClient | null = null;
  let ending: Timer | null = null;
  /** Settles when the last caller in the queue has released the connection. */
  let turn: Promise<void> = Promise.resolve();

  let isClosed = false;

  function end(client: PgClient): void {
    if (idle === client) idle = null;
    client.end().catch(() => {});
  }

  async function connected(): Promise<PgClient> {
    ending?.cancel();
    const client = idle ?? create();
    if (client !== idle) {
      // An idle connection has no other error listener.
      client.on('error', () => end(client));
      await client.connect();
    }
    idle = null;
    return client;
  }

  return {
    async take() {
      const before = turn;
      const { promise, resolve } = Promise.withResolvers<void>();
      turn = promise;
      await before;
      try {
        const client = await connected();
        const release = (destroy?: boolean): void => {
          if (destroy === true) {
            end(client);
            // A connection that was cut silently never answers a closing message.
            client.connection?.stream?.destroy();
          } else if (isClosed) end(client);
          else {
            idle = client;
            ending = clock.after(idleMs, () => end(client), { unref: true });
          }
          resolve();
        };
        return Object.assign(client, { release }) as PgClient & PgPoolClient;
      } catch (error) {
        resolve();
        throw error;
      }
    },
    close() {
      isClosed = true;
      ending?.cancel();
      if (idle !== null) end(idle);
    },
  };
}

/**
 * Acquires a connection of the pool, or the fallback connection if the pool has none for too long. Handlers
 * may hold every connection of the program's own pool for minutes, and leases must be renewed meanwhile.
 */
export function acquireWithFallback(
  pool: PgPool,
  fallback: FallbackConnection,
  clock: Clock,
): Promise<PgPoolClient> {
  const connecting = pool.connect();
  return new Promise((resolve, reject) => {
    let isOver = false;
    const give = (client: PgPoolClient): void => {
      timer.cancel();
      if (isOver) client.release();
      isOver = true;
      resolve(client);
    };
    // If the fallback fails too, wait for the pool.
    const timer = clock.after(fallbackAfterMs, () => fallback.take().then(give, () => {}));
    connecting.then(give, (error) => {
      timer.cancel();
      isOver = true;
      reject(error);
    });
  });
}
