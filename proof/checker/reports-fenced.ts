import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const reportsFenced: Invariant = {
  name: 'reports-fenced',
  promise:
    'No progress and no log line is taken under a fence that is dead, or after the attempt was settled.',
  check({ events, unorderedMs = 0 }, { leases, accepted, touched }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const event of events) {
      if (event.kind === 'reported' && event.result === 'lost') exercise();
      if (event.kind !== 'reported' || event.result !== 'kept') continue;
      const { id, fence, node } = event;
      const at = event.at - unorderedMs;
      const newer = leases.get(id)?.find((lease) => lease.fence > fence && lease.at < at);
      const outcome = accepted.get(id)?.find((one) => one.fence === fence && one.at < at);
      const ended = touched
        .get(id)
        ?.find((one) => one.verb === 'terminate' && one.result === 'changed' && one.at < at);
      const lease = leases.get(id)?.find((one) => one.fence === fence);
      const isEnded = ended !== undefined && lease !== undefined && ended.at > lease.at;
      if (newer === undefined && outcome === undefined && !isEnded) continue;
      const why =
        newer !== undefined
          ? `fence ${newer.fence} was given to ${newer.node} at ${show(newer.at)}`
          : outcome !== undefined
            ? `the attempt was settled ${outcome.to} at ${show(outcome.at)}`
            : `the job was ended at ${show(ended?.at ?? null)}`;
      problems.push({
        subjects: [id],
        message: `Job ${id}: a report of ${node} under fence ${fence} was kept at ${show(event.at)}, though ${why}.`,
      });
    }
    return problems;
  },
};
