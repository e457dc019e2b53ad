import type { Clock } from '../base/clock.ts';
import { createLoop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, HeartbeatState } from '../contract/engine.ts';
import { createBatcher } from './batcher.ts';
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

/** What a lease was told that its attempt must know: it is lost, or asked to cancel. */
export interface HeartbeatResult extends LeaseRef {
  heartbeat: Exclude<HeartbeatState, { state: 'kept' }>;
  /** Lost by the clock alone: the store could not be asked, and another node may or may not have taken it over. */
  isPresumed?: true;
}

/** Keeps leases alive. Everything that goes in or out can be posted to another thread. */
export interface Heartbeats {
  /** Renews these from now on. `sureElapsed`: a monotonic instant before the store gave them; left out: now. */
  hold(leases: HeldLease[], sureElapsed?: number): void;
  /** Renews these no longer. */
  drop(leases: LeaseRef[]): void;
  /** Whether it learns from the store itself what an exchange gave and what it settled: then nobody else need tell. */
  readonly followsStoreCalls?: boolean;
  /** Writes an attempt's beginning, renewing its lease. Rejects if the store could not be asked. */
  begin(lease: LeaseRef): Promise<HeartbeatState['state']>;
  /**
   * Whether the handler of this lease may be called now, by the monotonic clock and by all that is known of the
   * lease. To be asked in the turn that calls it. `takenElapsed`: when the job arrived in this thread.
   */
  enter(lease: LeaseRef, takenElapsed: number): Entry;
  /** The leases in shared memory, for the threads of isolated tasks; missing: they are in this thread. */
  readonly shared?: SharedLeases;
  /** Sends heartbeats at once, for instance after a notification that somebody asked to cancel. */
  check(): void;
  /** Stops. Leases are not given back. */
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
  /** Told once of every lease that is lost or asked to cancel. */
  onHeartbeat(news: HeartbeatResult): void;
  /** Told of every heartbeat that failed; it is tried again. */
  onError?(error: unknown): void;
}

interface Held extends HeldLease {
  /** Monotonic instants. */
  sinceElapsed: number;
  /** When the last answer arrived that it is ours. */
  renewedElapsed: number;
  /** When that was asked, or earlier: the lease lasts at least from here. */
  sureElapsed: number;
  isCancelReported: boolean;
  isEndReported: boolean;
}

// From the claim to the start of the handler; the attempt measures its timeout from there.
const startSlackMs = 1_000;
/** A main loop that has not turned for this long is taken for dead: its leases and locks are renewed no longer. */
export const stallMsMax = 10 * 60_000;
// A store that is away is asked again after this time at the latest.
const backoffMsMax = 5_000;
// Leases of one heartbeat.
const leasesMax = 2_000;

