/** What a decision or an edit of a schedule does to its runs and its ledger. */

import type { FireGroup, JobSpec, SlotRow } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { readJobState } from '../job-state.ts';
import type { Work } from '../work.ts';
import { cancelJob } from './act.ts';

/** Cancels the runs that a decision or an edit ends. */
export function endOthers(work: Work, others: FireGroup['cancel'], actor: string): void {
  for (const { id, mode } of others) {
    const job = readJobState(work, id);
    if (job !== undefined) cancelJob(work, job, mode, { actor, note: 'overlap policy' });
  }
}

/** Whether all runs whose slot details change still wait. */
export function allWait(work: Work, slotDetails: NonNullable<FireGroup['slotDetails']>): boolean {
  return slotDetails.every(({ id }) => work.get(statements.schedule.waits, id) !== undefined);
}

/** Sets new slot details of runs that wait. */
export function setSlotDetails(work: Work, slotDetails: NonNullable<FireGroup['slotDetails']>): void {
  for (const { id, details } of slotDetails) work.run(statements.schedule.setSlotDetails, details, id);
}

/**
 * Whether a schedule would wait for a job that has already ended. A job of the same write counts as live: if
 * it ends in this write, its end makes the schedule due.
 */
export function waitsInVain(
  work: Work,
  { waitsFor, jobs }: { waitsFor: string | null; jobs: readonly JobSpec[] },
): boolean {
  if (waitsFor === null || jobs.some(({ id }) => id === waitsFor)) return false;
  return readJobState(work, waitsFor) === undefined;
}

/** Writes a ledger row, or extends the newest one if it has the same decision and no job. */
export function addSlot(work: Work, scheduleId: string, generation: number, slot: SlotRow): void {
  // A slot with a job always has a row of its own.
  const last =
    slot.jobId !== null
      ? undefined
      : work.get<{
          from_at: number;
          count: number | null;
          decision: string;
          reason: string | null;
          job_id: string | null;
        }>(statements.schedule.lastSlot, scheduleId, generation);
  const isSameRun =
    last !== undefined &&
    last.job_id === null &&
    last.decision === slot.decision &&
    last.reason === slot.reason &&
    last.from_at < slot.fromAt;
  if (isSameRun) {
    const count = last.count === null || slot.count === null ? null : last.count + slot.count;
    const { toAt } = slot;
    work.run(statements.schedule.extendSlot, toAt, count, work.now, scheduleId, generation, last.from_at);
    return;
  }
  work.run(
    statements.schedule.addSlot,
    scheduleId,
    generation,
    slot.fromAt,
    slot.toAt,
    slot.count,
    slot.decision,
    slot.reason,
    slot.node,
    slot.jobId,
    work.now,
    work.now,
  );
}
