import { type PendingSlot, withPendingSlot } from '../definition/pending-slot.ts';
import type { PlanRule } from '../definition/planned-rule.ts';
import { hasSameInstants, hasSameRule, hasSameWrittenRule, type ScheduleSpec } from '../definition/spec.ts';
import { countFrom, delayDueAt } from './decide-delay.ts';
import type { Cause } from './decision.ts';
import { dueAtOf } from './jitter.ts';
import { noteOutcome } from './outcomes.ts';
import { decide, endPauseInTime, finishPlan } from './plan.ts';
import { beginPlan, type PlanState, settlePendingSlot } from './plan-state.ts';
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
  const planState = beginPlan({
    ...input,
    limits: { ...input.limits, catchUpBudget: Number.POSITIVE_INFINITY },
  });
  noteOutcome(planState);
  endPauseInTime(planState);
  const isSameRule = hasSameRule(input.spec, request.spec);
  const { pause } = planState.state;
  const keepsInstants = isSameRule && hasSameInstants(input.spec, request.spec);
  // A paused schedule makes no decisions, and an edit of its note or policies is no reason to; but when its slots or their instants go,
  // those that it held must be decided now or never.
  if (pause === null || !keepsInstants || planState.state.ended !== null) {
    const held: { fromAt: number; toAt: number; cause: Cause }[] =
      pause === null ? [] : [{ fromAt: pause.at, toAt: input.now, cause: 'edited' }];
    decide(planState, { held });
    if (planState.stopped !== null) return { plan: finishPlan(planState), applied: false };
    settlePendingSlot(planState);
  }
  apply(
    planState,
    request,
    isSameRule,
    keepsInstants ? planState.state.pendingSlot : pendingSlotOf(planState),
  );
  return { plan: finishEdited(planState, request), applied: true };
}

/**
 * With jitter, the newest slot of the old rule may have come without being due yet. An edit does not remove it: it is decided when it falls
 * due. null: there is none.
 */
function pendingSlotOf(planState: PlanState): PendingSlot | null {
  const { input, state } = planState;
  const { rule, now } = input;
  if (state.ended !== null) return null;
  const slotAt = rule.kind === 'delay' ? state.nextSlotAt : rule.all.next(state.cursorAt);
  if (slotAt === null || slotAt > now) return null;
  if (state.pendingSlot?.slotAt === slotAt) return { ...state.pendingSlot, editedAt: now };
  const of = { id: input.id, policies: input.spec.policies };
  return rule.kind === 'delay'
    ? {
        slotAt,
        dueAt: delayDueAt(planState, slotAt),
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
function cutBefore(pending: PendingSlot | null, rule: PlanRule): PendingSlot | null {
  if (pending === null || rule.kind === 'delay') return pending;
  const nextAt = rule.all.next(pending.editedAt);
  return nextAt === null ? pending : { ...pending, dueAt: Math.min(pending.dueAt, nextAt - 1) };
}

function apply(
  planState: PlanState,
  request: EditRequest,
  isSameRule: boolean,
  pending: PendingSlot | null,
): void {
  const { state, input } = planState;
  const { now } = input;
  // Whether it is over is asked again: a later `endAt` or more `maxRuns` revive it.
  const wasEnded = state.ended !== null;
  state.ended = null;
  const { pauseAfterFailures, flagAfterFailures } = request.spec.policies;
  if (pauseAfterFailures === null && flagAfterFailures === null) state.watched = [];
  if (isSameRule) {
    const { rule } = input;
    keepBefore(planState);
    if (wasEnded && rule.kind === 'delay' && state.outstanding === null) countFrom(planState, rule, now);
    keepPendingSlot(planState, pending, request.ruleFor(state.anchorAt));
    return;
  }
  // Another `startAt`, or none, is the same rate: without one it counts from when it was made.
  if (!hasSameWrittenRule(input.spec, request.spec)) state.anchorAt = now;
  const freeAt = isDecided(planState, now) ? now + 1 : now;
  state.cursorAt = now;
  if (state.pause !== null) state.pause = { ...state.pause, at: now };
  const rule = request.ruleFor(state.anchorAt);
  changeRule(planState, rule, request.spec.policies.startAt, freeAt);
  keepPendingSlot(planState, pending, rule);
}

/** Makes the pending slot the next one to decide. */
function keepPendingSlot({ state }: PlanState, pending: PendingSlot | null, rule: PlanRule): void {
  state.pendingSlot = cutBefore(pending, rule);
  if (pending === null) return;
  state.cursorAt = pending.slotAt - 1;
  if (rule.kind === 'calendar') return;
  state.nextSlotAt = pending.slotAt;
  state.outstanding = null;
}

/** An earlier `startAt`, or none, makes no slots of the past: what came before the old one was none when it came. */
function keepBefore({ state, input }: PlanState): void {
  const { startAt } = input.spec.policies;
  if (startAt !== null) state.cursorAt = Math.max(state.cursorAt, Math.min(input.now, startAt - 1));
}

/** Whether an instant is a slot that has its decision: a fixed delay that begins then must not name it once more. */
function isDecided({ state }: PlanState, at: number): boolean {
  // The cursor begins at the making, which is a slot only of a fixed delay.
  return state.cursorAt === at && (at > state.bornAt || state.lastFired?.slotAt === at);
}

function changeRule(planState: PlanState, rule: PlanRule, startAt: number | null, freeAt: number): void {
  const { state, input } = planState;
  const { now } = input;
  if (rule.kind === 'calendar') {
    state.outstanding = null;
    state.countsFromAt = null;
    // It named the slot that would have come after that run.
    state.skipsComing = false;
    return;
  }
  if (state.outstanding !== null) return;
  const newest = planState.active.at(-1)?.id;
  if (newest !== undefined) {
    state.outstanding = newest;
    state.nextSlotAt = null;
  } else if (input.rule.kind === 'delay' && state.countsFromAt !== null) {
    countFrom(planState, rule, state.countsFromAt, startAt);
    // Shorter than what has passed: due now, and not late.
    state.nextSlotAt = Math.max(state.nextSlotAt ?? now, now);
  } else {
    state.nextSlotAt = Math.max(startAt ?? freeAt, freeAt);
  }
}

/** The rest of the pass under the new spec: when the schedule is due again. */
function finishEdited(planState: PlanState, request: EditRequest): Plan {
  const rule = withPendingSlot(request.ruleFor(planState.state.anchorAt), planState.state.pendingSlot);
  return finishPlan({ ...planState, input: { ...planState.input, spec: request.spec, rule } }, rule);
}
