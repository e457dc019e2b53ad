import { type UndueSlot, withUndue } from '../definition/pending-slot.ts';
import type { PlanRule } from '../definition/plan-rule.ts';
import { hasSameInstants, hasSameRule, hasSameWrittenRule, type ScheduleSpec } from '../definition/spec.ts';
import { countFrom, delayDueAt } from './decide-delay.ts';
import type { Cause } from './decision.ts';
import { dueAtOf } from './jitter.ts';
import { noteOutcome } from './outcomes.ts';
import { decide, endPauseInTime, finishPass } from './plan.ts';
import { beginPass, type Pass, settleUndue } from './plan-state.ts';
import type { Plan, PlanInput } from './plan-types.ts';

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
  const keepsInstants = isSameRule && hasSameInstants(input.spec, request.spec);
  // A paused schedule makes no decisions, and an edit of its note or policies is no reason to; but when its slots or their instants go,
  // those that it held must be decided now or never.
  if (pause === null || !keepsInstants || pass.state.ended !== null) {
    const held: { fromAt: number; toAt: number; cause: Cause }[] =
      pause === null ? [] : [{ fromAt: pause.at, toAt: input.now, cause: 'edited' }];
    decide(pass, { held });
    if (pass.stopped !== null) return { plan: finishPass(pass), applied: false };
    settleUndue(pass);
  }
  apply(pass, request, isSameRule, keepsInstants ? pass.state.undue : undueSlot(pass));
  return { plan: finishEdited(pass, request), applied: true };
}

/**
 * With jitter the newest slot may lie in the past and not be due yet. It is the old rule's, and no edit takes it away: it is decided when it
 * falls due. null: there is none.
 */
function undueSlot(pass: Pass): UndueSlot | null {
  const { input, state } = pass;
  const { rule, now } = input;
  if (state.ended !== null) return null;
  const slotAt = rule.kind === 'delay' ? state.nextSlotAt : rule.all.next(state.cursorAt);
  if (slotAt === null || slotAt > now) return null;
  if (state.undue?.slotAt === slotAt) return { ...state.undue, editedAt: now };
  const of = { id: input.id, policies: input.spec.policies };
  return rule.kind === 'delay'
    ? {
        slotAt,
        dueAt: delayDueAt(pass, slotAt),
        editedAt: now,
        previousSlotAt: state.lastFired?.slotAt ?? null,
      }
    : {
        slotAt,
        dueAt: dueAtOf(of, rule.all, slotAt),
        editedAt: now,
        previousSlotAt: rule.open.previous(slotAt),
      };
}

/** Jitter ends before the next slot, also when that is one of another rule. */
function cutBefore(undue: UndueSlot | null, rule: PlanRule): UndueSlot | null {
  if (undue === null || rule.kind === 'delay') return undue;
  const nextAt = rule.all.next(undue.editedAt);
  return nextAt === null ? undue : { ...undue, dueAt: Math.min(undue.dueAt, nextAt - 1) };
}

function apply(pass: Pass, request: EditRequest, isSameRule: boolean, undue: UndueSlot | null): void {
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
    keepUndue(pass, undue, request.ruleFor(state.anchorAt));
    return;
  }
  // Another `startAt`, or none, is the same rate: without one it counts from when it was made.
  if (!hasSameWrittenRule(input.spec, request.spec)) state.anchorAt = now;
  const freeAt = isDecided(pass, now) ? now + 1 : now;
  state.cursorAt = now;
  if (state.pause !== null) state.pause = { ...state.pause, at: now };
  const rule = request.ruleFor(state.anchorAt);
  changeRule(pass, rule, request.spec.policies.startAt, freeAt);
  keepUndue(pass, undue, rule);
}

/** The next slot to decide is the one that the edit found. */
function keepUndue({ state }: Pass, undue: UndueSlot | null, rule: PlanRule): void {
  state.undue = cutBefore(undue, rule);
  if (undue === null) return;
  state.cursorAt = undue.slotAt - 1;
  if (rule.kind === 'calendar') return;
  state.nextSlotAt = undue.slotAt;
  state.outstanding = null;
}

/** An earlier `startAt`, or none, makes no slots of the past: what came before the old one was none when it came. */
function keepBefore({ state, input }: Pass): void {
  const { startAt } = input.spec.policies;
  if (startAt !== null) state.cursorAt = Math.max(state.cursorAt, Math.min(input.now, startAt - 1));
}

/** Whether an instant is a slot that has its decision: a fixed delay that begins then must not name it once more. */
function isDecided({ state }: Pass, at: number): boolean {
  // The cursor begins at the making, which is a slot only of a fixed delay.
  return state.cursorAt === at && (at > state.bornAt || state.lastFired?.slotAt === at);
}

function changeRule(pass: Pass, rule: PlanRule, startAt: number | null, freeAt: number): void {
  const { state, input } = pass;
  const { now } = input;
  if (rule.kind === 'calendar') {
    state.outstanding = null;
    state.countsFromAt = null;
    // It named the slot that would have come after that run.
    state.skipsComing = false;
    return;
  }
  if (state.outstanding !== null) return;
  const newest = pass.active.at(-1)?.id;
  if (newest !== undefined) {
    state.outstanding = newest;
    state.nextSlotAt = null;
  } else if (input.rule.kind === 'delay' && state.countsFromAt !== null) {
    countFrom(pass, rule, state.countsFromAt, startAt);
    // Shorter than what has passed: due now, and not late.
    state.nextSlotAt = Math.max(state.nextSlotAt ?? now, now);
  } else {
    state.nextSlotAt = Math.max(startAt ?? freeAt, freeAt);
  }
}

/** The rest of the pass under the new spec: when the schedule is due again. */
function finishEdited(pass: Pass, request: EditRequest): Plan {
  const rule = withUndue(request.ruleFor(pass.state.anchorAt), pass.state.undue);
  return finishPass({ ...pass, input: { ...pass.input, spec: request.spec, rule } }, rule);
}
