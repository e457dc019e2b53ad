import { type LedgerSlot, resolveRule, type Schedule } from '@duly/core';
import type { ScheduleFact } from './schedule-facts.ts';

/** A run of a schedule that succeeded. */
export interface LastSuccess {
  slotAt: number | null;
  finishedAt: number;
}

// The deadline counts from the due instant, which lies up to the jitter behind the slot.
function latestDueAt({ finishDeadlineMs, jitterMs }: Schedule['policies'], now: number): number {
  return now - (finishDeadlineMs ?? 0) - jitterMs;
}

/**
 * The newest slot of a schedule that should have succeeded by now: due so long ago that its `finishDeadline` is over. From the rule itself, so
 * that it is found also when no scheduler was there to create a run. null: there is none, it is paused, or it has no deadline.
 */
export function deadlineSlotAt(schedule: Schedule, now: number): number | null {
  const { policies, status, createdAt, lastRun, unreadable } = schedule;
  if (policies.finishDeadlineMs === null || ['paused', 'disabled', 'deleted'].includes(status)) return null;
  const latestAt = latestDueAt(policies, now);
  const isDue = (at: number | undefined): boolean => at !== undefined && at <= latestAt;
  const lastSlotAt = lastRun?.slot.getTime();
  // What comes next depends on runs (a delay), cannot be known here, or is nothing: the last one that fired is what there is.
  if (schedule.kind === 'delay' || unreadable !== null || status === 'ended') {
    const nextAt = schedule.nextSlot?.getTime();
    if (isDue(nextAt)) return nextAt as number;
    return isDue(lastSlotAt) ? (lastSlotAt as number) : null;
  }
  const anchorAt = schedule.nextSlot?.getTime() ?? lastSlotAt ?? createdAt.getTime();
  const slotAt = resolveRule(schedule.rule, { now: 0, anchorAt }).previous(latestAt + 1);
  if (slotAt === null || slotAt <= createdAt.getTime()) return null;
  const { startAt, endAt } = policies;
  if ((startAt !== null && slotAt < startAt.getTime()) || (endAt !== null && slotAt > endAt.getTime()))
    return null;
  return slotAt;
}

// Slots that nobody is owed: a person or the rule itself took them away, or the schedule was not to run then.
const waivedReasons: ReadonlySet<string | null> = new Set([
  'end at',
  'max runs',
  'exclude',
  'skip next',
  'paused',
  'paused, not the latest',
  'edited',
  'edited, not the latest',
]);

/**
 * What `deadlineSlotAt` found, held against the ledger (newest first): the rule as it stands names instants from before it was edited, in which a
 * pause held, or which were skipped by hand, and none of them was promised. null: nothing that was promised is past its deadline.
 */
export function promisedSlotAt(
  schedule: Schedule,
  foundAt: number,
  ledger: readonly LedgerSlot[],
  now: number,
): number | null {
  // What a fixed delay has done, or an unreadable rule, was taken from its runs.
  if (schedule.kind === 'delay' || schedule.unreadable !== null || schedule.status === 'ended')
    return foundAt;
  const latestAt = latestDueAt(schedule.policies, now);
  for (const line of ledger) {
    if (line.generation !== schedule.generation || line.status === 'compacted') return null;
    const firstAt = line.slot.getTime();
    if (firstAt > latestAt || line.status === 'pending' || line.status === 'held' || line.status === 'none')
      continue;
    if (waivedReasons.has(line.reason)) continue;
    // A slot that a pause held is due when the pause ends.
    if (line.reason === 'after pause' && line.decidedAt !== null && line.decidedAt.getTime() > latestAt)
      continue;
    const lastAt = line.to.getTime();
    return lastAt <= latestAt ? lastAt : Math.max(firstAt, Math.min(foundAt, lastAt));
  }
  return null;
}

/** Whether the last run alone says that the slot, or a later one, succeeded; null: it does not say. */
export function isSettledBy({ lastRun, counts }: Schedule, slotAt: number): boolean | null {
  if (lastRun === null || lastRun.slot.getTime() < slotAt) return null;
  if (lastRun.status === 'COMPLETED') return true;
  // Its job is past its retention, so it has been over for long; the schedule itself remembers whether it failed.
  if (lastRun.status === null) return counts.failuresInRow === 0;
  return null;
}

/** What is overdue, given the last success. A success at or after the slot settles it, whichever slot it was of. */
export function overdueOf(
  { policies, lastRun }: Schedule,
  slotAt: number,
  success: LastSuccess | null,
): ScheduleFact['overdue'] {
  if (
    success !== null &&
    (success.finishedAt >= slotAt || (success.slotAt !== null && success.slotAt >= slotAt))
  ) {
    return null;
  }
  const hasRun = lastRun !== null && lastRun.slot.getTime() >= slotAt;
  return {
    slotAt,
    deadlineAt: slotAt + (policies.finishDeadlineMs ?? 0),
    runStatus: hasRun ? lastRun.status : null,
  };
}

/**
 * When a schedule is to be looked at again, if nobody changes it: at once while something of it is overdue or failed, which may be over at any moment; else
 * when the deadline of a slot that has not succeeded yet is over.
 */
export function nextLookAt(
  { policies: { finishDeadlineMs }, counts, lastRun, nextSlot }: Schedule,
  isOverdue: boolean,
  now: number,
): number {
  if (isOverdue || counts.failuresInRow > 0) return now;
  if (finishDeadlineMs === null) return Number.POSITIVE_INFINITY;
  const open = [nextSlot, lastRun === null || lastRun.status === 'COMPLETED' ? null : lastRun.slot];
  return Math.min(
    ...open.map((slot) => (slot === null ? Number.POSITIVE_INFINITY : slot.getTime() + finishDeadlineMs)),
  );
}
