import type { JobRecord, UpcomingInput, UpcomingReply } from '../../../contract/engine.ts';
import { addSteps } from '../../shared/upcoming-steps.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';
import { get } from './list.ts';

/** See the contract. */
export async function upcoming(work: Work, input: UpcomingInput): Promise<UpcomingReply> {
  const { withinMs, stepMs, cap, limit, tenant } = input;
  const [{ now }] = (await work.rows<{ now: number }>(statements.job.now, [input.now ?? null])) as [
    { now: number },
  ];
  const whose = [tenant === undefined, tenant ?? null];
  const counted = await work.rows<{ type: string; step: number; count: number }>(statements.upcoming.steps, [
    ...[now, now + withinMs, stepMs, cap],
    ...whose,
  ]);
  const earliest = await work.rows<{ id: string }>(statements.upcoming.earliest, [
    ...[now, now + withinMs, limit],
    ...whose,
  ]);
  const { jobs } = await get(work, { now, ids: earliest.map(({ id }) => id) });
  return {
    now,
    ...addSteps(counted, { fromAt: now, stepMs, cap }),
    // One that was claimed or cancelled since then is no longer to come.
    jobs: jobs.filter(
      (job): job is JobRecord => job !== null && (job.status === 'SCHEDULED' || job.status === 'RETRYING'),
    ),
  };
}
