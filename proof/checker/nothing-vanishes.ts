import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// A deletion holds for at least this long.
const heldMs = 24 * 3_600_000;

/** See `promise`. */
export const nothingVanishes: Invariant = {
  name: 'nothing-vanishes',
  promise:
    'Created = live + finished + audited deletions, nothing is there that nobody created, and a deleted job stays deleted.',
  parts: ['present', 'deleted', 'deleted and asked for again'],
  check({ events, final, isComplete }, { created, deleted, touched, indexOf }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const present = new Set<string>();
    for (const { id } of final.jobs) {
      if (present.has(id)) problems.push({ subjects: [id], message: `Job ${id} is in the store twice.` });
      present.add(id);
      if (isComplete && !created.has(id)) {
        problems.push({ subjects: [id], message: `Job ${id} is in the store, and nobody made it.` });
      }
    }
    for (const [id, acts] of touched) {
      const deletion = acts.findLast(({ verb }) => verb === 'delete');
      if (deletion === undefined || final.at - deletion.at >= heldMs) continue;
      const isAskedAgain = events.some(
        (event, index) =>
          event.kind === 'created' &&
          index > (indexOf.get(deletion) ?? Number.NaN) &&
          event.jobs.some((job) => job.id === id),
      );
      if (isAskedAgain) exercise('deleted and asked for again');
      if (!present.has(id)) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was deleted at ${show(deletion.at)}, and is in the store.`,
      });
    }
    for (const [id, { createdAt }] of created) {
      exercise(deleted.has(id) && !present.has(id) ? 'deleted' : 'present');
      if (present.has(id) || deleted.has(id)) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was created at ${show(createdAt)}; it is neither live nor finished, and no audit row says that it was deleted.`,
      });
    }
    return problems;
  },
};
