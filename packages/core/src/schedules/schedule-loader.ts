// Reads schedules as they stand, with what a plan needs.

import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import { activeRuns } from './planner/active-runs.ts';
import { catchUpPerSecond } from './planner/catch-up-budget.ts';
import type { PlanInput } from './planner/plan-types.ts';
import { scheduleLeaseMs } from './schedule-lease.ts';
import { type ReadableSchedule, readSchedule } from './unreadable.ts';
import type { ScheduleWritesOptions } from './writes.ts';

/** A schedule as it stands, with what a plan needs. */
export interface Loaded {
  record: ScheduleRecord;
  parsed: ReadableSchedule;
  now: number;
  input: PlanInput;
}

/** What a plan may spend of the store's time. */
export const planLimits = { leaseMs: scheduleLeaseMs, catchUpBudget: catchUpPerSecond };

/** Reads single schedules. */
export interface ScheduleLoader {
  /** What a plan needs of a stored schedule. */
  toLoaded(record: ScheduleRecord, now: number): Promise<Loaded>;
  /** The schedule, also one whose rule cannot be read here, or null. */
  loadAny(id: string): Promise<Loaded | null>;
  /** The schedule, or null. Throws what its rule throws where it cannot be read here. */
  load(id: string): Promise<Loaded | null>;
}

/** Creates it. */
export function createScheduleLoader(options: ScheduleWritesOptions): ScheduleLoader {
  const { node, ids, parsed, read } = options;

  async function toLoaded(record: ScheduleRecord, now: number): Promise<Loaded> {
    const engine = await options.engine();
    const one = readSchedule(parsed, record);
    // Read after the schedule: a run made since then moved its version, and the write is refused.
    const [active, waited] = await Promise.all([
      activeRuns(engine, record.id),
      waitedOf(engine, record.waitsFor),
    ]);
    const input: PlanInput = {
      id: record.id,
      generation: record.generation,
      spec: one.spec,
      rule: one.planRule,
      state: one.state,
      now,
      node,
      active,
      activeCount: active.length,
      waited,
      limits: planLimits,
      newJobId: ids.jobId,
    };
    return { record, parsed: one, now, input };
  }

  async function loadAny(id: string): Promise<Loaded | null> {
    const { record, now } = await read(id);
    return record === null ? null : toLoaded(record, now);
  }

  async function load(id: string): Promise<Loaded | null> {
    const loaded = await loadAny(id);
    const unreadable = loaded?.parsed.unreadable ?? null;
    if (unreadable !== null) throw unreadable;
    return loaded;
  }

  return { toLoaded, loadAny, load };
}

async function waitedOf(engine: Pick<Engine, 'get'>, id: string | null): Promise<PlanInput['waited']> {
  if (id === null) return null;
  const [job] = (await engine.get({ ids: [id] })).jobs;
  if (job === null || job === undefined || job.finishedAt === null) return null;
  return { id, status: job.status, finishedAt: job.finishedAt };
}
