import type { Clock } from '../base/clock.ts';
import type { HeartbeatState } from '../contract/engine.ts';
import type { HeartbeatResult, HeldLease, LeaseRef } from './heartbeats.ts';
import type { Entry, LeaseBoard } from './shared-leases.ts';

/** The leases that heartbeats renew, and what is known of each. Instants are monotonic. */
export interface HeldLeases {
  count(): number;
  /** Adds leases. `sureElapsed`: an instant before the store granted them. */
  add(leases: readonly HeldLease[], sureElapsed: number): void;
  remove(leases: readonly LeaseRef[]): void;
  removeAll(): void;
  /** The leases to renew: those whose attempts may still run. */
  renewable(): HeldLease[];
  /** Takes the store's answer to the heartbeat that was sent at this instant for a lease of `renewable`. */
  answered(lease: HeldLease, answer: HeartbeatState, sentElapsed: number): void;
  /** Takes the store's answer to the call that wrote the beginning of this lease's attempt. */
  beginningAnswered(fence: number, answer: HeartbeatState, sentElapsed: number): void;
  /**
   * Reports leases that have ended by the clock. They are still renewed, because the store accepts a late
   * heartbeat until another node takes the lease over.
   */
  reportEnded(): void;
  /** Whether the handler of this lease may be called now. */
  enter(fence: number): Exclude<Entry, 'released'>;
}

/** What held leases are made of. */
export interface HeldLeasesOptions {
  clock: Pick<Clock, 'elapsed'>;
  leaseMs: number;
  /** Where the main thread reads what is known of its leases, if it is another one. */
  board: Pick<LeaseBoard, 'add' | 'renewed' | 'mark'> | undefined;
  /** Called once for each lease that is lost or whose job is to be cancelled. */
  onHeartbeat(news: HeartbeatResult): void;
}

interface Held extends HeldLease {
  sinceElapsed: number;
  /** When the latest answer arrived that renewed it. */
  renewedElapsed: number;
  /** When the call of that answer was sent, or earlier: the lease lasts at least from here. */
  sureElapsed: number;
  isCancelReported: boolean;
  isEndReported: boolean;
}

// From the claim to the start of the handler; the attempt measures its timeout from there.
const startSlackMs = 1_000;

/** Creates an empty list. */
export function createHeldLeases({ clock, leaseMs, board, onHeartbeat }: HeldLeasesOptions): HeldLeases {
  // By fence: one worker may hold an old and a new lease of the same job.
  const held = new Map<number, Held>();

  function renewed(lease: Held, sentElapsed: number): void {
    lease.renewedElapsed = clock.elapsed();
    lease.sureElapsed = sentElapsed;
    lease.isEndReported = false;
    board?.renewed(lease.fence, sentElapsed);
  }

  function end(fence: number): void {
    held.delete(fence);
    board?.mark(fence, 'ended');
  }

  function mayStillRun({ timeoutMs, graceMs, sinceElapsed }: Held): boolean {
    return timeoutMs === null || clock.elapsed() < sinceElapsed + timeoutMs + graceMs + startSlackMs;
  }

  return {
    count: () => held.size,
    add(leases, sureElapsed) {
      const now = clock.elapsed();
      for (const lease of leases) {
        // A lease that is held already was granted no later than the first call said.
        const known = held.get(lease.fence);
        const { renewedElapsed = now, isCancelReported = false } = known ?? {};
        const sure = known?.sureElapsed ?? sureElapsed;
        const times = { sinceElapsed: now, renewedElapsed, sureElapsed: sure };
        held.set(lease.fence, { ...lease, ...times, isCancelReported, isEndReported: false });
        if (known === undefined) board?.add(lease, sure);
      }
    },
    remove(leases) {
      for (const { fence } of leases) held.delete(fence);
    },
    removeAll: () => held.clear(),
    renewable: () => [...held.values()].filter(mayStillRun),
    answered(renewable, heartbeat, sentElapsed) {
      const { id, fence } = renewable;
      const lease = held.get(fence);
      // A lease that was removed meanwhile was settled; if it was added again, it has a newer entry.
      if (lease === undefined || lease !== renewable) return;
      if (heartbeat.state === 'lost') end(fence);
      else {
        renewed(lease, sentElapsed);
        if (heartbeat.state === 'kept' || lease.isCancelReported) return;
        lease.isCancelReported = true;
        board?.mark(fence, 'cancelled');
      }
      onHeartbeat({ id, fence, heartbeat });
    },
    beginningAnswered(fence, { state }, sentElapsed) {
      const lease = held.get(fence);
      if (lease === undefined) return;
      if (state === 'lost') {
        end(fence);
        return;
      }
      lease.begun = true;
      lease.sinceElapsed = clock.elapsed();
      renewed(lease, sentElapsed);
      lease.isCancelReported ||= state === 'cancel';
    },
    reportEnded() {
      for (const lease of [...held.values()]) {
        if (lease.isEndReported || clock.elapsed() < lease.renewedElapsed + leaseMs) continue;
        lease.isEndReported = true;
        const { id, fence } = lease;
        onHeartbeat({ id, fence, heartbeat: { state: 'lost' }, isPresumed: true });
      }
    },
    enter(fence) {
      const lease = held.get(fence);
      if (lease === undefined || clock.elapsed() >= lease.sureElapsed + leaseMs) return 'ended';
      return lease.isCancelReported ? 'cancelled' : 'held';
    },
  };
}
