import type { ActiveRun, ClaimedSchedule, Engine, JobRecord } from '../../contract/engine.ts';
import { isTerminal, type JobStatus, jobStatuses } from '../../contract/job-status.ts';
import type { OverlapMode } from '../../contract/policy-modes.ts';

const pageSize = 500;
const unfinished: JobStatus[] = jobStatuses.filter((status) => !isTerminal(status));
const unblocked: JobStatus[] = unfinished.filter((status) => status !== 'BLOCKED');

/** The unfinished runs of a schedule that count for overlap, oldest first. */
export async function activeRuns(
  engine: Pick<Engine, 'list'>,
  scheduleId: string,
  status: JobStatus[] = unfinished,
): Promise<ActiveRun[]> {
  const runs: (ActiveRun & { createdAt: number })[] = [];
  let cursor: string | null = null;
  do {
    const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
      filter: { scheduleId, status },
      cursor,
      limit: pageSize,
    });
    for (const job of page.jobs) {
      if (job.slot?.allow === true) continue;
      runs.push({
        id: job.id,
        status: job.status,
        slotAt: job.slot?.slotAt ?? null,
        origin: job.origin,
        dueAt: job.dueAt,
        cancelRequestedAt: job.cancelRequestedAt,
        createdAt: job.createdAt,
      });
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  // The list goes by id. An id carries the clock of the node that made it, which may be wrong; `createdAt` is the store's.
  runs.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  return runs.map(({ createdAt: _createdAt, ...run }) => run);
}

/**
 * What an overlap policy must see of a claimed schedule's unfinished runs, of which a claim tells ten. Read after the claim: a run that is
 * created since then moves the schedule's version, and the fire is refused.
 */
export async function seenRuns(
  engine: Pick<Engine, 'list'>,
  { id, active, activeCount }: Pick<ClaimedSchedule, 'id' | 'active' | 'activeCount'>,
  overlap: OverlapMode,
): Promise<{ active: ActiveRun[]; activeCount: number }> {
  if (activeCount <= active.length || overlap === 'allow' || overlap === 'skip')
    return { active, activeCount };
  if (overlap !== 'bufferAll') {
    const all = await activeRuns(engine, id);
    return { active: all, activeCount: all.length };
  }
  // A long line is what this policy is for, and whoever stands in it waits already. Runs of another time may go on beside the first of it.
  const known = new Set(active.map((run) => run.id));
  const others = (await activeRuns(engine, id, unblocked)).filter((run) => !known.has(run.id));
  return { active: [...active, ...others], activeCount };
}
