import { firedReason } from './catch-up.ts';
import { makeRun, mergeInto, noteFired } from './create-run.ts';
import { type Cause, reasons } from './decision.ts';
import { overlapFate } from './overlap.ts';
import { type Pass, recordSlot } from './plan-state.ts';

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
export function fireSlot(pass: Pass, slot: SlotToFire): void {
  const { slotAt, dueAt, cause } = slot;
  const { startDeadlineMs } = pass.input.spec.policies;
  if (startDeadlineMs !== null && pass.input.now > dueAt + startDeadlineMs) {
    recordSlot(pass, slotAt, 'expired', reasons.startDeadline);
    return;
  }
  const fate = overlapFate(pass);
  switch (fate.kind) {
    case 'skip':
      recordSlot(pass, slotAt, 'skipped', fate.reason);
      return;
    case 'merge':
      recordSlot(pass, slotAt, 'merged', reasons.overlap);
      mergeInto(pass, fate.into, slotAt);
      return;
    case 'look':
      pass.stopped = 'look';
      return;
    case 'make': {
      if (cause !== null && pass.catchUpBudget <= 0) {
        pass.stopped = 'budget';
        return;
      }
      if (cause !== null) pass.catchUpBudget -= 1;
      const run = makeRun(pass, {
        slotAt,
        dueAt,
        origin: 'schedule',
        isCatchUp: cause !== null,
        previousSlotAt: slot.previousSlotAt(),
        nextSlotAt: slot.nextSlotAt(),
        covers: pass.state.covers,
        fate,
      });
      noteFired(pass, slotAt, run.id);
      recordSlot(pass, slotAt, 'fired', cause === null ? null : firedReason(cause), run.id);
    }
  }
}
