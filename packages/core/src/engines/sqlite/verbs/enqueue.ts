import type { ClaimedJob, EnqueueInput, EnqueueReply, JobSpec } from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { eachGroup } from '../groups.ts';
import type { Work } from '../work.ts';
import { claim } from './claim.ts';
import { insertJobs } from './insert-jobs.ts';
import { findAnswered } from './job-spec.ts';
import { claimedOf, planRunNow } from './run-now.ts';

/** See the contract. */
export function enqueue(work: Work, input: EnqueueInput): Omit<EnqueueReply, 'now'> {
  const { repeat = false } = input;
  const specs = input.groups.flatMap(({ jobs }) => jobs);
  const runNow = repeat ? null : planRunNow(work, input.claim, specs);
  const groups = eachGroup(
    work,
    input.groups,
    ({ jobs }) =>
      repeat
        ? jobs.flatMap((spec) => findAnswered(work, spec) ?? insertJobs(work, [spec], null))
        : insertJobs(work, jobs, runNow),
    // A single plain insert cannot be half done.
    ({ jobs }) => jobs.length === 1 && isPlain(jobs[0] as JobSpec),
  );
  if (runNow !== null) return { groups, claimed: claimedOf(runNow) };
  return { groups, claimed: claimCreated(work, input, specs.every(isPlain) ? specs : null) };
}

/**
 * Claims together with what was just created. If the caller took all of it, nobody else is woken for it. `created` null: more
 * happened than that jobs were created, and the others may have to know.
 */
export function claimCreated(
  work: Work,
  { claim: request, repeat = false }: Pick<EnqueueInput, 'claim' | 'repeat'>,
  created: JobSpec[] | null,
): ClaimedJob[] {
  if (request === undefined) return [];
  // The claim itself may end overdue jobs, and others have to know what that made ready.
  const notifications = work.notifications.take('jobs');
  const { claimed } = claim(work, request, repeat);
  const taken = new Set(claimed.map(({ id }) => id));
  const isAllTaken = created?.every(({ id }) => taken.has(id)) ?? false;
  if (!isAllTaken) work.notifications.addAll(notifications);
  return claimed;
}
