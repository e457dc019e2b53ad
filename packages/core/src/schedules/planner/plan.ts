import type { PlanRule } from '../definition/planned-rule.ts';
import { createState } from '../definition/state.ts';
import { awaitOutstanding, decideDelay, delayDueAt } from './decide-delay.ts';
import { decideDue } from './decide-due.ts';
import type { Cause } from './decision.ts';
import { dueAtOf } from './jitter.ts';
import { noteOutcome } from './outcomes.ts';
import { beginPlan, type PlanState, settlePendingSlot } from './plan-state.ts';
import type { Plan, PlanInput } from './plan-types.ts';

/** A catch-up budget refills within a second, so a pass that spent it continues after one. */
const budgetRefillMs = 1_000;

/**
 * Decides what is due: slots in, decisions and runs out. Pure: the same input gives the same plan on every node. The order in
 * which policies decide is that of docs/reference/semantics.md.
 */
export function plan(input: PlanInput): Plan {
  const planState = beginPlan(input);
  noteOutcome(planState);
  endPauseInTime(planState);
  decide(planState);
  return finishPlan(planState);
}

/** The first state of a schedule, and when it is due. `rule` is made with this `now` as its anchor. */
export function planCreate(input: Omit<PlanInput, 'state' | 'active' | 'activeCount' | 'waited'>): Plan {
  const { rule, spec, now } = input;
  const state = {
    ...createState(now),
    nextSlotAt: rule.kind === 'delay' ? Math.max(spec.policies.startAt ?? now, now) : null,
  };
  return finishPlan(beginPlan({ ...input, state, active: [], activeCount: 0, waited: null }));
}

/** Decides the slots that are due, unless the schedule is paused or over. */
export function decide(
  planState: PlanState,
  edit: { held: { fromAt: number; toAt: number; cause: Cause }[] } | null = null,
): void {
  const { state, input } = planState;
  const { rule } = input;
  if (rule.kind === 'delay' && awaitOutstanding(planState, rule)) return;
  if (edit === null && (state.pause !== null || state.ended !== null)) return;
  const held = [...state.held.map((span) => ({ ...span, cause: 'paused' as const })), ...(edit?.held ?? [])];
  const lateCause = edit === null ? 'late' : 'edited';
  if (rule.kind === 'delay') {
    decideDelay(planState, rule, { held, lateCause });
  } else {
    // What a stopped pass left over is judged as it was then, so that its limits and windows still mean the same slots.
    if (state.asOfAt !== null) decideAsOf(planState, state.asOfAt, held, state.asOfCause);
    if (planState.stopped === null) decideAsOf(planState, input.now, held, lateCause);
  }
  if (planState.stopped !== null) return;
  state.held = [];
}

function decideAsOf(
  planState: PlanState,
  asOfAt: number,
  held: { fromAt: number; toAt: number; cause: Cause }[],
  lateCause: 'late' | 'edited',
): void {
  const { rule } = planState.input;
  if (rule.kind === 'delay') return;
  decideDue(planState, { rule, asOfAt, held, lateCause });
  planState.state.asOfAt = planState.stopped === null ? null : asOfAt;
  planState.state.asOfCause = planState.stopped === null ? 'late' : lateCause;
}

/** Ends a pause whose time is over. What falls due at that very instant is no longer the pause's. */
export function endPauseInTime(planState: PlanState): void {
  const { state, input } = planState;
  const untilAt = state.pause?.untilAt ?? null;
  if (untilAt !== null && untilAt <= input.now) endPause(planState, untilAt - 1);
}

/** Ends the pause; what fell due in it is left to `onResume`. */
export function endPause(planState: PlanState, at: number): void {
  const { state } = planState;
  if (state.pause === null) return;
  if (at > state.pause.at) state.held = [...state.held, { fromAt: state.pause.at, toAt: at }];
  state.pause = null;
  state.failureCount = 0;
  planState.events.push({ kind: 'resumed' });
}

/** Sums a pass up: the new state, and when the schedule is due again. */
export function finishPlan(planState: PlanState, rule: PlanRule = planState.input.rule): Plan {
  const { state } = planState;
  settlePendingSlot(planState);
  const dueAt = nextDueAt(planState, rule);
  // The first slot of a fixed delay is the making itself, where the cursor stands.
  state.skips = state.skips.filter((at) => at > state.cursorAt || at === state.nextSlotAt);
  return {
    state,
    dueAt,
    waitsFor: state.outstanding ?? state.watched[0] ?? null,
    slots: planState.rows,
    runs: planState.runs,
    cancel: planState.cancel,
    mergedInto: [...planState.mergedInto].map(([id, covers]) => ({ id, covers })),
    more: planState.stopped !== null,
    events: planState.events,
  };
}

function nextDueAt(planState: PlanState, rule: PlanRule): number | null {
  const { state, input } = planState;
  if (rule.kind === 'calendar') {
    state.nextSlotAt = state.ended === null ? rule.all.next(state.cursorAt) : null;
    if (state.nextSlotAt === null && state.ended === null) {
      state.ended = 'rule';
      planState.events.push({ kind: 'ended', reason: 'rule' });
    }
  }
  if (state.ended !== null) return null;
  if (state.pause !== null) return state.pause.untilAt;
  if (planState.stopped !== null)
    return planState.stopped === 'budget' ? input.now + budgetRefillMs : input.now;
  if (state.asOfAt !== null) return input.now;
  if (state.nextSlotAt === null) return null;
  return rule.kind === 'delay'
    ? delayDueAt(planState, state.nextSlotAt)
    : dueAtOf({ id: input.id, policies: input.spec.policies }, rule.all, state.nextSlotAt);
}
