/** What a schedule was when a slot was decided, also one that was deleted: a later edit does not change it. */
import type { AuditRow, Engine, ScheduleRecord, SlotsReply } from '../contract/engine.ts';
import { resolveStoredRule } from './definition/planned-rule.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { parseSpec } from './definition/spec.ts';
import { parseState } from './definition/state.ts';
import { dueAtOf } from './planner/jitter.ts';
import type { ScheduleDeletion } from './schedule-view.ts';
import type { EarlierGeneration } from './slot-why-facts.ts';
import { type ReadableSchedule, readSchedule } from './unreadable.ts';

const pageSize = 500;
// Some thousand changes of one schedule within the ledger's retention; what lies behind them is told by the oldest that was read.
const pageCountMax = 10;

/** The audit rows of a schedule from an instant on, newest first. */
export async function changesSince(
  engine: Pick<Engine, 'audit'>,
  scheduleId: string,
  fromAt: number,
): Promise<AuditRow[]> {
  const found: AuditRow[] = [];
  let before: number | null = null;
  for (let page = 0; page < pageCountMax; page++) {
    const { rows }: { rows: AuditRow[] } = await engine.audit({
      subject: `schedule:${scheduleId}`,
      before,
      limit: pageSize,
    });
    found.push(...rows.filter(({ at }) => at >= fromAt));
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || last.at < fromAt) break;
    before = last.position;
  }
  return found;
}

/**
 * When a decided slot fell due under the rule that was in force when the slot came. An edit moves that only if its own next slot is earlier.
 * null: nothing has changed since then, or the rule did not name the slot.
 */
export function dueAtUnderOldRule(
  decided: LedgerSchedule,
  slotAt: number,
  changes: readonly AuditRow[],
): number | null {
  const next = changes.findLast(({ at, before }) => at > slotAt && before !== null);
  if (next === undefined) return null;
  const { spec: stored } = JSON.parse(next.before as string) as { spec: unknown };
  const spec = parseSpec(JSON.stringify(stored));
  const { planRule } = resolveStoredRule(spec.rule, spec.policies, slotAt);
  if (planRule.kind === 'delay' || planRule.all.next(slotAt - 1) !== slotAt) return null;
  const dueAt = dueAtOf({ id: decided.record.id, policies: spec.policies }, planRule.all, slotAt);
  const { planRule: later } = decided.parsed;
  const nextAt = later.kind === 'delay' || dueAt <= next.at ? null : later.all.next(next.at);
  return nextAt === null ? dueAt : Math.min(dueAt, nextAt - 1);
}

/**
 * The schedule with the rule and the policies under which a slot was decided. An edit decides due slots before it takes effect, so a decision
 * at the instant of an edit belongs to the version before it.
 */
export function scheduleAt(
  schedule: LedgerSchedule,
  row: SlotsReply['slots'][number],
  slotAt: number,
  changes: readonly AuditRow[],
): LedgerSchedule {
  const lastAt = row.lastDecidedAt ?? row.decidedAt;
  const decidedAt = Math.min(Math.max(row.decidedAt, slotAt), lastAt);
  const next = changesOf(schedule, row.generation, changes).findLast(
    ({ at, before }) => at >= decidedAt && before !== null,
  );
  if (next === undefined) return schedule;
  const { spec: stored } = JSON.parse(next.before as string) as { spec: unknown };
  const spec = parseSpec(JSON.stringify(stored));
  // The row's first slot is one of the rule's, so a rate that was counted from the making has the same slots when it is counted from there.
  const rule = resolveStoredRule(spec.rule, spec.policies, row.fromAt);
  return { ...schedule, parsed: { ...schedule.parsed, spec, ...rule } };
}

/** The changes of one life of a schedule: one that was deleted and created again in an instant is not told by what the other was. */
export function changesOf(
  { record, deleted }: LedgerSchedule,
  generation: number,
  changes: readonly AuditRow[],
): readonly AuditRow[] {
  // A deletion is the last change of its life.
  let current = record.generation + (deleted === undefined ? 0 : 1);
  return changes.filter(({ action }) => {
    if (action === 'delete') current -= 1;
    return current === generation;
  });
}

/** A schedule whose ledger is kept: as it stands, or as it was when it was deleted. */
export interface LedgerSchedule {
  record: ScheduleRecord;
  parsed: ReadableSchedule;
  now: number;
  /** Left out: it was not deleted. */
  deleted?: ScheduleDeletion;
}

/** One that was deleted, as it was then. */
export type Deleted = LedgerSchedule & { deleted: ScheduleDeletion };

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
