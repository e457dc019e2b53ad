import type { DelayRule } from '../definition/planned-rule.ts';
import { beginChoice, missedReason } from './catch-up.ts';
import { fireSlot } from './decide-slot.ts';
import { type Cause, reasons } from './decision.ts';
import { graceMsOf } from './grace.ts';
import { jitterOffsetMs } from './jitter.ts';
import { addCovers, type PlanState, recordSlot } from './plan-state.ts';

/** The instant at which a slot of a fixed delay falls due. */
export function delayDueAt({ input, state }: PlanState, slotAt: number): number {
  if (state.pendingSlot?.slotAt === slotAt) return state.pendingSlot.dueAt;
  return slotAt + jitterOffsetMs({ id: input.id, policies: input.spec.policies }, slotAt);
}

/** Names the next slot once the run it counts from is over; true while that run is not. */
export function awaitOutstanding(planState: PlanState, rule: DelayRule): boolean {
  const { state, input } = planState;
  const { outstanding } = state;
  if (outstanding === null) return false;
  let endedAt: number;
  if (input.waited?.id === outstanding) {
    endedAt = input.waited.finishedAt;
  } else {
    // Not among the unfinished and not told as finished: someone deleted it. The schedule goes on from here.
    const mayRun =
      input.active.some(({ id }) => id === outstanding) || input.activeCount > input.active.length;
    if (mayRun) return true;
    endedAt = input.now;
  }
  state.outstanding = null;
  countFrom(planState, rule, endedAt);
  return false;
}

/** The delay begins anew at an instant. No slot comes before `startAt`, also when that was set while the schedule ran. */
export function countFrom(
  planState: PlanState,
  rule: DelayRule,
  at: number,
  startAt: number | null = planState.input.spec.policies.startAt,
): void {
  const { state } = planState;
  state.countsFromAt = at;
  state.nextSlotAt = Math.max(at + rule.delayMs, startAt ?? 0);
  if (state.skipsComing) {
    state.skips = [...state.skips, state.nextSlotAt];
    state.skipsComing = false;
  }
}

/** Decides the one slot of a fixed delay, if it is due. Whatever does not fire restarts the delay. */
export function decideDelay(
  planState: PlanState,
  rule: DelayRule,
  { held, lateCause }: { held: readonly { fromAt: number; toAt: number; cause: Cause }[]; lateCause: Cause },
): void {
  const { state, input } = planState;
  const { policies } = input.spec;
  const slotAt = state.nextSlotAt;
  if (slotAt === null) return;
  const dueAt = delayDueAt(planState, slotAt);
  if (dueAt > input.now) return;
  const isPastEnd = policies.endAt !== null && slotAt > policies.endAt;
  const isEnough = policies.maxRuns !== null && state.firedCount >= policies.maxRuns;
  if (isPastEnd || isEnough) {
    const reason = isEnough ? reasons.maxRuns : reasons.endAt;
    recordSlot(planState, slotAt, 'ended', reason);
    state.ended = reason;
    state.nextSlotAt = null;
    planState.events.push({ kind: 'ended', reason });
    return;
  }
  if (rule.isExcluded(slotAt)) recordSlot(planState, slotAt, 'excluded', reasons.excluded);
  else if (state.skips.includes(slotAt)) recordSlot(planState, slotAt, 'skipped', reasons.skipNext);
  else {
    const isLate = input.now - dueAt > graceMsOf(null, slotAt, input.limits.leaseMs);
    const heldCause = held.find((span) => span.fromAt < dueAt && dueAt <= span.toAt)?.cause;
    decideByCause(planState, slotAt, dueAt, heldCause ?? (isLate ? lateCause : null));
  }
  if (planState.stopped === null && state.outstanding === null) countFrom(planState, rule, input.now);
}

function decideByCause(planState: PlanState, slotAt: number, dueAt: number, cause: Cause | null): void {
  const { state, input } = planState;
  if (cause !== null) {
    const choice = beginChoice(input.spec.policies, cause, input.now);
    const isBeyond = dueAt < choice.windowFromAt;
    if (choice.count === 0 || isBeyond) {
      const reason = isBeyond ? reasons.beyondWindow : missedReason(cause, choice.mode);
      state.covers = addCovers(state.covers, { fromAt: slotAt, toAt: slotAt, count: 1 });
      recordSlot(planState, slotAt, 'missed', reason);
      return;
    }
  }
  const others = planState.active.at(-1)?.id ?? null;
  fireSlot(planState, {
    slotAt,
    dueAt,
    cause,
    previousSlotAt: () => lastSlotAt(planState),
    nextSlotAt: () => null,
  });
  if (planState.stopped !== null) return;
  // The next slot counts from the end of the run it made or, where another run stood in its way, of that one.
  const created = planState.runs.find((run) => run.slotAt === slotAt);
  if (created !== undefined) waitFor(planState, created.id);
  else if (planState.rows.at(-1)?.decision === 'skipped' && others !== null) waitFor(planState, others);
}

function waitFor(planState: PlanState, runId: string): void {
  planState.state.outstanding = runId;
  planState.state.nextSlotAt = null;
  planState.state.countsFromAt = null;
}

function lastSlotAt({ state }: PlanState): number | null {
  return state.lastFired?.slotAt ?? null;
}
