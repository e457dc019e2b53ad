import type { DelayRule } from '../definition/plan-rule.ts';
import { beginChoice, missedReason } from './catch-up.ts';
import { fireSlot } from './decide-slot.ts';
import { type Cause, reasons } from './decision.ts';
import { graceMsOf } from './grace.ts';
import { jitterOffsetMs } from './jitter.ts';
import { addCovers, type Pass, recordSlot } from './plan-state.ts';

/** The instant at which a slot of a fixed delay falls due. */
export function delayDueAt({ input, state }: Pass, slotAt: number): number {
  if (state.undue?.slotAt === slotAt) return state.undue.dueAt;
  return slotAt + jitterOffsetMs({ id: input.id, policies: input.spec.policies }, slotAt);
}

/** Names the next slot once the run it counts from is over; true while that run is not. */
export function awaitOutstanding(pass: Pass, rule: DelayRule): boolean {
  const { state, input } = pass;
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
  countFrom(pass, rule, endedAt);
  return false;
}

/** The delay begins anew at an instant. No slot comes before `startAt`, also when that was set while the schedule ran. */
export function countFrom(
  pass: Pass,
  rule: DelayRule,
  at: number,
  startAt: number | null = pass.input.spec.policies.startAt,
): void {
  const { state } = pass;
  state.countsFromAt = at;
  state.nextSlotAt = Math.max(at + rule.delayMs, startAt ?? 0);
  if (state.skipsComing) {
    state.skips = [...state.skips, state.nextSlotAt];
    state.skipsComing = false;
  }
}

/** Decides the one slot of a fixed delay, if it is due. Whatever does not fire restarts the delay. */
export function decideDelay(
  pass: Pass,
  rule: DelayRule,
  { held, lateCause }: { held: readonly { fromAt: number; toAt: number; cause: Cause }[]; lateCause: Cause },
): void {
  const { state, input } = pass;
  const { policies } = input.spec;
  const slotAt = state.nextSlotAt;
  if (slotAt === null) return;
  const dueAt = delayDueAt(pass, slotAt);
  if (dueAt > input.now) return;
  const isPastEnd = policies.endAt !== null && slotAt > policies.endAt;
  const isEnough = policies.maxRuns !== null && state.firedCount >= policies.maxRuns;
  if (isPastEnd || isEnough) {
    const reason = isEnough ? reasons.maxRuns : reasons.endAt;
    recordSlot(pass, slotAt, 'ended', reason);
    state.ended = reason;
    state.nextSlotAt = null;
    pass.events.push({ kind: 'ended', reason });
    return;
  }
  if (rule.isExcluded(slotAt)) recordSlot(pass, slotAt, 'excluded', reasons.excluded);
  else if (state.skips.includes(slotAt)) recordSlot(pass, slotAt, 'skipped', reasons.skipNext);
  else {
    const isLate = input.now - dueAt > graceMsOf(null, slotAt, input.limits.leaseMs);
    const heldCause = held.find((span) => span.fromAt < dueAt && dueAt <= span.toAt)?.cause;
    decideByCause(pass, slotAt, dueAt, heldCause ?? (isLate ? lateCause : null));
  }
  if (pass.stopped === null && state.outstanding === null) countFrom(pass, rule, input.now);
}

function decideByCause(pass: Pass, slotAt: number, dueAt: number, cause: Cause | null): void {
  const { state, input } = pass;
  if (cause !== null) {
    const choice = beginChoice(input.spec.policies, cause, input.now);
    const isBeyond = dueAt < choice.windowFromAt;
    if (choice.count === 0 || isBeyond) {
      const reason = isBeyond ? reasons.beyondWindow : missedReason(cause, choice.mode);
      state.covers = addCovers(state.covers, { fromAt: slotAt, toAt: slotAt, count: 1 });
      recordSlot(pass, slotAt, 'missed', reason);
      return;
    }
  }
  const others = pass.active.at(-1)?.id ?? null;
  fireSlot(pass, { slotAt, dueAt, cause, previousSlotAt: () => lastSlotAt(pass), nextSlotAt: () => null });
  if (pass.stopped !== null) return;
  // The next slot counts from the end of the run it made or, where another run stood in its way, of that one.
  const made = pass.runs.find((run) => run.slotAt === slotAt);
  if (made !== undefined) waitFor(pass, made.id);
  else if (pass.rows.at(-1)?.decision === 'skipped' && others !== null) waitFor(pass, others);
}

function waitFor(pass: Pass, runId: string): void {
  pass.state.outstanding = runId;
  pass.state.nextSlotAt = null;
  pass.state.countsFromAt = null;
}

function lastSlotAt({ state }: Pass): number | null {
  return state.lastFired?.slotAt ?? null;
}
