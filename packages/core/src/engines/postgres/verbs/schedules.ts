import type {
  ActiveRun,
  AppliedSchedule,
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimedSchedule,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  CompactedSlots,
  Origin,
  SchedulesInput,
  SchedulesReply,
  SlotsInput,
  SlotsReply,
} from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { type ScheduleColumns, toScheduleRecord } from '../../shared/schedule-row.ts';
import { statements } from '../generated.ts';
import { writtenSpec } from '../job-columns.ts';
import { Bound } from '../job-where.ts';
import { type AnsweredGroup, eachGroup, keepable, ofSet, type Work } from '../work.ts';

/** See the contract. */
export function applySchedules(work: Work, input: ApplySchedulesInput): Promise<ApplySchedulesReply> {
  return eachGroup(
    input.groups,
    ({ actor, changes }) => ({
      actor,
      changes: changes.map((change) => ({
        ...change,
        note: keepable(change.note ?? null),
        ...(change.op === 'put' && { jobs: change.jobs.map(writtenSpec) }),
      })),
    }),
    (groups) =>
      work.call<{ groups: AnsweredGroup<AppliedSchedule>[] }>(statements.call.applySchedules, [
        input.now ?? null,
        JSON.stringify(groups),
      ]),
  );
}

/** Schedules under lease, by columns as the store returns them. A column that is null is null for all. */
type ClaimedColumns = [
  id: string[],
  app: (string | null)[] | null,
  tenant: (string | null)[] | null,
  name: string[],
  generation: number[],
  version: number[],
  due_at: (number | null)[],
  waits_for: (string | null)[] | null,
  created_at: number[],
  updated_at: number[],
];

/** The position of a schedule in the columns, and one of its unfinished jobs. */
type ListedRun = [
  place: number,
  id: string,
  status: JobStatus,
  slotAt: number | null,
  origin: Origin,
  dueAt: number,
  cancelRequestedAt: number | null,
];

interface ClaimAnswer extends Omit<ClaimSchedulesReply, 'schedules'> {
  fence: number | null;
  columns: ClaimedColumns | null;
  runs: ListedRun[] | null;
  /** The number of unfinished jobs, for schedules with more jobs than are listed. */
  counts: [place: number, count: number][] | null;
  waited: [place: number, id: string, status: JobStatus, finishedAt: number][] | null;
  /** The specs of the schedules, and then their states. */
  texts: string[];
}

/** See the contract. */
export async function claimSchedules(work: Work, input: ClaimSchedulesInput): Promise<ClaimSchedulesReply> {
  const answer = await work.call<ClaimAnswer>(statements.call.claimSchedules, [
    input.now ?? null,
    input.node,
    input.token,
    input.limit,
    input.leaseMs,
    input.ids === null ? null : JSON.stringify(input.ids),
  ]);
  const { now, nextDueAt, more } = answer;
  return { now, schedules: toClaimedSchedules(answer), nextDueAt, more };
}

function toClaimedSchedules({ fence, columns, runs, counts, waited, texts }: ClaimAnswer): ClaimedSchedule[] {
  if (columns === null) return [];
  const [ids, apps, tenants, names, generations, versions, dueAts, waitsFors, createdAts, updatedAts] =
    columns;
  const schedules = ids.map(
    (id, i): ClaimedSchedule => ({
      id,
      app: apps?.[i] ?? null,
      tenant: tenants?.[i] ?? null,
      name: names[i] as string,
      generation: generations[i] as number,
      version: versions[i] as number,
      spec: texts[i] as string,
      state: texts[ids.length + i] as string,
      dueAt: dueAts[i] as number | null,
      waitsFor: waitsFors?.[i] ?? null,
      createdAt: createdAts[i] as number,
      updatedAt: updatedAts[i] as number,
      fence: fence as number,
      active: noRuns,
      activeCount: 0,
      waited: null,
    }),
  );
  const at = (place: number) => schedules[place] as ClaimedSchedule;
  for (const [place, id, status, slotAt, origin, dueAt, cancelRequestedAt] of runs ?? []) {
    const one = at(place);
    one.active = [...one.active, { id, status, slotAt, origin, dueAt, cancelRequestedAt }];
    one.activeCount = one.active.length;
  }
  for (const [place, count] of counts ?? []) at(place).activeCount = count;
  for (const [place, id, status, finishedAt] of waited ?? []) at(place).waited = { id, status, finishedAt };
  return schedules;
}

