import { firedReason } from './catch-up.ts';
import { createRun, mergeInto, noteFired } from './create-run.ts';
import { type Cause, reasons } from './decision.ts';
import { overlapFate } from './overlap.ts';
import { type PlanState, recordSlot } from './plan-state.ts';

/** A slot that nothing before the deadline and the overlap rule has decided. */
export interface SlotToFire {
  slotAt: number;
  dueAt: number;
  /** Why it was not decided when it came; null: it is in time. */
  cause: Cause | null;
  previousSlotAt(): number | null;
  nextSlotAt(): number | null;
}

/** The end of the order: past its start deadline, overlapping, or fired. May stop the pass instead; then nothing is decided. */
export function fireSlot(planState: PlanState, slot: SlotToFire): void {
  const { slotAt, dueAt, cause } = slot;
  const { startDeadlineMs } = planState.input.spec.policies;
  if (startDeadlineMs !== null && planState.input.now > dueAt + startDeadlineMs) {
    recordSlot(planState, slotAt, 'expired', reasons.startDeadline);
    return;
  }
  const fate = overlapFate(planState);
  switch (fate.kind) {
    case 'skip':
      recordSlot(planState, slotAt, 'skipped', fate.reason);
      return;
    case 'merge':
      recordSlot(planState, slotAt, 'merged', reasons.overlap);
      mergeInto(planState, fate.into, slotAt);
      return;
    case 'look':
      planState.stopped = 'look';
      return;
    case 'create': {
      if (cause !== null && planState.catchUpBudget <= 0) {
        planState.stopped = 'budget';
        return;
      }
      if (cause !== null) planState.catchUpBudget -= 1;
      const run = createRun(planState, {
        slotAt,
        dueAt,
        origin: 'schedule',
        isCatchUp: cause !== null,
        previousSlotAt: slot.previousSlotAt(),
        nextSlotAt: slot.nextSlotAt(),
        covers: planState.state.covers,
        fate,
      });
      noteFired(planState, slotAt, run.id);
      recordSlot(planState, slotAt, 'fired', cause === null ? null : firedReason(cause), run.id);
    }
  }
}
