import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import { createBatcher } from '../store/batcher.ts';

/** A schedule as it is stored, or null, and the instant of the read. */
export interface StoredSchedule {
  record: ScheduleRecord | null;
  now: number;
}

/** Reads a schedule by its id. */
export type ReadSchedule = (id: string) => Promise<StoredSchedule>;

const readCountMax = 200;

/** Reads that are requested while one is in flight travel together in the next. */
export function createScheduleReader(options: {
  engine(): Promise<Pick<Engine, 'schedules'>>;
  clock: Clock;
  random: Random;
}): ReadSchedule {
  const { clock, random } = options;
  const reads = createBatcher<string, StoredSchedule>({
    ...{ clock, random, maxItems: readCountMax },
    send: async (ids) => readSchedules(await options.engine(), ids),
  });
  return (id) => reads.push(id);
}

/** Reads schedules in the order of the ids, of which some may be equal. */
export async function readSchedules(
  engine: Pick<Engine, 'schedules'>,
  ids: readonly string[],
): Promise<StoredSchedule[]> {
  const wanted = [...new Set(ids)];
  const { schedules, now } = await engine.schedules({
    ...{ filter: { ids: wanted }, cursor: null, limit: wanted.length },
  });
  const records = new Map(schedules.map((record) => [record.id, record]));
  return ids.map((id) => ({ record: records.get(id) ?? null, now }));
}
