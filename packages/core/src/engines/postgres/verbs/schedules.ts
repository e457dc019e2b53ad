import type {
  AppliedSchedule,
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  FireGroup,
  FireInput,
  FireReply,
  FoldedSlots,
  JobSpec,
  ScheduleRecord,
  SchedulesInput,
  SchedulesReply,
  SlotsInput,
  SlotsReply,
} from '../../../engine.ts';
import { textArray } from '../arrays.ts';
import { statements } from '../generated.ts';
import { Bound } from '../job-where.ts';
import { isPlain, plainColumns, type WrittenSpec, writtenSpec } from '../specs.ts';
import {
  type AnsweredGroup,
  eachGroup,
  keepable,
  notTogether,
  sqlStateBehind,
  uniqueViolation,
  type Work,
} from '../work.ts';
import { type LeasedColumns, type TakenAlike, toClaimedJobs } from './claim.ts';

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

/** See the contract. */
export async function claimSchedules(work: Work, input: ClaimSchedulesInput): Promise<ClaimSchedulesReply> {
  const { now, schedules, nextDueAt, more } = await work.call<ClaimSchedulesReply>(
    statements.call.claimSchedules,
    [
      input.now ?? null,
      input.node,
      input.token,
      input.limit,
      input.leaseMs,
      input.ids === null ? null : JSON.stringify(input.ids),
    ],
  );
  return { now, schedules, nextDueAt, more };
}

/** See the contract. */
export async function fire(work: Work, input: FireInput): Promise<FireReply> {
  const isTogether = soleDecisions(input.groups);
  if (isTogether.size < togetherMin) return send(work, input, new Set());
  try {
    return await send(work, input, isTogether);
  } catch (error) {
    // A schedule was taken meanwhile, or an id or a slot is there already, and nothing was done: one by one tells which.
    const state = sqlStateBehind(error);
    if (state !== notTogether && state !== uniqueViolation) throw error;
    return send(work, input, new Set());
  }
}

/** So few are written one by one, in their order. */
const togetherMin = 4;

/** Decisions that touch nothing but their own schedule and new, plain jobs, and lengthen no row of the ledger; each schedule once. */
function soleDecisions(groups: FireGroup[]): Set<FireGroup> {
  const seen = new Set<string>();
  return new Set(
    groups.filter((group) => {
      const { scheduleId, jobs, slots, cancel, tell = [], waitsFor } = group;
      if (seen.has(scheduleId)) return false;
      seen.add(scheduleId);
      const waitsForOwn = waitsFor === null || jobs.some(({ id }) => id === waitsFor);
      return (
        cancel.length === 0 &&
        tell.length === 0 &&
        waitsForOwn &&
        jobs.every(isPlain) &&
        slots.every(({ jobId }) => jobId !== null)
      );
    }),
  );
}

async function send(work: Work, input: FireInput, isTogether: ReadonlySet<FireGroup>): Promise<FireReply> {
  const written = input.groups.map((group, i) => ({ group, i, jobs: group.jobs.map(writtenSpec) }));
  const together = written.filter(({ group }) => isTogether.has(group));
  const others = written.filter(({ group }) => !isTogether.has(group));
  const isAllPlain = input.groups.every(({ jobs, cancel }) => cancel.length === 0 && jobs.every(isPlain));
  const made = isAllPlain ? input.groups.flatMap(({ jobs }): JobSpec[] => jobs).map(({ id }) => id) : null;
  const reply = await work.call<{
    groups: FireReply['groups'];
    claimed: LeasedColumns | TakenAlike;
  }>(statements.call.fire, [
    input.now ?? null,
    input.node,
    together.length === 0 ? null : JSON.stringify(writtenTogether(together)),
    JSON.stringify(others.map(({ group, jobs }) => ({ ...group, jobs }))),
    input.claim === undefined ? null : JSON.stringify(input.claim),
    made === null ? null : textArray(made),
  ]);
  const outcomes: FireReply['groups'] = input.groups.map(() => 'fired');
  for (const [n, { i }] of others.entries()) outcomes[i] = reply.groups[n] as FireReply['groups'][number];
  return { now: reply.now, groups: outcomes, claimed: toClaimedJobs(work, reply.claimed) };
}

/** Decisions as one list for each table. */
function writtenTogether(together: { group: FireGroup; jobs: WrittenSpec[] }[]): object {
  return {
    fires: together.map(({ group: { scheduleId: id, version, fence, state, dueAt, waitsFor } }) => ({
      ...{ id, version, fence, state, dueAt, waitsFor },
    })),
    jobs: plainColumns(together.flatMap(({ jobs }) => jobs)),
    slots: together.flatMap(({ group }) => group.slots.map((slot) => ({ id: group.scheduleId, ...slot }))),
  };
}

interface ScheduleRow {
  id: string;
  app: string | null;
  tenant: string | null;
  name: string;
  generation: number;
  version: number;
  spec: string;
  state: string;
  due_at: number | null;
  waits_for: string | null;
  created_at: number;
  updated_at: number;
}

function toScheduleRecord(row: ScheduleRow): ScheduleRecord {
  return {
    id: row.id,
    app: row.app,
    tenant: row.tenant,
    name: row.name,
    generation: row.generation,
    version: row.version,
    spec: row.spec,
    state: row.state,
    dueAt: row.due_at,
    waitsFor: row.waits_for,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** See the contract. */
export async function schedules(work: Work, input: SchedulesInput): Promise<SchedulesReply> {
  const { filter, cursor, limit } = input;
  const bound = new Bound();
  const now = `duly.now_1(${bound.add(input.now ?? null)}::bigint)`;
  const parts: string[] = [];
  const addText = (column: string, value: string | null | undefined) => {
    if (value === null) parts.push(`${column} IS NULL`);
    else if (value !== undefined) parts.push(`${column} = ${bound.add(value)}::text`);
  };
  if (filter.ids !== undefined) parts.push(`id = ANY (${bound.list(filter.ids)})`);
  addText('app', filter.app);
  addText('tenant', filter.tenant);
  addText('name', filter.name);
  if (cursor !== null) {
    const [name, id] = JSON.parse(cursor) as [string, string];
    parts.push(`(name, id) > (${bound.add(name)}::text, ${bound.add(id)}::text)`);
  }
  const where = parts.length === 0 ? 'TRUE' : parts.join(' AND ');
  const rows = await work.rowsOnce<{ at: number } & ScheduleRow>(
    `SELECT ${now} AS at, s.* FROM (SELECT 1) one LEFT JOIN LATERAL (
       SELECT * FROM duly.schedules WHERE ${where} ORDER BY name, id LIMIT ${bound.add(limit + 1)}::bigint) s ON true ORDER BY s.name, s.id`,
    bound.values,
  );
  const found = rows.filter(({ id }) => id !== null);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = found.length > limit && last !== undefined ? JSON.stringify([last.name, last.id]) : null;
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
  const folds = await work.rows<Omit<FoldedSlots, 'counts'> & { counts: string }>(statements.schedule.folds, [
    scheduleId,
    fromAt,
    beforeAt,
    limit,
  ]);
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
    folded: folds.map(({ generation, startAt, fromAt: from, toAt, counts }) => ({
      ...{ generation, startAt, fromAt: from, toAt },
      counts: (JSON.parse(counts) as [string, number, 0 | 1][]).map(([decision, count, exact]) => ({
        decision,
        count,
        exact: exact === 1,
      })),
    })),
  };
}
