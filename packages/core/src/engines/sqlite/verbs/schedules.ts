import { dulyError } from '../../../base/errors.ts';
import type {
  ActiveRun,
  AppliedSchedule,
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimedSchedule,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  FireGroup,
  FireInput,
  FireReply,
  JobSlot,
  JobSpec,
  Origin,
  ScheduleChange,
  SchedulesInput,
  SchedulesReply,
  SlotRow,
  SlotsInput,
  SlotsReply,
} from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { type ScheduleColumns, toScheduleRecord } from '../../shared/schedule-row.ts';
import { audit } from '../audit.ts';
import { readCompacted } from '../compact-ledger.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import { readJobState } from '../transitions.ts';
import type { Value, Work } from '../work.ts';
import { cancelJob } from './change.ts';
import { claimCreated, createJob } from './enqueue.ts';
import { isPlain } from './job-spec.ts';
import { insertTaken, takeAtOnce, takenOf } from './take-at-once.ts';

interface ScheduleRow extends ScheduleColumns {
  seq: number;
  fence: number;
}

/** The columns of a schedule under lease, in the order of the statements that take one. */
type LeasedTuple = [
  id: string,
  app: string | null,
  tenant: string | null,
  name: string,
  generation: number,
  version: number,
  spec: string,
  state: string,
  due_at: number | null,
  waits_for: string | null,
  created_at: number,
  updated_at: number,
  fence: number,
];

/** See the contract. */
export function applySchedules(work: Work, input: ApplySchedulesInput): Omit<ApplySchedulesReply, 'now'> {
  const groups = eachGroup(work, input.groups, (group) =>
    group.changes.map((change) => apply(work, group.actor, change)),
  );
  return { groups };
}

function apply(work: Work, actor: string, change: ScheduleChange): AppliedSchedule {
  const before = work.get<ScheduleRow>(statements.schedule.read, change.id);
  const version = before?.version ?? null;
  if (version !== change.expectVersion) {
    throw dulyError('records_conflict', {
      message: `Schedule "${change.id}" is at version ${version ?? 'none'}, not ${change.expectVersion ?? 'none'}.`,
      hint: 'Someone changed it meanwhile. Read it again and repeat the change.',
      details: { id: change.id, version },
    });
  }
  if (change.expectGeneration !== undefined && before?.generation !== change.expectGeneration) {
    throw dulyError('records_conflict', {
      message: `Schedule "${change.id}" was deleted and created again: it is in generation ${before?.generation ?? 'none'}, not ${change.expectGeneration}.`,
      hint: 'Read it again and repeat the change.',
      details: { id: change.id, version },
    });
  }
  if (change.op === 'put' && !allWait(work, change.slotDetails ?? [])) {
    throw dulyError('records_conflict', {
      message: `A run of schedule "${change.id}" whose slot details change no longer waits.`,
      hint: 'Read the schedule again and repeat the change.',
      details: { id: change.id, version },
    });
  }
  work.notifications.add('schedules');
  const subject = `schedule:${change.id}`;
  if (change.op === 'delete') {
    const row = before as ScheduleRow;
    for (const { id } of work.all<{ id: string }>(statements.schedule.unstarted, change.id)) {
      const job = readJobState(work, id);
      if (job !== undefined) cancelJob(work, job, 'ask', { actor, note: `schedule ${change.action}` });
    }
    for (const slot of change.slots ?? []) addSlot(work, change.id, row.generation, slot);
    work.run(statements.schedule.delete, change.id);
    work.run(statements.schedule.deleteSpec, row.seq);
    const note = change.note ?? null;
    // All of it: the ledger stays, and whoever reads it must know what it is the ledger of.
    const { app, tenant, name, generation } = row;
    const gone = { ...auditOf(row), app, tenant, name, generation, state: JSON.parse(row.state) as unknown };
    audit(work, { actor, action: change.action, subject, before: gone, after: null, note });
    return { id: change.id, version: row.version, generation: row.generation };
  }
  const values = {
    id: change.id,
    app: change.app,
    tenant: change.tenant,
    name: change.name,
    state: change.state,
    due: waitsInVain(work, change) ? work.now : change.dueAt,
    waitsFor: change.waitsFor,
    now: work.now,
  };
  let generation = before?.generation;
  if (generation === undefined) {
    generation =
      (work.get<{ generation: number }>(statements.schedule.generation, change.id)?.generation ?? 0) + 1;
    work.run(statements.schedule.setGeneration, change.id, generation);
    const seq = work.insert(statements.schedule.insert, { ...values, generation }) as number;
    work.run(statements.schedule.putSpec, seq, change.spec);
  } else {
    work.run(statements.schedule.update, values);
    work.run(statements.schedule.putSpec, (before as ScheduleRow).seq, change.spec);
  }
  endOthers(work, change.cancel ?? [], actor);
  for (const job of change.jobs) createJob(work, job, false);
  for (const slot of change.slots) addSlot(work, change.id, generation, slot);
  setSlotDetails(work, change.slotDetails ?? []);
  const after = work.get<ScheduleRow>(statements.schedule.read, change.id) as ScheduleRow;
  audit(work, {
    actor,
    action: change.action,
    subject,
    before: before === undefined ? null : auditOf(before),
    after: auditOf(after),
    note: change.note ?? null,
  });
  return { id: change.id, version: after.version, generation };
}

