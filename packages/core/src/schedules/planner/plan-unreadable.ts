/** What can be done to a schedule whose rule cannot be read here: nothing fires, and what is known of its slots stays. */
import type { SlotRow } from '../../contract/engine.ts';
import { reasons } from './decision.ts';
import { noteOutcome } from './outcomes.ts';
import { endPause, endPauseInTime, finishPlan } from './plan.ts';
import { type PauseRequest, planPause } from './plan-operations.ts';
import { beginPlan } from './plan-state.ts';
import type { Plan, PlanInput } from './plan-types.ts';

/** Stops decisions. */
export function planPauseUnreadable(input: PlanInput, request: PauseRequest): Plan {
  const plan = planPause(input, request);
  return withoutRule(input, plan, plan.state.pause?.untilAt ?? null);
}

/** Ends the pause, and leaves what fell in it to a node that can read the rule: the schedule is due at once. */
export function planResumeUnreadable(input: PlanInput): Plan {
  const planState = beginPlan(input);
  noteOutcome(planState);
  endPauseInTime(planState);
  endPause(planState, input.now);
  return withoutRule(input, finishPlan(planState), input.state.ended === null ? input.now : null);
}

/**
 * What a deletion decides: what had come is `missed`, from the next slot that a node which could read the rule left behind up to now, as one row
 * that is not counted. Which instants in it are slots is asked of the rule by who can read it.
 */
export function planDeleteUnreadable({ rule, spec, state, now, node }: PlanInput): SlotRow[] {
  const { maxRuns, endAt } = spec.policies;
  const { nextSlotAt: fromAt, ended, firedCount } = state;
  if (fromAt === null || ended !== null || (maxRuns !== null && firedCount >= maxRuns)) return [];
  const toAt = rule.kind === 'delay' ? Math.min(fromAt, now) : Math.min(now, endAt ?? now);
  if (toAt < fromAt) return [];
  const count = fromAt === toAt ? 1 : null;
  return [{ fromAt, toAt, count, decision: 'missed', reason: reasons.deleted, node, jobId: null }];
}

/** A rule that names nothing looks as if it were over; it is not. */
function withoutRule({ state }: PlanInput, plan: Plan, dueAt: number | null): Plan {
  const { nextSlotAt, ended, skips } = state;
  return {
    ...plan,
    state: { ...plan.state, nextSlotAt, ended, skips },
    dueAt,
    events: plan.events.filter(({ kind }) => kind !== 'ended'),
  };
}
