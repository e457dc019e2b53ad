import type { Clock, Timer } from '../../base/clock.ts';
import type { PgPoolClient } from '../shared/pool.ts';
import type { PgClient } from './driver.ts';

/** One connection beside a pool that is somebody else's. */
export interface Spare {
  /** Gives it to one caller after the other, each until they release it, and connects when it is not there. */
  take(): Promise<PgPoolClient>;
  /** Ends it. Whoever has it has released it before. */
  close(): void;
}

// Where it was needed once it will be needed again soon; after that it is one connection too many.
const idleMs = 60_000;

/** Makes one. Connects to nothing yet. */
export function createSpare(options: { create(): PgClient; clock: Clock }): Spare {
  const { create, clock } = options;
  /** Open, and used by nobody. */
  let idle: PgClient | null = null;
  let ending: Timer | null = null;
  /** Settles when whoever came last has released it. */
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
      // Nobody else listens while it is idle.
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
            // One that was cut off without a word does not answer to a goodbye.
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
