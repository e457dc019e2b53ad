import type { Clock } from '../base/clock.ts';
import { createLoop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, HeartbeatState } from '../contract/engine.ts';
import { type Batcher, createBatcher } from './batcher.ts';
import { createHeldLeases } from './held-leases.ts';
import type { Entry, LeaseBoard, SharedLeases } from './shared-leases.ts';

/** Names a lease. */
export interface LeaseRef {
  id: string;
  fence: number;
}

/** A lease that is to be renewed. Plain data: it travels to the thread that renews it. */
export interface HeldLease extends LeaseRef {
  /** null: its attempt may run without end. */
  timeoutMs: number | null;
  graceMs: number;
  /** Whether its beginning is written. */
  begun: boolean;
}

/** The lease of a job that was just claimed. */
export function heldLeaseOf({ id, fence, policy: { timeoutMs, graceMs }, begun }: ClaimedJob): HeldLease {
  return { id, fence, timeoutMs, graceMs, begun };
}

/** How long ago a job was claimed, in an answer of the store to a claim that is repeated. */
export function sinceClaimMs({ claimedAt }: ClaimedJob, now = claimedAt): number {
  return Math.max(0, now - claimedAt);
}

/** What an attempt must know about its lease: it is lost, or the job is to be cancelled. */
export interface HeartbeatResult extends LeaseRef {
  heartbeat: Exclude<HeartbeatState, { state: 'kept' }>;
  /** Lost by the clock alone, without an answer of the store: another node may have the job, or none. */
  isPresumed?: true;
}

/** Keeps leases alive. Everything that goes in or out can be posted to another thread. */
export interface Heartbeats {
  /** Renews these from now on. `sureElapsed`: a monotonic instant before they were granted; left out: now. */
  hold(leases: HeldLease[], sureElapsed?: number): void;
  /** Renews these no longer. */
  drop(leases: LeaseRef[]): void;
  /** Whether it sees itself which leases an exchange granted and settled, so that no caller reports them. */
  readonly followsStoreCalls?: boolean;
  /** Writes an attempt's beginning, renewing its lease. Rejects if the store could not be asked. */
  begin(lease: LeaseRef): Promise<HeartbeatState['state']>;
  /**
   * Whether the handler of this lease may be called in this turn, by the monotonic clock and by all that is
   * known of the lease. `takenElapsed`: when the job arrived in this thread.
   */
  enter(lease: LeaseRef, takenElapsed: number): Entry;
  /** The leases in shared memory, for the threads of isolated tasks; missing: they are in this thread. */
  readonly shared?: SharedLeases;
  /** Sends heartbeats at once, for instance after a notification of a cancellation. */
  check(): void;
  /** Stops. Leases are not released. */
  close(): void;
}

/** What heartbeats are made of. */
export interface HeartbeatsOptions {
  engine: Pick<Engine, 'heartbeat'>;
  clock: Clock;
  random: Random;
  node: string;
  leaseMs: number;
  heartbeatMs: number;
  /** Where the main thread reads what is known of its leases, if it is another one. */
  board?: LeaseBoard;
  /** How long the main loop has not turned; left out, it always turns (the heartbeats run in it). */
  sinceTurnMs?: () => number;
  /** Called once for each lease that is lost or whose job is to be cancelled. */
  onHeartbeat(news: HeartbeatResult): void;
  /** Called after each heartbeat that failed; it is tried again. */
  onError?(error: unknown): void;
}

/** After a main loop has not turned for this long, its leases and locks are renewed no longer. */
export const stallMsMax = 10 * 60_000;
// A store that is away is asked again after this time at the latest.
const backoffMsMax = 5_000;
// Leases of one heartbeat.
const leasesMax = 2_000;

/** Sends one heartbeat for all leases every `heartbeatMs`, and none while no lease is held. */
export function createHeartbeats(options: HeartbeatsOptions): Heartbeats {
  const { engine, clock, random, node, leaseMs, heartbeatMs, sinceTurnMs, onError = () => {} } = options;
  const held = createHeldLeases({ clock, leaseMs, board: options.board, onHeartbeat: options.onHeartbeat });
  let nextElapsed = Number.POSITIVE_INFINITY;
  let isClosed = false;

  const loop = createLoop({
    clock,
    random,
    pass,
    onError,
    maxWaitMs: Number.POSITIVE_INFINITY,
    // A lease that was granted while the store came back must not end before its first heartbeat.
    maxBackoffMs: () => Math.min(heartbeatMs, backoffMsMax),
  });
  const beginnings = createBeginnings(options);

  async function pass(): Promise<number> {
    if (held.count() === 0) {
      nextElapsed = Number.POSITIVE_INFINITY;
      return nextElapsed;
    }
    const waitMs = nextElapsed - clock.elapsed();
    if (waitMs > 0) return waitMs;
    nextElapsed = clock.elapsed() + heartbeatMs;
    try {
      if (sinceTurnMs === undefined || sinceTurnMs() <= stallMsMax) await renew();
    } catch (error) {
      // The loop's backoff decides when: at first much sooner than the next heartbeat.
      nextElapsed = clock.elapsed();
      throw error;
    } finally {
      held.reportEnded();
    }
    return Math.max(1, nextElapsed - clock.elapsed());
  }

  async function renew(): Promise<void> {
    const renewable = held.renewable();
    for (let from = 0; from < renewable.length; from += leasesMax) {
      const part = renewable.slice(from, from + leasesMax);
      const leases = part.map(({ id, fence, begun }) => ({ id, fence, begun }));
      const sentElapsed = clock.elapsed();
      const reply = await engine.heartbeat({ node, leaseMs, leases });
      for (const [i, lease] of part.entries())
        held.answered(lease, reply.leases[i] as HeartbeatState, sentElapsed);
    }
  }

  return {
    hold(leases, sureElapsed = clock.elapsed()) {
      held.add(leases, sureElapsed);
      const firstElapsed = clock.elapsed() + heartbeatMs;
      if (isClosed || held.count() === 0 || nextElapsed <= firstElapsed) return;
      nextElapsed = firstElapsed;
      loop.start();
      loop.wake();
    },
    drop: held.remove,
    async begin({ id, fence }) {
      const { answer, sentElapsed } = await beginnings.push({ id, fence });
      held.beginningAnswered(fence, answer, sentElapsed);
      return answer.state;
    },
    enter: ({ fence }) => held.enter(fence),
    check() {
      if (isClosed || held.count() === 0) return;
      nextElapsed = clock.elapsed();
      loop.wake();
    },
    close() {
      isClosed = true;
      held.removeAll();
      // The pass that runs now may still wait for the store; its answer is not needed.
      void loop.stop();
    },
  };
}

/** Writes the beginnings of attempts together, and answers each with what the store says of its lease. */
function createBeginnings(
  options: HeartbeatsOptions,
): Batcher<LeaseRef, { answer: HeartbeatState; sentElapsed: number }> {
  const { engine, clock, random, node, leaseMs } = options;
  return createBatcher({
    clock,
    random,
    maxItems: leasesMax,
    send: async (leases) => {
      const input = leases.map(({ id, fence }) => ({ id, fence, begun: true }));
      const sentElapsed = clock.elapsed();
      const reply = await engine.heartbeat({ node, leaseMs, leases: input });
      return reply.leases.map((answer) => ({ answer, sentElapsed }));
    },
  });
}
