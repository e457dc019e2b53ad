/** What can be done to a schedule whose rule cannot be read here: nothing is decided, and what is known of its slots stays. */
import { noteOutcome } from './outcomes.ts';
import { beginPass } from './pass.ts';
import { endPause, endPauseInTime, finishPass } from './plan.ts';
import { type PauseRequest, planPause } from './plan-operations.ts';
import type { Plan, PlanInput } from './plan-types.ts';

/** Stops decisions. */
export function planPauseUnread(input: PlanInput, request: PauseRequest): Plan {
  const plan = planPause(input, request);
  return withoutRule(input, plan, plan.state.pause?.untilAt ?? null);
}

/** Ends the pause, and leaves what fell in it to a node that can read the rule: the schedule is due at once. */
export function planResumeUnread(input: PlanInput): Plan {
  const pass = beginPass(input);
  noteOutcome(pass);
  endPauseInTime(pass);
  endPause(pass, input.now);
  return withoutRule(input, finishPass(pass), input.state.ended === null ? input.now : null);
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
