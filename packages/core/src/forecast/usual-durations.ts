import type { Random } from '../base/random.ts';
import type { Engine, JobRecord } from '../contract/engine.ts';

/** How long runs lasted, by schedule and by type. */
export interface UsualDurations {
  /** Draws one that the schedule's runs had; without enough of them one of its type's; null: nothing is known. */
  draw(scheduleId: string, type: string): number | null;
}

/** A schedule with fewer runs than this says less than all runs of its type. */
const ownCountMin = 3;
/** History is read up to here: enough for what is usual now, and bounded whatever the store holds. */
const jobCountMax = 20_000;
const pageSize = 1_000;
/** Of each schedule and each type so many of the newest are kept. */
const countMax = 200;

/** So many schedules are asked for one by one: a moment's work, whatever their number is. */
const askedCountMax = 500;
const askedJobCount = 20;

/** Reads how long the jobs that were completed last took, and of these schedules those that have not run for longer. */
export async function readUsualDurations(
  engine: Engine,
  random: Random,
  schedules: readonly { id: string; type: string }[],
): Promise<UsualDurations> {
  const bySchedule = new Map<string, number[]>();
  const byType = new Map<string, number[]>();
  const learn = (jobs: readonly JobRecord[]): void => {
    for (const job of jobs) {
      const durationMs = durationOf(job);
      if (durationMs === null) continue;
      keep(byType, job.type, durationMs);
      if (job.slot !== null) keep(bySchedule, job.slot.scheduleId, durationMs);
    }
  };
  let cursor: string | null = null;
  let readCount = 0;
  do {
    const page: Awaited<ReturnType<Engine['list']>> = await engine.list({
      filter: { status: ['COMPLETED'] },
      cursor,
      limit: pageSize,
    });
    learn(page.jobs);
    readCount += page.jobs.length;
    cursor = page.nextCursor;
  } while (cursor !== null && readCount < jobCountMax);
  // Where much is done between two nights, last night's report is not among the newest. What a schedule made is found by an index.
  if (cursor !== null) {
    const unknown = schedules.filter(({ id, type }) => !bySchedule.has(id) && !byType.has(type));
    for (const { id, type } of unknown.slice(0, askedCountMax)) {
      if (byType.has(type)) continue;
      const filter = { status: ['COMPLETED' as const], scheduleId: id };
      learn((await engine.list({ filter, cursor: null, limit: askedJobCount })).jobs);
    }
  }
  return {
    draw(scheduleId, type) {
      const own = bySchedule.get(scheduleId);
      const known = own !== undefined && own.length >= ownCountMin ? own : (byType.get(type) ?? own);
      if (known === undefined) return null;
      return known[Math.floor(random.next() * known.length)] as number;
    },
  };
}

function durationOf({ startedAt, finishedAt }: JobRecord): number | null {
  return startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt);
}

function keep(map: Map<string, number[]>, key: string, durationMs: number): void {
  const existing = map.get(key);
  if (existing === undefined) map.set(key, [durationMs]);
  else if (existing.length < countMax) existing.push(durationMs);
}