/** Sends one heartbeat for all leases every `heartbeatMs`, and none while no lease is held. */
export function createHeartbeats(options: HeartbeatsOptions): Heartbeats {
  const {
    engine,
    clock,
    random,
    node,
    leaseMs,
    heartbeatMs,
    sinceTurnMs,
    board,
    onHeartbeat,
    onError = () => {},
  } = options;
  // By fence: one worker may hold an old and a new lease of the same job.
  const held = new Map<number, Held>();
  let nextElapsed = Number.POSITIVE_INFINITY;
  let isClosed = false;

  const loop = createLoop({
    clock,
    random,
    pass,
    onError,
    maxWaitMs: Number.POSITIVE_INFINITY,
    // A lease that was given while the store came back must not end before its first heartbeat.
    maxBackoffMs: Math.min(heartbeatMs, backoffMsMax),
  });
  const beginnings = createBatcher<LeaseRef, { heartbeat: HeartbeatState; sentElapsed: number }>({
    clock,
    random,
    maxItems: leasesMax,
    send: async (leases) => {
      const input = leases.map(({ id, fence }) => ({ id, fence, begun: true }));
      const sentElapsed = clock.elapsed();
      const reply = await engine.heartbeat({ node, leaseMs, leases: input });
      return reply.leases.map((heartbeat) => ({ heartbeat, sentElapsed }));
    },
  });

  function renewed(lease: Held, sentElapsed: number): void {
    lease.renewedElapsed = clock.elapsed();
    lease.sureElapsed = sentElapsed;
    lease.isEndReported = false;
    board?.renewed(lease.fence, sentElapsed);
  }

  function report(lease: Held, heartbeat: HeartbeatState, sentElapsed: number): void {
    if (heartbeat.state === 'kept') renewed(lease, sentElapsed);
    else if (heartbeat.state === 'lost') {
      held.delete(lease.fence);
      board?.mark(lease.fence, 'ended');
      onHeartbeat({ id: lease.id, fence: lease.fence, heartbeat });
    } else {
      renewed(lease, sentElapsed);
      if (lease.isCancelReported) return;
      lease.isCancelReported = true;
      board?.mark(lease.fence, 'cancelled');
      onHeartbeat({ id: lease.id, fence: lease.fence, heartbeat });
    }
  }

  function isRenewed({ timeoutMs, graceMs, sinceElapsed }: Held): boolean {
    return timeoutMs === null || clock.elapsed() < sinceElapsed + timeoutMs + graceMs + startSlackMs;
  }

  /**
   * Reports leases that have ended: the store gave them to `renewedElapsed + leaseMs` at the latest. They are still renewed, because
   * the store accepts a late heartbeat as long as no other node has taken the lease over.
   */
  function reportEnded(): void {
    for (const lease of [...held.values()]) {
      if (lease.isEndReported || clock.elapsed() < lease.renewedElapsed + leaseMs) continue;
      lease.isEndReported = true;
      onHeartbeat({ id: lease.id, fence: lease.fence, heartbeat: { state: 'lost' }, isPresumed: true });
    }
  }

  async function pass(): Promise<number> {
    if (held.size === 0) {
      nextElapsed = Number.POSITIVE_INFINITY;
      return nextElapsed;
    }
    const waitMs = nextElapsed - clock.elapsed();
    if (waitMs > 0) return waitMs;
    nextElapsed = clock.elapsed() + heartbeatMs;
    try {
      if (sinceTurnMs === undefined || sinceTurnMs() <= stallMsMax) await heartbeat();
    } catch (error) {
      // The loop's own backoff says when: much sooner than a whole heartbeat at first.
      nextElapsed = clock.elapsed();
      throw error;
    } finally {
      reportEnded();
    }
    return Math.max(1, nextElapsed - clock.elapsed());
  }

  async function heartbeat(): Promise<void> {
    const renewed = [...held.values()].filter(isRenewed);
    for (let from = 0; from < renewed.length; from += leasesMax) {
      const part = renewed.slice(from, from + leasesMax);
      const leases = part.map(({ id, fence, begun }) => ({ id, fence, begun }));
      const sentElapsed = clock.elapsed();
      const reply = await engine.heartbeat({ node, leaseMs, leases });
      // One that was dropped meanwhile was settled; what the store says of it then is no news.
      for (const [i, lease] of part.entries()) {
        if (held.get(lease.fence) === lease) report(lease, reply.leases[i] as HeartbeatState, sentElapsed);
      }
    }
  }

  return {
    hold(leases, sureElapsed = clock.elapsed()) {
      const now = clock.elapsed();
      for (const lease of leases) {
        // One that is held already, since the store gave it, is known no better for being named again.
        const known = held.get(lease.fence);
        const { renewedElapsed = now, isCancelReported = false } = known ?? {};
        const sure = known?.sureElapsed ?? sureElapsed;
        const times = { sinceElapsed: now, renewedElapsed, sureElapsed: sure };
        held.set(lease.fence, { ...lease, ...times, isCancelReported, isEndReported: false });
        if (known === undefined) board?.add(lease, sure);
      }
      if (isClosed || held.size === 0 || nextElapsed <= now + heartbeatMs) return;
      nextElapsed = now + heartbeatMs;
      loop.start();
      loop.wake();
    },
    drop(leases) {
      for (const { fence } of leases) held.delete(fence);
    },
    async begin({ id, fence }) {
      const { heartbeat: answer, sentElapsed } = await beginnings.push({ id, fence });
      const lease = held.get(fence);
      if (lease === undefined) return answer.state;
      if (answer.state === 'lost') {
        held.delete(fence);
        board?.mark(fence, 'ended');
      } else {
        lease.begun = true;
        lease.sinceElapsed = clock.elapsed();
        renewed(lease, sentElapsed);
        lease.isCancelReported ||= answer.state === 'cancel';
      }
      return answer.state;
    },
    enter({ fence }) {
      const lease = held.get(fence);
      if (lease === undefined || clock.elapsed() >= lease.sureElapsed + leaseMs) return 'ended';
      return lease.isCancelReported ? 'cancelled' : 'held';
    },
    check() {
      if (isClosed || held.size === 0) return;
      nextElapsed = clock.elapsed();
      loop.wake();
    },
    close() {
      isClosed = true;
      held.clear();
      // The pass that runs now may still be waiting for the store; nobody needs its answer.
      void loop.stop();
    },
  };
}
