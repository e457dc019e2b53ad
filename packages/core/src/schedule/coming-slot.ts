import { dueAtOf, jitterOffsetMs } from './jitter.ts';
import { endOf } from './plan-operations.ts';
import type { CalendarRule, DelayRule } from './plan-rule.ts';
import type { PlanInput } from './plan-types.ts';

/** A schedule as it stands. */
type Standing<Rule = PlanInput['rule']> = Pick<PlanInput, 'id' | 'spec' | 'state'> & { rule: Rule };

/** A slot that is to come. */
export interface ComingSlot {
  slotAt: number;
  dueAt: number;
}

/** The next slot that will fire, as far as can be told now; null: none is known. */
export function nextComing(schedule: Standing): ComingSlot | null {
  const { rule, spec, state } = schedule;
  const { endAt } = spec.policies;
  if (endOf(schedule) !== null) return null;
  if (state.pause !== null && state.pause.untilAt === null) return null;
  let coming: ComingSlot | null;
  if (rule.kind === 'calendar') coming = nextOfCalendar({ ...schedule, rule });
  else if (state.nextSlotAt === null) coming = null;
  else coming = delaySlots({ ...schedule, rule }, state.nextSlotAt).next().value ?? null;
  return coming !== null && endAt !== null && coming.slotAt > endAt ? null : coming;
}

function nextOfCalendar({ id, rule, spec, state }: Standing<CalendarRule>): ComingSlot | null {
  const { open, all } = rule;
  const of = { id, policies: spec.policies };
  const untilAt = state.pause?.untilAt ?? null;
  let slotAt = open.next(Math.max(state.cursorAt, (untilAt ?? 1) - 1));
  // With jitter a slot that comes in the pause may fall due when that is over; only the last one can, for jitter ends before the next.
  const last = untilAt === null ? null : open.previous(untilAt);
  if (untilAt !== null && last !== null && last > state.cursorAt && dueAtOf(of, all, last) >= untilAt) {
    slotAt = last;
  }
  while (slotAt !== null && state.skips.includes(slotAt)) slotAt = open.next(slotAt);
  return slotAt === null ? null : { slotAt, dueAt: dueAtOf(of, all, slotAt) };
}

/**
 * The slots of a fixed delay that will fire, from one on, as if runs took no time. What is skipped, excluded or held by a pause that has an
 * end restarts the delay when it is decided.
 */
export function* delaySlots(
  { id, rule, spec, state }: Standing<DelayRule>,
  firstAt: number,
): Generator<ComingSlot, undefined> {
  const { policies } = spec;
  const { pause, undue, skips } = state;
  const heldUntilAt = pause?.untilAt ?? null;
  for (let slotAt: number | null = firstAt; slotAt !== null; ) {
    const ownDueAt =
      undue?.slotAt === slotAt ? undue.dueAt : slotAt + jitterOffsetMs({ id, policies }, slotAt);
    // It is decided when the pause ends.
    const isHeld = pause !== null && heldUntilAt !== null && pause.at < ownDueAt && ownDueAt < heldUntilAt;
    const dueAt = isHeld ? heldUntilAt : ownDueAt;
    const fires =
      !skips.includes(slotAt) && !rule.isExcluded(slotAt) && !(isHeld && policies.onResume === 'skip');
    if (fires) yield { slotAt, dueAt };
    slotAt = rule.after(dueAt);
  }
}

/** Where walking from slot to slot ends. */
const walkMax = 10_000;

/**
 * Slots of a fixed delay that will fire after an instant (null: all), from the one that is known on. While a run goes on it is taken to end
 * now; and where `afterAt` lies too far away to walk there, one is taken to end at it.
 */
export function previewDelay(
  schedule: Standing<DelayRule>,
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
