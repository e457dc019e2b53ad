import type { CatchUpMode } from '../../contract/policy-modes.ts';
import type { CalendarRule, DelayRule } from '../definition/planned-rule.ts';
import { type ResolvedPolicies, windowMsOf } from '../definition/policies.ts';
import { longestGraceMs } from './grace.ts';
import { dueAtOf, firstSlotDueFrom, jitterOffsetMs, newestDueSlot } from './jitter.ts';
import { endOf } from './plan-operations.ts';
import type { PlanInput } from './plan-types.ts';

/** A schedule as it stands. */
type ScheduleToPlay<Rule = PlanInput['rule']> = Pick<PlanInput, 'id' | 'spec' | 'state'> & { rule: Rule };

/** A slot that is to come. */
export interface ComingSlot {
  slotAt: number;
  dueAt: number;
}

/** The next slot that will fire, as far as can be told now; null: none is known. */
export function nextComing(schedule: ScheduleToPlay): ComingSlot | null {
  const { rule, spec, state } = schedule;
  const { endAt } = spec.policies;
  if (endOf(schedule) !== null) return null;
  if (state.pause !== null && state.pause.untilAt === null) return null;
  let coming: ComingSlot | null;
  if (rule.kind === 'calendar')
    coming = calendarSlots({ ...schedule, rule }, state.cursorAt).next().value ?? null;
  else if (state.nextSlotAt === null) coming = null;
  else coming = delaySlots({ ...schedule, rule }, state.nextSlotAt).next().value ?? null;
  return coming !== null && endAt !== null && coming.slotAt > endAt ? null : coming;
}

/**
 * The slots after an instant that will fire, of a rule that names them ahead. Of what a pause holds that has an end, those that are caught up on
 * when it ends.
 */
export function* calendarSlots(
  schedule: ScheduleToPlay<CalendarRule>,
  afterAt: number,
): Generator<ComingSlot, undefined> {
  const { id, rule, spec, state } = schedule;
  const of = { id, policies: spec.policies };
  const { endAt } = spec.policies;
  let fromAt = afterAt;
  const untilAt = state.pause?.untilAt ?? null;
  if (state.pause !== null && untilAt !== null) {
    for (const slotAt of caughtUpAfter(schedule, state.pause.at, untilAt)) {
      if (slotAt > afterAt) yield { slotAt, dueAt: untilAt };
    }
    // With jitter a slot that comes in the pause may fall due when that is over.
    const firstAt = firstSlotDueFrom(of, rule.all, untilAt);
    if (firstAt === null) return;
    fromAt = Math.max(afterAt, firstAt - 1);
  }
  for (let slotAt = rule.open.next(fromAt); slotAt !== null; slotAt = rule.open.next(slotAt)) {
    if (endAt !== null && slotAt > endAt) return;
    if (!state.skips.includes(slotAt)) yield { slotAt, dueAt: dueAtOf(of, rule.all, slotAt) };
  }
}

/** The slots that fire when a pause ends: those that fell due before it and were not noticed, by `missed`, and those that it held, by `onResume`. */
function caughtUpAfter(schedule: ScheduleToPlay<CalendarRule>, pausedAt: number, untilAt: number): number[] {
  const { missed, onResume } = schedule.spec.policies;
  return [
    ...chosenOf(schedule, missed, { fromAt: Number.NEGATIVE_INFINITY, toAt: pausedAt, decidedAt: untilAt }),
    ...chosenOf(schedule, onResume, { fromAt: pausedAt, toAt: untilAt - 1, decidedAt: untilAt }),
  ];
}

