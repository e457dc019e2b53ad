import { type Clock, systemClock } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { type Random, systemRandom } from '../random.ts';
import { openThreadStore } from '../store-thread/thread-store.ts';
import { type BeatNews, type Beats, createBeats } from '../worker/beats.ts';
import { parseStoreAddress } from './address.ts';

/** What beats need besides the store itself. */
export interface StoreBeatsOptions {
  node: string;
  leaseMs: number;
  beatMs: number;
  onBeat(news: BeatNews): void;
  onError?(error: unknown): void;
}

/** An open store: its engine, and what keeps leases alive beside the main loop. */
export interface Store {
  engine: Engine;
  createBeats(options: StoreBeatsOptions): Beats;
}

/** How a store is opened. */
export interface OpenStoreOptions {
  clock?: Clock;
  random?: Random;
}

/**
 * Opens the store an address names. A file is opened in a thread of its own, so that a commit never blocks the event loop and
 * heartbeats go on while it is blocked; a database in memory runs inline.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  if (!parseStoreAddress(url).inline) return openThreadStore(url);
  const { clock = systemClock, random = systemRandom } = options;
  const engine = await openEngine(url, clock);
  return { engine, createBeats: (beats) => createBeats({ ...beats, engine, clock, random }) };
}

/** Opens the engine itself, in this thread. */
export async function openEngine(url: string, clock: Clock = systemClock): Promise<Engine> {
  const { path, busyMs, exclusive } = parseStoreAddress(url);
  // Only the engine that is asked for is loaded.
  const { openSqliteEngine } = await import('./sqlite/engine.ts');
  return openSqliteEngine({ path, clock, busyMs, exclusive });
}
