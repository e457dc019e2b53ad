import type { Engine, JobRecord } from '../engine.ts';
import type { Random } from '../random.ts';

/** How long runs lasted, by schedule and by task. */
export interface UsualDurations {
  /** Draws one that the schedule's runs had; without enough of them one of its task's; null: nothing is known. */
  draw(scheduleId: string, task: string): number | null;
}

/** A schedule with fewer runs than this says less than all runs of its task. */
const ownCountMin = 3;
/** History is read up to here: enough for what is usual now, and bounded whatever the store holds. */
const jobCountMax = 20_000;
const pageSize = 1_000;
/** Of each schedule and each task so many of the newest are kept. */
const keptCountMax = 200;

/** Reads how long the jobs that were completed last took. */
export async function readUsualDurations(engine: Engine, random: Random): Promise<UsualDurations> {
  const bySchedule = new Map<string, number[]>();
  const byTask = new Map<string, number[]>();
  let cursor: string | null = null;
  let readCount = 0;
  do {
    const page: Awaited<ReturnType<Engine['list']>> = await engine.list({
      filter: { status: ['COMPLETED'] },
      cursor,
      limit: pageSize,
    });
    for (const job of page.jobs) {
      const durationMs = durationOf(job);
      if (durationMs === null) continue;
      keep(byTask, job.type, durationMs);
      if (job.slot !== null) keep(bySchedule, job.slot.scheduleId, durationMs);
    }
    readCount += page.jobs.length;
    cursor = page.nextCursor;
  } while (cursor !== null && readCount < jobCountMax);
  return {
    draw(scheduleId, task) {
      const own = bySchedule.get(scheduleId);
      const known = own !== undefined && own.length >= ownCountMin ? own : (byTask.get(task) ?? own);
      if (known === undefined) return null;
      return known[Math.floor(random.next() * known.length)] as number;
    },
  };
}

function durationOf({ startedAt, finishedAt }: JobRecord): number | null {
  return startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt);
}

function keep(map: Map<string, number[]>, key: string, durationMs: number): void {
  const kept = map.get(key);
  if (kept === undefined) map.set(key, [durationMs]);
  else if (kept.length < keptCountMax) kept.push(durationMs);
}