function auditOf(row: ScheduleRow): object {
  return { version: row.version, spec: JSON.parse(row.spec) as unknown, dueAt: row.due_at };
}

/** See the contract. */
export function claimSchedules(work: Work, input: ClaimSchedulesInput): Omit<ClaimSchedulesReply, 'now'> {
  const again = work.tuples<LeasedTuple>(statements.schedule.byToken, input.token);
  const leased =
    again.length > 0 ? again : input.ids === null ? leaseDue(work, input) : leaseNamed(work, input);
  return {
    schedules: leased.map((row) => toClaimed(work, row)),
    nextDueAt: nextDueAt(work, input.token),
    more: leased.length >= input.limit && input.ids === null,
  };
}

/** Reply of an empty claim, read without a transaction; null: a transaction is needed. */
export function checkSchedules(
  work: Work,
  input: ClaimSchedulesInput,
): Omit<ClaimSchedulesReply, 'now'> | null {
  if (input.ids !== null) return null;
  const [dueAt] = work.tuple<[number | null]>(statements.schedule.peek) as [number | null];
  // A due schedule may be leased, and then the end of its lease counts, which the claim itself reads.
  return dueAt !== null && dueAt <= work.now ? null : { schedules: [], nextDueAt: dueAt, more: false };
}

type DueTuple = [
  seq: number,
  id: string,
  app: string | null,
  tenant: string | null,
  name: string,
  generation: number,
  version: number,
  spec: string,
  state: string,
  due_at: number,
  waits_for: string | null,
  created_at: number,
  updated_at: number,
];

/**
 * One fence for all that a claim takes: each of them had a smaller one before. They are read and then leased: an update that returns
 * what it wrote costs half as much again, and answers in no order.
 */
function leaseDue(work: Work, { leaseMs, token, node, limit }: ClaimSchedulesInput): LeasedTuple[] {
  const due = work.tuples<DueTuple>(statements.schedule.due, work.now, work.steady, limit);
  const [first] = due;
  if (first === undefined) return [];
  const fence = work.fences(1);
  const leaseUntil = work.steady + leaseMs;
  if (due.length === 1) work.run(statements.schedule.leaseOne, fence, leaseUntil, token, node, first[0]);
  else {
    const seqs = JSON.stringify(due.map(([seq]) => seq));
    work.run(statements.schedule.leaseMany, fence, leaseUntil, token, node, seqs);
  }
  return due.map(([, ...row]): LeasedTuple => [...row, fence]);
}

function leaseNamed(work: Work, { ids, leaseMs, token, node, limit }: ClaimSchedulesInput): LeasedTuple[] {
  const { steady } = work;
  const fence = work.fences(1);
  const leaseUntil = steady + leaseMs;
  return (ids ?? [])
    .slice(0, limit)
    .map((id) =>
      work.tuple<LeasedTuple>(statements.schedule.lease, fence, leaseUntil, token, node, id, steady),
    )
    .filter((row) => row !== undefined);
}

