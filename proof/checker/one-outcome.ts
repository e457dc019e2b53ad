import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const oneOutcome: Invariant = {
  name: 'one-outcome',
  promise:
    'At most one outcome is accepted per attempt, and none under a fence that is dead; who sends one again that was accepted is told so.',
  parts: ['accepted', 'sent again', 'dead fence'],
  check({ final, isComplete }, { settled, accepted: firsts, leases, touched }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const [id, all] of settled) {
      const accepted = new Map<number, (typeof all)[number]>();
      for (const one of all) {
        const before = accepted.get(one.fence);
        if (one.repeat && before !== undefined) exercise('sent again');
        else exercise(one.result === 'done' ? 'accepted' : 'dead fence');
        if (one.result !== 'done') {
          // Of one that was given back untouched nothing is kept by which it could be known again.
          const isKnown = isComplete && one.repeat && before?.to === one.to && one.reason !== 'released';
          if (isKnown && final.jobs.some((job) => job.id === id)) {
            problems.push({
              subjects: [id],
              message: `Job ${id}: ${one.to} under fence ${one.fence} was accepted at ${show(before.at)}, and sent again at ${show(one.at)} it was called lost.`,
            });
          }
          continue;
        }
        if (before === undefined) accepted.set(one.fence, one);
        // Sent again after an unknown outcome: the same answer, and nothing was done.
        const isRepeat = before !== undefined && one.repeat && one.to === before.to;
        if (before !== undefined && !isRepeat) {
          problems.push({
            subjects: [id],
            message: `Job ${id}: two outcomes were accepted under fence ${one.fence}: ${before.to} at ${show(before.at)} and ${one.to} at ${show(one.at)}.`,
          });
        }
        // Sent again after a lost answer: it counted when the first arrived, and nobody noted when that was.
        if (one.repeat && !isComplete) continue;
        const newer = leases
          .get(id)
          ?.find((lease) => lease.fence > one.fence && lease.at < one.at && before === undefined);
        if (newer !== undefined) {
          problems.push({
            subjects: [id],
            message: `Job ${id}: ${one.node} settled it under fence ${one.fence} at ${show(one.at)}, though fence ${newer.fence} was given to ${newer.node} at ${show(newer.at)}.`,
          });
        }
      }
      const last = firsts.get(id)?.at(-1);
      const job = final.jobs.find((one) => one.id === id);
      const isTouched = (touched.get(id) ?? []).some(({ at }) => last !== undefined && at >= last.at);
      // A terminal outcome stays unless a person brings the job back.
      if (
        last !== undefined &&
        (last.to === 'COMPLETED' || last.to === 'FAILED' || last.to === 'CANCELLED') &&
        job !== undefined &&
        job.status !== last.to &&
        !isTouched
      ) {
        problems.push({
          subjects: [id],
          message: `Job ${id} was settled ${last.to} at ${show(last.at)} and is ${job.status} at the end.`,
        });
      }
    }
    for (const { id, attempts } of final.jobs) {
      for (const [i, attempt] of attempts.entries()) {
        const before = attempts[i - 1];
        if (before === undefined || attempt.n > before.n) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} shows attempt ${attempt.n} after attempt ${before.n}.`,
        });
      }
    }
    return problems;
  },
};
