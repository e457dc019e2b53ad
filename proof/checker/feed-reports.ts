import type { Change } from '../../packages/core/src/contract/engine.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const feedReports: Invariant = {
  name: 'feed-reports',
  promise:
    'The feed tells, in order and without a gap, that a job was created, each time that it was given out, how far it is, and what it became.',
  parts: ['finished', 'deleted', 'progress'],
  check({ final, isComplete }, { created, leases, deleted }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    if (final.feed === undefined || !isComplete) return problems;
    const byJob = new Map<string, Change[]>();
    for (const [i, change] of final.feed.entries()) {
      const before = final.feed[i - 1];
      if (before !== undefined && (change.position <= before.position || change.at < before.at)) {
        problems.push({
          subjects: [change.id],
          message: `The feed has ${words(change)} after ${words(before)}.`,
        });
      }
      byJob.set(change.id, [...(byJob.get(change.id) ?? []), change]);
    }
    const jobs = new Map(final.jobs.map((job) => [job.id, job]));
    for (const id of created.keys()) {
      const fail = (message: string): void =>
        void problems.push({ subjects: [id], message: `Job ${id}: ${message}.` });
      const changes = byJob.get(id) ?? [];
      const createdCount = changes.filter(({ event }) => event === 'created').length;
      if (changes[0]?.event !== 'created' || createdCount !== 1)
        fail(`the feed tells ${createdCount} times that it was created`);
      const claims = changes.filter(({ event }) => event === 'claimed').length;
      const given = (leases.get(id) ?? []).filter(({ how }) => how === 'claimed').length;
      if (claims !== given)
        fail(`the feed tells ${claims} times that it was given out; it was ${given} times`);
      const job = jobs.get(id);
      const last = changes.at(-1);
      if (job !== undefined) exercise('finished');
      if (job !== undefined && last?.status !== job.status)
        fail(`the feed ends with ${last === undefined ? 'nothing' : words(last)}, and it is ${job.status}`);
      if (deleted.has(id) && job === undefined) exercise('deleted');
      if (deleted.has(id) && job === undefined && last?.event !== 'deleted')
        fail(`the feed ends with ${last === undefined ? 'nothing' : words(last)}, and it was deleted`);
      for (const [i, change] of changes.entries()) {
        const before = changes.slice(0, i).findLast(({ percent }) => percent !== null);
        if (change.event === 'claimed' || change.percent === null || before === undefined) continue;
        exercise('progress');
        // Brought back, it begins anew.
        if (change.event !== 'retried' && change.percent < (before.percent ?? 0))
          fail(`the feed has ${words(change)} after ${words(before)}`);
      }
    }
    return problems;
  },
};

function words({ event, status, percent, at, position }: Change): string {
  return `${event} (${status}, ${percent ?? '–'} %) at ${show(at)}, position ${position}`;
}
