import { isOver, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

const patienceMs = 5_000;

/** See `promise`. */
export const schedulesLive: Invariant = {
  name: 'schedules-live',
  promise: 'Nothing that becomes of a job, deletion included, stops its schedule.',
  parts: ['live', 'job deleted'],
  check({ final, isSettled }, { created, deleted }, exercise) {
    if (!isSettled) return [];
    const problems: ReturnType<Invariant['check']> = [];
    const jobs = new Map(final.jobs.map((job) => [job.id, job]));
    const deletedOf = new Set(
      [...created.values()].map((job) => (deleted.has(job.id) ? job.slot?.scheduleId : undefined)),
    );
    for (const { id, dueAt, waitsFor, state } of final.schedules) {
      // Stored is only what differs from a new schedule's state.
      const { pause = null, ended = null } = JSON.parse(state) as { pause?: unknown; ended?: unknown };
      if (pause === null && ended === null) exercise(deletedOf.has(id) ? 'job deleted' : 'live');
      if (dueAt !== null && dueAt < final.at - patienceMs) {
        problems.push({
          subjects: [id],
          message: `Schedule ${id} is due since ${show(dueAt)}, and nobody decides it.`,
        });
      }
      if (dueAt !== null || pause !== null || ended !== null) continue;
      const awaited = waitsFor === null ? undefined : jobs.get(waitsFor);
      if (awaited !== undefined && !isOver(awaited)) continue;
      problems.push({
        subjects: [id],
        message: `Schedule ${id} is neither paused nor over, is not due at any time, and waits for ${waitsFor ?? 'nothing'}${awaited === undefined ? '' : `, which is ${awaited.status}`}.`,
      });
    }
    return problems;
  },
};
