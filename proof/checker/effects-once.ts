import type { Invariant } from './invariant.ts';

/** The task whose handler completes its job in its own transaction, together with its effect. */
const chargeType = 'charge';

/** See `promise`. */
export const effectsOnce: Invariant = {
  name: 'effects-once',
  promise:
    'What a handler did in the transaction that completed its job is there once if the job is COMPLETED, by the attempt that completed it, and else not at all.',
  parts: ['one attempt', 'several attempts'],
  check({ final }, { deleted }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    if (final.own === undefined) return problems;
    const effects = new Map<string, number[]>();
    for (const { job, fence } of final.own.effects) effects.set(job, [...(effects.get(job) ?? []), fence]);
    const jobs = new Map(final.jobs.map((job) => [job.id, job]));
    for (const id of effects.keys()) {
      if (jobs.has(id) || deleted.has(id)) continue;
      problems.push({ subjects: [id], message: `Job ${id} left its effect, and is not in the store.` });
    }
    for (const { id, type, status, attempts } of final.jobs) {
      if (type !== chargeType) continue;
      if (attempts.length > 0) exercise(attempts.length === 1 ? 'one attempt' : 'several attempts');
      const fences = effects.get(id) ?? [];
      const last = attempts.at(-1)?.fence;
      const isRight =
        status === 'COMPLETED' ? fences.length === 1 && fences[0] === last : fences.length === 0;
      if (isRight) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} is ${status} (last fence ${last ?? 'none'}); effects are there of the fences [${fences.join(', ')}].`,
      });
    }
    return problems;
  },
};
