import { type Clock, type Duly, type Duration, isDulyError, type Leadership } from '@duly/core';

/** Options of a leader loop: work that one process does at a time. */
export interface LeaderLoopDeps {
  duly: Duly;
  clock: Clock;
  /** The name of the leadership. */
  name: string;
  /** How long there is no leader after the leader died. */
  ttl: Duration;
  /** One turn; `until` is aborted when the term ends, or everything does. */
  turn(until: AbortSignal): Promise<void>;
  /** Between two turns. */
  pauseMs: number;
  /** A turn failed; the next is still run. */
  onFailure(error: unknown): void;
}

/** Runs turns while this process is the leader. */
export interface LeaderLoop {
  start(): void;
  /** Ends the present turn and resigns. */
  stop(): Promise<void>;
}

/** Runs for leader from `start` to `stop`, and takes one turn after the other while it leads. Terms never overlap. */
export function createLeaderLoop(deps: LeaderLoopDeps): LeaderLoop {
  const { duly, clock, name, ttl, turn, pauseMs, onFailure } = deps;
  const stopped = new AbortController();
  let leadership: Leadership | null = null;
  let terms: Promise<void> = Promise.resolve();

  async function lead(signal: AbortSignal): Promise<void> {
    const until = AbortSignal.any([signal, stopped.signal]);
    while (!until.aborted) {
      try {
        await turn(until);
      } catch (error) {
        if (until.aborted || isDulyError(error, 'stopped')) return;
        onFailure(error);
      }
      await clock.sleep(pauseMs, until);
    }
  }

  return {
    start() {
      leadership = duly.leader(name, { ttl });
      leadership.on('elected', ({ signal }) => {
        terms = terms.then(() => lead(signal));
      });
    },
    async stop() {
      stopped.abort();
      await terms;
      await leadership?.resign().catch(() => {});
    },
  };
}
