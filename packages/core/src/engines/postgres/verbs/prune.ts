import type { PruneInput, PruneReply } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { daysAhead } from '../migrate.ts';
import type { Work } from '../work.ts';

/**
 * See the contract. Whole days of history are made ahead and dropped only by the server's own clock: where the caller sets the time, the
 * days are not those of a calendar, and jobs are forgotten one by one.
 */
export async function prune(work: Work, input: PruneInput): Promise<PruneReply> {
  const days = input.now === undefined ? await keepDays(work, null, input.limit) : { jobs: 0, more: false };
  const { now, jobs, keys, values, rows, more } = await work.call<PruneReply>(statements.call.prune, [
    input.now ?? null,
    input.limit,
    input.ledgerMs,
    JSON.stringify(input.compactStarts ?? []),
    input.auditMs,
    input.changesMs,
  ]);
  return { now, jobs: days.jobs + jobs, keys, values, rows, more: days.more || more };
}

/**
 * Makes the coming days of history and drops those that are over; answers how many jobs were forgotten. A role that may not do that forgets
 * `limit` jobs of such days, and `more` says that there may be others.
 */
export function keepDays(
  work: Work,
  now: number | null,
  limit = 500,
): Promise<{ jobs: number; more: boolean }> {
  return work.call<{ jobs: number; more: boolean }>(statements.call.keepDays, [now, daysAhead, limit]);
}
