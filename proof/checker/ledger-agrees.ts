import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const ledgerAgrees: Invariant = {
  name: 'ledger-agrees',
  promise: 'A slot is recorded as fired if and only if exactly one job was created for it.',
  check({ final }, { deleted, created }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const jobs = new Map(final.jobs.map((job) => [job.id, job]));
    const slotOf = (scheduleId: string, generation: number, slotAt: number): string =>
      `${scheduleId}/${generation}/${slotAt}`;
    const fired = new Map<string, string>();
    for (const [scheduleId, rows] of Object.entries(final.ledger)) {
      for (const row of rows) {
        if (row.decision !== 'fired') {
          if (row.jobId === null) continue;
          problems.push({
            subjects: [scheduleId, row.jobId],
            message: `${scheduleId} slot ${show(row.fromAt)} is ${row.decision} and names job ${row.jobId}.`,
          });
          continue;
        }
        exercise();
        const job = row.jobId === null ? undefined : jobs.get(row.jobId);
        if (row.jobId === null || (job === undefined && !deleted.has(row.jobId))) {
          problems.push({
            subjects: [scheduleId],
            message: `${scheduleId} slot ${show(row.fromAt)} is recorded as fired, and its job ${row.jobId} does not exist.`,
          });
          continue;
        }
        if (job !== undefined && job.slot?.slotAt !== row.fromAt) {
          problems.push({
            subjects: [scheduleId, row.jobId],
            message: `${scheduleId} slot ${show(row.fromAt)} names job ${row.jobId}, which was created for ${show(job.slot?.slotAt ?? null)}.`,
          });
        }
        fired.set(slotOf(scheduleId, row.generation, row.fromAt), row.jobId);
      }
    }
    const counted = new Map<string, string>();
    for (const { id, slot, origin } of [...final.jobs, ...created.values()]) {
      if (slot === null || origin !== 'schedule' || slot.slotAt === null) continue;
      const key = slotOf(slot.scheduleId, slot.generation, slot.slotAt);
      const other = counted.get(key);
      if (other !== undefined && other !== id) {
        problems.push({
          subjects: [slot.scheduleId, id, other],
          message: `${slot.scheduleId} slot ${show(slot.slotAt)} has two jobs: ${other} and ${id}.`,
        });
      }
      counted.set(key, id);
      if (fired.get(key) === id || other === id) continue;
      problems.push({
        subjects: [slot.scheduleId, id],
        message: `Job ${id} was created for slot ${show(slot.slotAt)} of ${slot.scheduleId}, and the ledger says ${fired.get(key) ?? 'nothing'}.`,
      });
    }
    return problems;
  },
};
