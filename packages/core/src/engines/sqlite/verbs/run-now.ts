import type { ClaimedJob, ClaimRequest, JobSpec } from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import type { Work } from '../work.ts';
import { emptyClaim, peek } from './claim.ts';
import { dueAtOf } from './job-spec.ts';

/** Jobs that are inserted as RUNNING, because the claim that came along would take exactly these. */
export interface RunNow {
  request: ClaimRequest;
  /** The fence of each, in the order of their ranks. */
  fences: ReadonlyMap<JobSpec, number>;
  /** What was inserted so far. */
  claimed: ClaimedJob[];
}

/**
 * Plans to insert jobs as RUNNING, which saves half of the writes of a single `now()` or slot. They are plain and
 * due, nothing else is ready or due, nothing is paused, and the claim has capacity for each. Null: the jobs are
 * inserted first and then claimed.
 */
export function planRunNow(
  work: Work,
  request: ClaimRequest | undefined,
  specs: readonly JobSpec[],
): RunNow | null {
  if (!work.hasPlainBranches || request === undefined) return null;
  if (specs.length === 0 || specs.length > request.limit) return null;
  const left = new Map(request.tasks.map(({ type, version, limit }) => [type, { version, limit }]));
  for (const spec of specs) {
    const task = left.get(spec.type);
    if (task === undefined || task.limit <= 0 || spec.version > task.version) return null;
    if (request.queues !== null && !request.queues.includes(spec.queue)) return null;
    if (!isPlain(spec) || !isTimely(work, spec)) return null;
    task.limit--;
  }
  if (emptyClaim(peek(work, request.tasks)) === null) return null;
  const first = work.fences(specs.length);
  const byRank = [...specs].sort((a, b) => rankOf(work, a) - rankOf(work, b));
  return { request, fences: new Map(byRank.map((spec, i) => [spec, first + i])), claimed: [] };
}

const rankOf = (work: Work, spec: JobSpec): number => dueAtOf(work, spec.due) + spec.rankOffsetMs;

/** Due, and not too late to start. */
function isTimely(work: Work, spec: JobSpec): boolean {
  const dueAt = 'at' in spec.due ? spec.due.at : work.now + spec.due.inMs;
  // The insert refuses a wrong instant, and only the group that has it.
  if (!Number.isSafeInteger(dueAt)) return false;
  return dueAt <= work.now && (spec.startDeadlineMs === null || dueAt + spec.startDeadlineMs >= work.now);
}

/** The jobs that were inserted as RUNNING, by rank. */
export function claimedOf({ claimed }: RunNow): ClaimedJob[] {
  return claimed.sort((a, b) => a.fence - b.fence);
}
