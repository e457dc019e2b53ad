import { type Clock, systemClock } from '../../base/clock.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { PoolStore } from '../../engines/shared/pool.ts';
import { createHeartbeats } from '../heartbeats.ts';
import { openEngine } from '../open-engine.ts';
import type { Store } from '../store.ts';
import { parseStoreAddress } from '../store-url.ts';
import { openThreadStore } from './thread-store.ts';

/** How a store is opened. */
export interface OpenStoreOptions {
  clock?: Clock;
  random?: Random;
}

/**
 * Opens the store an address names, or one behind a pool of the program's own. A file or a server is opened in a thread of its own, so
 * that commits and protocols never block the event loop, and heartbeats go on while it is blocked. A database in memory, and a
 * pool, which cannot leave its thread, run inline.
 */
export async function openStore(store: string | PoolStore, options: OpenStoreOptions = {}): Promise<Store> {
  if (typeof store === 'string' && !parseStoreAddress(store).inline) return openThreadStore(store);
  const { clock = systemClock, random = systemRandom } = options;
  const engine = await openEngine(store, clock);
  return {
    engine,
    createHeartbeats: (heartbeats) => createHeartbeats({ ...heartbeats, engine, clock, random }),
  };
}
