// Locks, elections and single executions of one Duly, from its first call to its end.

import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Engine } from '../contract/engine.ts';
import type { LockRenewals } from '../store/lock-renewal.ts';
import type { LockDeps } from './held-lock.ts';
import { type Candidacy, type LeaderOptions, type Leadership, standForLeader } from './leader.ts';
import { createLocks, type Locks } from './locks.ts';

/** What they stand on. */
export interface CoordinationDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  ids: Ids;
  node: string;
  /** Renews locks beside the main loop; null: the store has no thread, and they are renewed in this one. */
  renewals(): LockRenewals | null;
  /** How long to sleep at most when only a notification could tell more. */
  maxSleepMs(): number;
  /** Aborted, with the error `stopped`, from when on no more calls are taken. */
  closed: AbortSignal;
  onError(error: unknown, doing: string): void;
}

/** Locks, elections and single executions of one Duly. */
export interface Coordination {
  /** Locks that their caller renews and releases. */
  readonly locks: Locks;
  /** What every lock of this Duly is held with. */
  deps(): LockDeps;
  /** Stands for election until it resigns or the Duly stops. */
  leader(name: string, options: LeaderOptions | undefined): Leadership;
  /**
   * Waits for work under locks until the drain limit, then aborts it and releases its locks while the store is
   * open. Ends every candidacy.
   */
  stop(limitMs: number, reason: Error): Promise<void>;
}

/** Creates them. Nothing is asked of the store before the first call. */
export function createCoordination(options: CoordinationDeps): Coordination {
  const { clock, ids } = options;
  /** Those that stand for election now. */
  const candidacies = new Set<Candidacy>();
  /** Aborted, with the error `stopped`, when the drain limit has passed: locks that are still held are released. */
  const abandoned = new AbortController();
  const held = new Set<Promise<void>>();

  const deps = (): LockDeps => ({
    engine: options.engine,
    clock,
    holder: () => ({ host: hostname(), pid: process.pid, node: options.node }),
    newToken: () => ids.newId('lock'),
    renewals: options.renewals,
    maxSleepMs: options.maxSleepMs,
    closed: options.closed,
    abandoned: abandoned.signal,
    held,
  });

  return {
    locks: createLocks(deps),
    deps,
    leader(name, given) {
      const candidacy = standForLeader(deps(), name, given, {
        onError: (error) => options.onError(error, `standing for leader "${name}"`),
        onEnded: () => candidacies.delete(candidacy),
      });
      candidacies.add(candidacy);
      return candidacy.leadership;
    },
    async stop(limitMs, reason) {
      if (held.size > 0 && limitMs > 0) {
        const ended = new AbortController();
        const all = Promise.all(held).then(() => ended.abort());
        await Promise.race([all, clock.sleep(limitMs, ended.signal)]);
      }
      abandoned.abort(reason);
      await Promise.all(held);
      await Promise.all([...candidacies].map((candidacy) => candidacy.end(reason)));
    },
  };
}