/** Also when another claim's lease ends: whoever holds it may be dead, and then somebody else must decide. */
function nextDueAt(work: Work, token: string): number | null {
  const { now, steady } = work;
  const [free, leased] = work.tuple<[free: number | null, leased: number | null]>(
    statements.schedule.nextDue,
    steady,
    token,
  ) as [number | null, number | null];
  if (leased === null) return free;
  return Math.min(free ?? Number.POSITIVE_INFINITY, now + (leased - steady));
}

// As many as the statement takes.
const activeCountMax = 10;

function toClaimed(work: Work, row: LeasedTuple): ClaimedSchedule {
  const [id, , , , , , , , , waitsFor] = row;
  const active = work
    .tuples<
      [
        id: string,
        status: JobStatus,
        slot: string,
        origin: Origin,
        dueAt: number,
        cancelRequestedAt: number | null,
      ]
    >(statements.schedule.active, id)
    .map(
      (run): ActiveRun => ({
        id: run[0],
        status: run[1],
        slotAt: (JSON.parse(run[2]) as JobSlot).slotAt,
        origin: run[3],
        dueAt: run[4],
        cancelRequestedAt: run[5],
      }),
    );
  // Fewer than the page holds are all there are.
  const count =
    active.length < activeCountMax
      ? active.length
      : (work.get<{ count: number }>(statements.schedule.activeCount, id) as { count: number }).count;
  const ended =
    waitsFor === null
      ? undefined
      : work.get<{ id: string; status: JobStatus; finished_at: number }>(
          statements.job.finishedBrief,
          waitsFor,
        );
  const waited =
    ended === undefined ? null : { id: ended.id, status: ended.status, finishedAt: ended.finished_at };
  return {
    id,
    app: row[1],
    tenant: row[2],
    name: row[3],
    generation: row[4],
    version: row[5],
    spec: row[6],
    state: row[7],
    dueAt: row[8],
    waitsFor,
    createdAt: row[10],
    updatedAt: row[11],
    fence: row[12],
    active,
    activeCount: count,
    waited,
  };
}

/** See the contract. */
export function fire(work: Work, input: FireInput): Omit<FireReply, 'now'> {
  const specs = input.groups.flatMap(({ jobs }) => jobs);
  const isEnding = input.groups.some(({ cancel }) => cancel.length > 0);
  const atOnce = isEnding ? null : takeAtOnce(work, input.claim, specs);
  const create = (spec: JobSpec): unknown =>
    atOnce === null ? createJob(work, spec, false) : insertTaken(work, spec, atOnce);
  const groups = input.groups.map((group) => fireGroup(work, group, input.node, create));
  if (atOnce !== null) return { groups, claimed: takenOf(atOnce) };
  return { groups, claimed: claimCreated(work, input, !isEnding && specs.every(isPlain) ? specs : null) };
}

/** Compares and sets first, so that of a conflict nothing is written; what fails after that fails the whole call. */
function fireGroup(
  work: Work,
  group: FireGroup,
  node: string,
  create: (spec: JobSpec) => unknown,
): FireReply['groups'][number] {
  const { scheduleId, waitsFor, jobs } = group;
  if (!allWait(work, group.slotDetails ?? [])) {
    const isOurs = work.run(statements.schedule.free, scheduleId, group.version, group.fence) > 0;
    return isOurs ? 'stale' : 'conflict';
  }
  const isWaitOver = waitsInVain(work, group);
  const held = work.tuple<[seq: number, generation: number]>(
    statements.schedule.held,
    scheduleId,
    group.version,
    group.fence,
  );
  if (held === undefined) return 'conflict';
  const [seq, generation] = held;
  const dueAt = isWaitOver ? work.now : group.dueAt;
  work.run(statements.schedule.fire, group.state, dueAt, waitsFor, work.now, seq);
  endOthers(work, group.cancel, node);
  for (const job of jobs) create(job);
  for (const slot of group.slots) addSlot(work, scheduleId, generation, slot);
  setSlotDetails(work, group.slotDetails ?? []);
  // As a rule no notification for schedules: the node that fired comes back when it planned to, and the others saw its lease and look again when
  // that would have ended. But it did not plan to come back at once.
  if (isWaitOver) work.notifications.add('schedules');
  return 'fired';
}

function endOthers(work: Work, others: FireGroup['cancel'], actor: string): void {
  for (const { id, mode } of others) {
    const job = readJobState(work, id);
    if (job !== undefined) cancelJob(work, job, mode, { actor, note: 'overlap policy' });
  }
}

