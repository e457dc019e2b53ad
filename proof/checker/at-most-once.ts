import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const atMostOnce: Invariant = {
  name: 'at-most-once',
  promise:
    'A task with `delivery: "at-most-once"` never starts again after a lost lease, nor after its worker had to stop.',
  check({ events }, { created, leases, settled, touched }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const starts = new Map<string, { fence: number; at: number; node: string }[]>();
    for (const event of events) {
      if (event.kind !== 'began' || created.get(event.id)?.delivery !== 'at-most-once') continue;
      starts.set(event.id, [...(starts.get(event.id) ?? []), event]);
    }
    for (const [id, all] of starts) {
      for (const [i, start] of all.entries()) {
        const isCutShort = (settled.get(id) ?? []).some(
          ({ fence, reason }) => fence >= start.fence && (reason === 'lost' || reason === 'released'),
        );
        if (isCutShort) exercise();
        const before = all[i - 1];
        if (before === undefined) continue;
        // Its own node told how the earlier attempt ended, or a person brought the job back. That it gave the job back tells no end.
        const isSettled = (settled.get(id) ?? []).some(
          ({ fence, result, reason }) =>
            fence === before.fence && result === 'done' && reason !== 'lost' && reason !== 'released',
        );
        // A worker may enter the handler after the job was terminated and retried: the answer that allowed it was on its way.
        const takenAt = leases.get(id)?.find(({ fence }) => fence === before.fence)?.at ?? before.at;
        const isRetried = (touched.get(id) ?? []).some(
          ({ verb, at }) => verb === 'retry' && at >= takenAt && at <= start.at,
        );
        if (isSettled || isRetried) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} is at most once; it began on ${before.node} at ${show(before.at)} and again on ${start.node} at ${show(start.at)}, and nobody told how the first ended.`,
        });
      }
    }
    return problems;
  },
};