// One list for all, so that a message with many schedules carries it once.
const noRuns: ActiveRun[] = [];

/** See the contract. */
export async function schedules(work: Work, input: SchedulesInput): Promise<SchedulesReply> {
  const { filter, cursor, limit, order = 'name' } = input;
  const bound = new Bound();
  const now = `${ofSet('now')}(${bound.add(input.now ?? null)}::bigint)`;
  const parts: string[] = [];
  const addText = (column: string, value: string | null | undefined) => {
    if (value === null) parts.push(`${column} IS NULL`);
    else if (value !== undefined) parts.push(`${column} = ${bound.add(value)}::text`);
  };
  if (filter.ids !== undefined) parts.push(`p.id = ANY (${bound.list(filter.ids)})`);
  addText('p.app', filter.app);
  addText('p.tenant', filter.tenant);
  addText('p.name', filter.name);
  if (order === 'due') parts.push('c.due_at IS NOT NULL');
  else if (cursor !== null) {
    const [name, id] = JSON.parse(cursor) as [string, string];
    parts.push(`(p.name, p.id) > (${bound.add(name)}::text, ${bound.add(id)}::text)`);
  }
  const where = parts.length === 0 ? 'TRUE' : parts.join(' AND ');
  const rows = await work.rowsOnce<{ at: number } & ScheduleColumns>(
    `SELECT ${now} AS at, s.* FROM (SELECT 1) one LEFT JOIN LATERAL (
       SELECT p.id, p.app, p.tenant, p.name, c.generation, c.version, p.spec, c.state, c.due_at, c.waits_for, p.created_at, c.updated_at
       FROM duly.specs p JOIN duly.schedules c ON c.id = p.id
       WHERE ${where} ORDER BY ${order === 'due' ? 'c.due_at' : 'p.name'}, p.id LIMIT ${bound.add(limit + 1)}::bigint) s ON true
     ORDER BY ${order === 'due' ? 's.due_at' : 's.name'}, s.id`,
    bound.values,
  );
  const found = rows.filter(({ id }) => id !== null);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const isMore = order === 'name' && found.length > limit && last !== undefined;
  const nextCursor = isMore ? JSON.stringify([last.name, last.id]) : null;
  return { now: (rows[0] as { at: number }).at, schedules: page.map(toScheduleRecord), nextCursor };
}

interface SlotTableRow {
  now: number;
  generation: number | null;
  from_at: number;
  to_at: number;
  count: number | null;
  decision: string;
  reason: string | null;
  node: string;
  job_id: string | null;
  decided_at: number;
  last_decided_at: number;
}

/** See the contract. */
export async function slots(work: Work, input: SlotsInput): Promise<SlotsReply> {
  const { scheduleId, fromAt, beforeAt, limit } = input;
  const rows = await work.rows<SlotTableRow>(statements.schedule.slots, [
    input.now ?? null,
    scheduleId,
    fromAt,
    beforeAt,
    limit,
  ]);
  const compactedRows = await work.rows<Omit<CompactedSlots, 'counts'> & { counts: string }>(
    statements.schedule.compactedRows,
    [scheduleId, fromAt, beforeAt, limit],
  );
  return {
    now: (rows[0] as SlotTableRow).now,
    slots: rows
      .filter(({ generation }) => generation !== null)
      .map((row) => ({
        generation: row.generation as number,
        fromAt: row.from_at,
        toAt: row.to_at,
        count: row.count,
        decision: row.decision,
        reason: row.reason,
        node: row.node,
        jobId: row.job_id,
        decidedAt: row.decided_at,
        ...(row.last_decided_at === row.decided_at ? {} : { lastDecidedAt: row.last_decided_at }),
      })),
    compacted: compactedRows.map(({ generation, startAt, fromAt: from, toAt, counts }) => ({
      ...{ generation, startAt, fromAt: from, toAt },
      counts: (JSON.parse(counts) as [string, number, 0 | 1][]).map(([decision, count, exact]) => ({
        decision,
        count,
        exact: exact === 1,
      })),
    })),
  };
}