/** Of the undecided slots that fall due in (fromAt, toAt], those that a policy fires, oldest first. */
function chosenOf(
  { id, rule, spec, state }: ScheduleToPlay<CalendarRule>,
  mode: CatchUpMode,
  { fromAt, toAt, decidedAt }: { fromAt: number; toAt: number; decidedAt: number },
): number[] {
  const { policies } = spec;
  const of = { id, policies };
  const count = mode === 'skip' ? 0 : mode === 'latest' ? 1 : policies.catchUpLimit;
  const newestAt = newestDueSlot(of, rule.all, toAt);
  const chosen: number[] = [];
  if (count === 0 || newestAt === null) return chosen;
  const lastAt = Math.min(newestAt, policies.endAt ?? newestAt);
  for (
    let at = rule.open.previous(lastAt + 1);
    at !== null && at > state.cursorAt && chosen.length < count;
    at = rule.open.previous(at)
  ) {
    const dueAt = dueAtOf(of, rule.all, at);
    if (dueAt <= fromAt || isBeyondWindow(policies, mode, decidedAt - dueAt)) break;
    if (!state.skips.includes(at)) chosen.push(at);
  }
  return chosen.filter((at) => !isExpired(policies, decidedAt - dueAtOf(of, rule.all, at))).reverse();
}

function isBeyondWindow(policies: ResolvedPolicies, mode: CatchUpMode, lateMs: number): boolean {
  const windowMs = windowMsOf(policies, mode);
  return windowMs !== null && lateMs > windowMs;
}

function isExpired({ startDeadlineMs }: ResolvedPolicies, lateMs: number): boolean {
  return startDeadlineMs !== null && lateMs > startDeadlineMs;
}

/**
 * The slots of a fixed delay that will fire, from one on, as if runs took no time. What is skipped, excluded or not caught up on after a pause
 * that has an end restarts the delay when it is decided.
 */
export function* delaySlots(
  schedule: ScheduleToPlay<DelayRule>,
  firstAt: number,
): Generator<ComingSlot, undefined> {
  const { id, rule, spec, state } = schedule;
  const { pendingSlot } = state;
  for (let slotAt: number | null = firstAt; slotAt !== null; ) {
    const ownDueAt =
      pendingSlot?.slotAt === slotAt
        ? pendingSlot.dueAt
        : slotAt + jitterOffsetMs({ id, policies: spec.policies }, slotAt);
    // A paused schedule decides nothing, also of what fell due before.
    const dueAt = Math.max(ownDueAt, state.pause?.untilAt ?? ownDueAt);
    if (delayFires(schedule, slotAt, ownDueAt, dueAt)) yield { slotAt, dueAt };
    slotAt = rule.after(dueAt);
  }
}

function delayFires(
  { rule, spec, state }: ScheduleToPlay<DelayRule>,
  slotAt: number,
  dueAt: number,
  decidedAt: number,
): boolean {
  const { policies } = spec;
  if (state.skips.includes(slotAt) || rule.isExcluded(slotAt)) return false;
  const lateMs = decidedAt - dueAt;
  if (isExpired(policies, lateMs)) return false;
  if (state.pause === null || lateMs === 0) return true;
  const isHeld = dueAt > state.pause.at;
  if (!isHeld && lateMs <= longestGraceMs(0)) return true;
  const mode = isHeld ? policies.onResume : policies.missed;
  return mode !== 'skip' && !isBeyondWindow(policies, mode, lateMs);
}

/** Where walking from slot to slot ends. */
const walkMax = 10_000;

/**
 * Slots of a fixed delay that will fire after an instant (null: all), from the one that is known on. While a run goes on it is taken to end
 * now; and where `afterAt` lies too far away to walk there, one is taken to end at it.
 */
export function previewDelay(
  schedule: ScheduleToPlay<DelayRule>,
  { afterAt, now, count }: { afterAt: number | null; now: number; count: number },
): number[] {
  const { rule, spec, state } = schedule;
  if (state.ended !== null) return [];
  let firstAt = state.nextSlotAt ?? rule.after(now);
  if (afterAt !== null && firstAt !== null && afterAt - firstAt > walkMax * rule.delayMs) {
    firstAt = rule.after(afterAt);
  }
  const { endAt } = spec.policies;
  const slots: number[] = [];
  if (firstAt === null) return slots;
  for (const { slotAt } of delaySlots(schedule, firstAt)) {
    if (slots.length >= count || (endAt !== null && slotAt > endAt)) break;
    if (afterAt === null || slotAt > afterAt) slots.push(slotAt);
  }
  return slots;
}