/** Whether the runs that are to be told something still wait, and so will hear it. */
function allWait(work: Work, slotDetails: NonNullable<FireGroup['slotDetails']>): boolean {
  return slotDetails.every(({ id }) => work.get(statements.schedule.waits, id) !== undefined);
}

/** Gives runs that wait behind others their new details. */
function setSlotDetails(work: Work, slotDetails: NonNullable<FireGroup['slotDetails']>): void {
  for (const { id, details } of slotDetails) work.run(statements.schedule.setSlotDetails, details, id);
}

/**
 * Whether a schedule would wait for a job that has already ended. A job of the same write has not: if it ends in this write, its end makes
 * the schedule due.
 */
function waitsInVain(
  work: Work,
  { waitsFor, jobs }: { waitsFor: string | null; jobs: readonly JobSpec[] },
): boolean {
  if (waitsFor === null || jobs.some(({ id }) => id === waitsFor)) return false;
  return readJobState(work, waitsFor) === undefined;
}

/** Writes a ledger row, or lengthens the newest one when the decision is the same and no job stands between. */
function addSlot(work: Work, scheduleId: string, generation: number, slot: SlotRow): void {
  // A slot with a job stands alone, so nobody has to look.
  const last =
    slot.jobId !== null
      ? undefined
      : work.get<{
          from_at: number;
          count: number | null;
          decision: string;
          reason: string | null;
          job_id: string | null;
        }>(statements.schedule.lastSlot, scheduleId, generation);
  const isSameRun =
    last !== undefined &&
    last.job_id === null &&
    last.decision === slot.decision &&
    last.reason === slot.reason &&
    last.from_at < slot.fromAt;
  if (isSameRun) {
    const count = last.count === null || slot.count === null ? null : last.count + slot.count;
    const { toAt } = slot;
    work.run(statements.schedule.extendSlot, toAt, count, work.now, scheduleId, generation, last.from_at);
    return;
  }
  work.run(
    statements.schedule.addSlot,
    scheduleId,
    generation,
    slot.fromAt,
    slot.toAt,
    slot.count,
    slot.decision,
    slot.reason,
    slot.node,
    slot.jobId,
    work.now,
    work.now,
  );
}

/** See the contract. */
export function schedules(
  work: Work,
  { filter, cursor, limit, order = 'name' }: SchedulesInput,
): Omit<SchedulesReply, 'now'> {
  const parts: string[] = [];
  const values: Value[] = [];
  const add = (sql: string, ...bound: Value[]) => {
    parts.push(sql);
    values.push(...bound);
  };
  if (filter.ids !== undefined) add('id IN (SELECT value FROM json_each(?))', JSON.stringify(filter.ids));
  if (filter.app !== undefined) add('app IS ?', filter.app);
  if (filter.tenant !== undefined) add('tenant IS ?', filter.tenant);
  if (filter.name !== undefined) add('name = ?', filter.name);
  if (order === 'due') add('due_at IS NOT NULL');
  else if (cursor !== null) add('(name, id) > (?, ?)', ...(JSON.parse(cursor) as [string, string]));
  const where = parts.length === 0 ? 'TRUE' : parts.join(' AND ');
  const rows = work.all<ScheduleRow>(
    `SELECT schedules.*, specs.spec FROM schedules JOIN specs USING (seq) WHERE ${where}
     ORDER BY ${order === 'due' ? 'due_at' : 'name'}, id LIMIT ?`,
    ...values,
    limit + 1,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const isMore = order === 'name' && rows.length > limit && last !== undefined;
  const nextCursor = isMore ? JSON.stringify([last.name, last.id]) : null;
  return { schedules: page.map(toScheduleRecord), nextCursor };
}

/** See the contract. */
export function slots(work: Work, input: SlotsInput): Omit<SlotsReply, 'now'> {
  const rows = work.all<{
    generation: number;
    from_at: number;
    to_at: number;
    count: number | null;
    decision: string;
    reason: string | null;
    node: string;
    job_id: string | null;
    decided_at: number;
    last_decided_at: number;
  }>(statements.schedule.slots, input.scheduleId, input.fromAt, input.beforeAt, input.limit);
  return {
    slots: rows.map((row) => ({
      generation: row.generation,
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
    compacted: readCompacted(work, input),
  };
}
