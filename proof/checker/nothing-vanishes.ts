import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const nothingVanishes: Invariant = {
  name: 'nothing-vanishes',
  promise: 'Created = live + finished + audited deletions, and nothing is there that nobody made.',
  parts: ['present', 'deleted'],
  check({ final, isComplete }, { made, deleted }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const present = new Set<string>();
    for (const { id } of final.jobs) {
      if (present.has(id)) problems.push({ subjects: [id], message: `Job ${id} is in the store twice.` });
      present.add(id);
      if (isComplete && !made.has(id)) {
        problems.push({ subjects: [id], message: `Job ${id} is in the store, and nobody made it.` });
      }
    }
    for (const [id, { madeAt }] of made) {
      exercise(deleted.has(id) && !present.has(id) ? 'deleted' : 'present');
      if (present.has(id) || deleted.has(id)) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was made at ${show(madeAt)}; it is neither live nor finished, and no audit row says that it was deleted.`,
      });
    }
    return problems;
  },
};
