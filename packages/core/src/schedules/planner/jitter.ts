import type { Slots } from '../definition/planned-rule.ts';
import type { ResolvedPolicies } from '../definition/policies.ts';

/** What jitter depends on. */
export interface JitterOf {
  /** Id of the schedule. */
  id: string;
  policies: Pick<ResolvedPolicies, 'jitterMs' | 'jitterMode'>;
}

/**
 * The instant at which a slot falls due: the slot plus its jitter, cut to end before the next slot. A hash of the schedule
 * (and, for `perFire`, of the slot) gives it, so it is the same on every node and each time it is computed.
 */
export function dueAtOf(of: JitterOf, slots: Slots, slotAt: number): number {
  if (slots.pending?.slotAt === slotAt) return slots.pending.dueAt;
  const offsetMs = jitterOffsetMs(of, slotAt);
  if (offsetMs === 0) return slotAt;
  const nextAt = slots.next(slotAt);
  return slotAt + (nextAt === null ? offsetMs : Math.min(offsetMs, nextAt - slotAt - 1));
}

/** The jitter of a slot before it is cut: 0 to `jitter`, both included. */
export function jitterOffsetMs({ id, policies }: JitterOf, slotAt: number): number {
  if (policies.jitterMs === 0) return 0;
  const seed = policies.jitterMode === 'perFire' ? `${id}/${slotAt}` : id;
  return Math.floor(fractionOf(seed) * (policies.jitterMs + 1));
}

/** FNV-1a over the text, mixed by murmur's finalizer: neighbours such as `user-41` and `user-42` land far apart. From 0 up to, not including, 1. */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x100000000;
}

/** The newest slot that is due at an instant, or null. */
export function newestDueSlot(of: JitterOf, slots: Slots, now: number): number | null {
  const slotAt = slots.previous(now + 1);
  if (slotAt === null || dueAtOf(of, slots, slotAt) <= now) return slotAt;
  // Jitter ends before the next slot, so the one before is due for sure.
  return slots.previous(slotAt);
}

/** The first slot that falls due at an instant or later, or null. */
export function firstSlotDueFrom(of: JitterOf, slots: Slots, at: number): number | null {
  const before = slots.previous(at);
  if (before !== null && dueAtOf(of, slots, before) >= at) return before;
  return slots.next(at - 1);
}
