import type { Slots } from '../definition/planned-rule.ts';

const graceMsMax = 60_000;
// A schedule whose node died is free again after its lease; another node needs a moment more.
const afterLeaseMs = 2_000;

/** The longest grace there is under this lease. */
export function longestGraceMs(leaseMs: number): number {
  return Math.max(graceMsMax, leaseMs + afterLeaseMs);
}

/** How late a slot may be noticed and still be decided as if in time: the distance to the next slot, within bounds. */
export function graceMsOf(slots: Slots | null, slotAt: number, leaseMs: number): number {
  const nextAt = slots === null ? null : slots.next(slotAt);
  const distanceMs = nextAt === null ? graceMsMax : Math.min(graceMsMax, nextAt - slotAt);
  return Math.max(distanceMs, leaseMs + afterLeaseMs);
}
