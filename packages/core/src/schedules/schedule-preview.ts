// The next slots of a stored schedule.

import { readMoment } from './calendar/moment.ts';
import { newestDueSlot } from './planner/jitter.ts';
import { calendarSlots, previewDelay } from './planner/upcoming-slot.ts';
import type { Loaded } from './schedule-loader.ts';

/** The next slots that should fire, after an instant or from now on. */
export function previewSchedule(
  loaded: Loaded,
  { after, wanted }: { after: Date | number | string | undefined; wanted: number },
): Date[] {
  const { record, parsed, now } = loaded;
  const { rule, planRule, spec, state } = parsed;
  const { maxRuns } = spec.policies;
  const left = maxRuns === null ? wanted : Math.min(wanted, Math.max(0, maxRuns - state.firedCount));
  const givenAt = after === undefined ? null : readMoment(after, 'after', rule.timezone);
  const toPlay = { id: record.id, spec, state };
  if (planRule.kind === 'delay') {
    const slots = previewDelay({ ...toPlay, rule: planRule }, { afterAt: givenAt, now, count: left });
    return slots.map((at) => new Date(at));
  }
  // A slot that has come and is not due yet, because of its jitter, is still to come.
  const dueAt =
    newestDueSlot({ id: record.id, policies: spec.policies }, planRule.all, now) ?? state.cursorAt;
  const slots: Date[] = [];
  for (const { slotAt } of calendarSlots(
    { ...toPlay, rule: planRule },
    givenAt ?? Math.max(dueAt, state.cursorAt),
  )) {
    if (slots.length >= left) break;
    slots.push(new Date(slotAt));
  }
  return slots;
}
