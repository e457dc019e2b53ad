import type { AuditRow, Engine, ScheduleRecord } from '../contract/engine.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { parseState } from './definition/state.ts';
import type { ScheduleDeletion } from './schedule-view.ts';
import type { EarlierGeneration } from './schedule-why.ts';
import { type ReadableSchedule, readSchedule } from './unreadable.ts';

/** A schedule whose ledger is kept: as it stands, or as it was when it was deleted. */
export interface Kept {
  record: ScheduleRecord;
  parsed: ReadableSchedule;
  now: number;
  /** Left out: it was not deleted. */
  deleted?: ScheduleDeletion;
}

/** One that was deleted, as it was then. */
export type Deleted = Kept & { deleted: ScheduleDeletion };

/** What the audit keeps of a schedule that was deleted. */
interface Gone {
  version: number;
  spec: unknown;
  state: unknown;
  app: string | null;
  tenant: string | null;
  name: string;
  generation: number;
}

/** The schedule of this id as it was when it was deleted; null: it was not, or so long ago that the audit no longer tells. */
export async function readDeleted(
  engine: Engine,
  id: string,
  schedules: ParsedSchedules,
): Promise<Deleted | null> {
  const { rows, now } = await engine.audit({ subject: `schedule:${id}`, before: null, limit: 1 });
  const [last] = rows;
  if (last === undefined || last.after !== null || last.before === null) return null;
  const record = toRecord(id, last, JSON.parse(last.before) as Gone);
  const parsed = readSchedule(schedules, record);
  const deleted = { at: new Date(last.at), by: last.actor, note: last.note };
  return { record: { ...record, createdAt: parsed.state.bornAt }, parsed, now, deleted };
}

/** The lives of a schedule that are over, newest first, by its audit. */
export function earlierGenerations(rows: readonly AuditRow[]): EarlierGeneration[] {
  return rows.flatMap(({ at, actor, before, after, note }) => {
    if (after !== null || before === null) return [];
    const { generation, state } = JSON.parse(before) as Gone;
    const { bornAt } = parseState(JSON.stringify(state));
    return [{ generation, bornAt, deletedAt: at, by: actor, note }];
  });
}

function toRecord(id: string, { at }: AuditRow, gone: Gone): ScheduleRecord {
  const { version, spec, state, app, tenant, name, generation } = gone;
  return {
    id,
    app,
    tenant,
    name,
    generation,
    version,
    spec: JSON.stringify(spec),
    state: JSON.stringify(state),
    dueAt: null,
    waitsFor: null,
    // When it was made is known by its state.
    createdAt: at,
    updatedAt: at,
  };
}
