import type { Clock } from '../base/clock.ts';

/** What a contact is made of. */
export interface ContactOptions {
  clock: Pick<Clock, 'elapsed'>;
  leaseMs: number;
  /** Whether no other node was there when this one started: then no outcome can be on its way. */
  isAlone: boolean;
}

/**
 * Decides which ended leases a node may take over. After an outage the outcomes and heartbeats of live nodes arrive with their next
 * retry, so leases that ended meanwhile are left alone until the store has answered for a while.
 */
export interface Contact {
  /** The store's instant up to which ended leases may be taken over; null: all of them. */
  endedBy(): number | null;
  /** The store answered, at this instant of its own. */
  answered(now: number): void;
  /** A call failed. */
  failed(): void;
  /** How long until `endedBy` can move, if no call fails. */
  holdsForMs(): number;
}

interface Answer {
  now: number;
  elapsed: number;
}

const graceMsMax = 10_000;
// Shorter pauses are normal on a busy machine, even with a lease of a second.
const gapMsMin = 2_000;

/** How long live nodes have after an outage: a third of the lease, at most 10 s. They retry within half of it. */
export const graceMsOf = (leaseMs: number): number => Math.min(graceMsMax, leaseMs / 3);

/** Creates the contact of one node, from its start. */
export function createContact({ clock, leaseMs, isAlone }: ContactOptions): Contact {
  const graceMs = graceMsOf(leaseMs);
  const gapMs = Math.max(gapMsMin, Math.min(graceMsMax, (2 * leaseMs) / 3));
  /** The last look that may be relied on. Nothing ended before the first one. */
  let endedBy: number | null = isAlone ? null : Number.MIN_SAFE_INTEGER;
  /** The first answer after a start, a failure or a gap. */
  let held: Answer | 'unanswered' | null = isAlone ? null : 'unanswered';
  let last: Answer | null = null;

  return {
    endedBy: () => endedBy,
    answered(now) {
      const answer = { now, elapsed: clock.elapsed() };
      // This process, or the whole machine, stood still: so may have the others, and the store.
      const isGap = last !== null && (now - last.now > gapMs || answer.elapsed - last.elapsed > gapMs);
      last = answer;
      if (held === 'unanswered' || (held === null && isGap)) held = answer;
      if (held === null) endedBy = now;
      else if (answer.elapsed - held.elapsed >= graceMs) {
        // A main loop that is blocked again and again still moves on, by what it saw the last time.
        endedBy = isGap ? held.now : now;
        held = isGap ? answer : null;
      }
    },
    failed() {
      held = 'unanswered';
      // A node that was alone at its start is not alone for ever.
      endedBy ??= Number.MIN_SAFE_INTEGER;
    },
    holdsForMs() {
      if (held === null || held === 'unanswered') return 0;
      return Math.max(0, held.elapsed + graceMs - clock.elapsed());
    },
  };
}
