import type { JobRecord } from '../contract/engine.ts';

/** The calls that wait for the end of jobs, by job. */
export interface FinishWaiters {
  /**
   * Adds a call, whose promise these functions settle. Returns how to reject it alone; null: its signal is
   * aborted already, and it was rejected.
   */
  add(id: string, settle: Settle, signal: AbortSignal | undefined): ((error: unknown) => void) | null;
  /** Whether a call waits for this job. */
  has(id: string): boolean;
  /** The jobs that calls wait for. */
  ids(): string[];
  /** Resolves the calls that wait for this job. */
  resolve(id: string, job: JobRecord | null): void;
  /** Rejects all calls. */
  rejectAll(error: unknown): void;
}

/** What settles the promise of a call. */
export type Settle = Pick<PromiseWithResolvers<JobRecord | null>, 'resolve' | 'reject'>;

interface Waiter extends Settle {
  id: string;
  /** Removes it, and its listener from its signal. */
  remove(): void;
}

/** Creates an empty list. `onEmpty` is called when the last call is removed, before its promise settles. */
export function createFinishWaiters(onEmpty: () => void): FinishWaiters {
  const byId = new Map<string, Set<Waiter>>();

  function remove(waiter: Waiter): void {
    const set = byId.get(waiter.id);
    set?.delete(waiter);
    if (set?.size === 0) byId.delete(waiter.id);
    if (byId.size === 0) onEmpty();
  }

  function reject(waiter: Waiter, error: unknown): void {
    waiter.remove();
    waiter.reject(error);
  }

  return {
    add(id, settle, signal) {
      if (signal?.aborted) {
        settle.reject(signal.reason);
        return null;
      }
      const abort = (): void => reject(waiter, signal?.reason);
      const waiter: Waiter = {
        id,
        ...settle,
        remove() {
          remove(waiter);
          signal?.removeEventListener('abort', abort);
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      const set = byId.get(id);
      if (set === undefined) byId.set(id, new Set([waiter]));
      else set.add(waiter);
      return (error) => reject(waiter, error);
    },
    has: (id) => byId.has(id),
    ids: () => [...byId.keys()],
    resolve(id, job) {
      for (const waiter of [...(byId.get(id) ?? [])]) {
        waiter.remove();
        waiter.resolve(job);
      }
    },
    rejectAll(error) {
      for (const set of [...byId.values()]) for (const waiter of [...set]) reject(waiter, error);
    },
  };
}
