// Schedules as users see them, read from the store.

import type { Engine, JobRecord, ScheduleRecord } from '../contract/engine.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { type Schedule, type ScheduleDeletion, toSchedule } from './schedule-view.ts';
import { readSchedule } from './unreadable.ts';

/** Where schedules are read from, and the cache of what was parsed of them. */
export interface ScheduleSource {
  engine(): Promise<Pick<Engine, 'get'>>;
  parsed: ParsedSchedules;
}

/** Schedules as users see them; what each did last is read from its job. */
export async function readViews(
  { engine: open, parsed: cache }: ScheduleSource,
  records: readonly ScheduleRecord[],
  now: number,
  deleted?: ScheduleDeletion,
): Promise<Schedule[]> {
  const parsed = records.map((record) => readSchedule(cache, record));
  const ids = [
    ...new Set(parsed.flatMap(({ state }) => (state.lastFired === null ? [] : [state.lastFired.runId]))),
  ];
  const jobs = new Map<string, JobRecord>();
  if (ids.length > 0) {
    const engine = await open();
    for (const job of (await engine.get({ ids })).jobs) if (job !== null) jobs.set(job.id, job);
  }
  return records.map((record, i) => {
    const one = parsed[i] as (typeof parsed)[number];
    const last = one.state.lastFired === null ? null : (jobs.get(one.state.lastFired.runId) ?? null);
    return toSchedule(record, one, last, now, deleted);
  });
}
