import { countFrom } from './decide-delay.ts';
import { type Cause, reasons } from './decision.ts';
import { noteOutcome } from './outcomes.ts';
import { beginPass, coverMissed, type Pass, recordSlot } from './pass.ts';
import { decide, endPauseInTime, finishPass } from './plan.ts';
import type { PlanRule } from './plan-rule.ts';
import type { Plan, PlanInput } from './plan-types.ts';
import { hasSameRule, type ScheduleSpec } from './schedule-spec.ts';

/** What a schedule becomes. */
export interface EditRequest {
  spec: ScheduleSpec;
  /** Makes the rule of the new spec; a rate with `anchor: 'start'` counts from the instant given. */
  ruleFor(anchorAt: number): PlanRule;
}

/**
 * Applies an edit: first decides what is due under the old rule and the old policies, then lets the new ones rule; the next slot
 * changes at once. `applied` is false when the old rule's slots could not all be decided in one step: write the plan with the
 * old spec and ask again. Pace does not bind an edit, because the old rule is gone after it.
 */
export function planEdit(input: PlanInput, request: EditRequest): { plan: Plan; applied: boolean } {
  const pass = beginPass({ ...input, limits: { ...input.limits, catchUpBudget: Number.POSITIVE_INFINITY } });
  noteOutcome(pass);
  endPauseInTime(pass);
  const isSameRule = hasSameRule(input.spec, request.spec);
  const { pause } = pass.state;
  // A paused schedule makes no decisions, and an edit of its note or policies is no reason to; but when the rule goes, the
  // slots that it held must be decided now or never.
  if (pause === null || !isSameRule || pass.state.ended !== null) {
    const held: { fromAt: number; toAt: number; cause: Cause }[] =
      pause === null ? [] : [{ fromAt: pause.at, toAt: input.now, cause: 'edited' }];
    decide(pass, { held });
    if (pass.stopped !== null) return { plan: finishPass(pass), applied: false };
  }
  if (!isSameRule) leaveUndue(pass);
  apply(pass, request, isSameRule);
  return { plan: finishEdited(pass, request), applied: true };
}

/** With jitter the newest slot may lie in the past and not be due yet. It goes with its rule, and the ledger says so. */
function leaveUndue(pass: Pass): void {
  const { rule, spec, now } = pass.input;
  const { endAt, maxRuns } = spec.policies;
  if (rule.kind === 'delay' || pass.state.ended !== null) return;
  if (maxRuns !== null && pass.state.firedCount >= maxRuns) return;
  const slotAt = rule.all.next(pass.state.cursorAt);
  if (slotAt === null || slotAt > now || (endAt !== null && slotAt > endAt)) return;
  if (rule.isExcluded(slotAt)) {
    recordSlot(pass, slotAt, 'excluded', reasons.excluded);
  } else if (pass.state.skips.includes(slotAt)) {
    recordSlot(pass, slotAt, 'skipped', reasons.skipNext);
  } else {
    recordSlot(pass, slotAt, 'missed', reasons.edited);
    coverMissed(pass, rule, slotAt, slotAt);
  }
}

function apply(pass: Pass, request: EditRequest, isSameRule: boolean): void {
  const { state, input } = pass;
  const { now } = input;
  // Whether it is over is asked again: a later `endAt` or more `maxRuns` revive it.
  const wasEnded = state.ended !== null;
  state.ended = null;
  const { pauseAfterFailures, flagAfterFailures } = request.spec.policies;
  if (pauseAfterFailures === null && flagAfterFailures === null) state.watched = [];
  if (isSameRule) {
    const { rule } = input;
    keepBefore(pass);
    if (wasEnded && rule.kind === 'delay' && state.outstanding === null) countFrom(pass, rule, now);
    return;
  }
  state.anchorAt = now;
  state.cursorAt = now;
  if (state.pause !== null) state.pause = { ...state.pause, at: now };
  changeRule(pass, request.ruleFor(now), request.spec.policies.startAt);
}

/** An earlier `startAt`, or none, makes no slots of the past: what came before the old one was none when it came. */
function keepBefore({ state, input }: Pass): void {
  const { startAt } = input.spec.policies;
  if (startAt !== null) state.cursorAt = Math.max(state.cursorAt, Math.min(input.now, startAt - 1));
}

function changeRule(pass: Pass, rule: PlanRule, startAt: number | null): void {
  const { state, input } = pass;
  const { now } = input;
  if (rule.kind === 'calendar') {
    state.outstanding = null;
    state.countsFromAt = null;
    return;
  }
  if (state.outstanding !== null) return;
  const newest = pass.active.at(-1)?.id;
  if (newest !== undefined) {
    state.outstanding = newest;
    state.nextSlotAt = null;
  } else if (input.rule.kind === 'delay' && state.countsFromAt !== null) {
    countFrom(pass, rule, state.countsFromAt);
    // Shorter than what has passed: due now, and not late.
    state.nextSlotAt = Math.max(state.nextSlotAt ?? now, now);
  } else {
    state.nextSlotAt = Math.max(startAt ?? now, now);
  }
}

/** The rest of the pass under the new spec: when the schedule is due again. */
function finishEdited(pass: Pass, request: EditRequest): Plan {
  const rule = request.ruleFor(pass.state.anchorAt);
  return finishPass({ ...pass, input: { ...pass.input, spec: request.spec, rule } }, rule);
}
