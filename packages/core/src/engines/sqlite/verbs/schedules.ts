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
  Origin,
  ScheduleChange,
  ScheduleRecord,
  SchedulesInput,
  SchedulesReply,
  SlotRow,
  SlotsInput,
  SlotsReply,
} from '../../../engine.ts';
import { dulyError } from '../../../errors.ts';
import type { JobStatus } from '../../../job.ts';
import { audit } from '../audit.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import { readLife } from '../life.ts';
import type { Value, Work } from '../work.ts';
import { cancelJob } from './change.ts';
import { makeJob } from './enqueue.ts';

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
  fence: number;
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
  if (change.op === 'put' && !allWait(work, change.tell ?? [])) {
    throw dulyError('records_conflict', {
      message: `A run of schedule "${change.id}" that was to be told what is merged into it no longer waits.`,
      hint: 'Read the schedule again and repeat the change.',
      details: { id: change.id, version },
    });
  }
  work.hints.add('schedules');
  const subject = `schedule:${change.id}`;
  if (change.op === 'delete') {
    const row = before as ScheduleRow;
    for (const { id } of work.all<{ id: string }>(statements.schedule.unstarted, change.id)) {
      const job = readLife(work, id);
      if (job !== undefined) cancelJob(work, job, 'ask', { actor, note: `schedule ${change.action}` });
    }
    work.run(statements.schedule.delete, change.id);
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
    spec: change.spec,
    state: change.state,
    due: isOver(work, change.waitsFor) ? work.now : change.dueAt,
    waitsFor: change.waitsFor,
    now: work.now,
  };
  let generation = before?.generation;
  if (generation === undefined) {
    generation =
      (work.get<{ generation: number }>(statements.schedule.generation, change.id)?.generation ?? 0) + 1;
    work.run(statements.schedule.setGeneration, change.id, generation);
    work.insert(statements.schedule.insert, { ...values, generation });
  } else {
    work.run(statements.schedule.update, values);
  }
  endOthers(work, change.cancel ?? [], actor);
  for (const job of change.jobs) makeJob(work, job, false);
  for (const slot of change.slots) addSlot(work, change.id, generation, slot);
  tell(work, change.tell ?? []);
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
  const { now, steady } = work;
  const again = work.all<ScheduleRow>(statements.schedule.byToken, input.token);
  const wanted =
    again.length > 0
      ? again
      : input.ids === null
        ? work.all<ScheduleRow>(statements.schedule.due, { now, steady, limit: input.limit })
        : input.ids
            .slice(0, input.limit)
            .map((id) => work.get<ScheduleRow>(statements.schedule.read, id))
            .filter((row) => row !== undefined);
  const schedules: ClaimedSchedule[] = [];
  let nextFence = again.length > 0 || wanted.length === 0 ? 0 : work.fences(wanted.length);
  for (const row of wanted) {
    const fence = again.length > 0 ? row.fence : nextFence++;
    if (again.length > 0 || lease(work, row, fence, input)) schedules.push(toClaimed(work, row, fence));
  }
  return {
    schedules,
    nextDueAt: nextDueAt(work, input.token),
    more: wanted.length >= input.limit && input.ids === null,
  };
}

/** Also when another claim's lease ends: whoever holds it may be dead, and then somebody else must decide. */
function nextDueAt(work: Work, token: string): number | null {
  const { now, steady } = work;
  const free = work.get<{ at: number | null }>(statements.schedule.nextDue, { steady })?.at ?? null;
  const leased =
    work.get<{ at: number | null }>(statements.schedule.nextLeaseEnd, { steady, token })?.at ?? null;
  if (leased === null) return free;
  return Math.min(free ?? Number.POSITIVE_INFINITY, now + (leased - steady));
}

function lease(
  work: Work,
  row: ScheduleRow,
  fence: number,
  { token, node, leaseMs }: ClaimSchedulesInput,
): boolean {
  const { steady } = work;
  const taken = work.run(statements.schedule.lease, {
    id: row.id,
    fence,
    leaseUntil: steady + leaseMs,
    token,
    node,
    steady,
  });
  return taken === 1;
}

// As many as the statement takes.
const activeCountMax = 10;

function toClaimed(work: Work, row: ScheduleRow, fence: number): ClaimedSchedule {
  const active = work
    .all<{
      id: string;
      status: JobStatus;
      slot: string;
      origin: Origin;
      due_at: number;
      cancel_requested_at: number | null;
    }>(statements.schedule.active, row.id)
    .map(
      (run): ActiveRun => ({
        id: run.id,
        status: run.status,
        slotAt: (JSON.parse(run.slot) as JobSlot).slotAt,
        origin: run.origin,
        dueAt: run.due_at,
        cancelRequestedAt: run.cancel_requested_at,
      }),
    );
  // Fewer than the page holds are all there are.
  const count =
    active.length < activeCountMax
      ? active.length
      : (work.get<{ count: number }>(statements.schedule.activeCount, row.id) as { count: number }).count;
  const ended =
    row.waits_for === null
      ? undefined
      : work.get<{ id: string; status: JobStatus; finished_at: number }>(
          statements.job.finishedBrief,
          row.waits_for,
        );
  const waited =
    ended === undefined ? null : { id: ended.id, status: ended.status, finishedAt: ended.finished_at };
  return { ...toScheduleRecord(row), fence, active, activeCount: count, waited };
}

/** See the contract. */
export function fire(work: Work, input: FireInput): Omit<FireReply, 'now'> {
  const groups = input.groups.map((group): FireReply['groups'][number] => {
    const row = work.get<ScheduleRow>(statements.schedule.read, group.scheduleId);
    if (row === undefined || row.version !== group.version || row.fence !== group.fence) return 'conflict';
    if (!allWait(work, group.tell ?? [])) {
      work.run(statements.schedule.free, row.id);
      return 'stale';
    }
    // A lone group cannot be half done: its failure is the transaction's.
    if (input.groups.length === 1) fireGroup(work, row, group, input.node);
    else work.attempt(() => fireGroup(work, row, group, input.node));
    return 'fired';
  });
  return { groups };
}

function fireGroup(work: Work, row: ScheduleRow, group: FireGroup, node: string): void {
  endOthers(work, group.cancel, node);
  for (const job of group.jobs) makeJob(work, job, false);
  for (const slot of group.slots) addSlot(work, row.id, row.generation, slot);
  tell(work, group.tell ?? []);
  // Last: a job made or ended above must not leave the schedule waiting for something that is over already.
  work.run(statements.schedule.fire, {
    id: row.id,
    version: group.version,
    fence: group.fence,
    state: group.state,
    due: isOver(work, group.waitsFor) ? work.now : group.dueAt,
    waitsFor: group.waitsFor,
    now: work.now,
  });
  // No hint: the node that fired comes back by itself, and the others saw its lease and look again when that would have ended.
}

function endOthers(work: Work, others: FireGroup['cancel'], actor: string): void {
  for (const { id, mode } of others) {
    const job = readLife(work, id);
    if (job !== undefined) cancelJob(work, job, mode, { actor, note: 'overlap policy' });
  }
}

/** Whether the runs that are to be told something still wait, and so will hear it. */
function allWait(work: Work, told: NonNullable<FireGroup['tell']>): boolean {
  return told.every(({ id }) => work.get(statements.schedule.waits, id) !== undefined);
}

/** Gives runs that wait behind others their new details. */
function tell(work: Work, told: NonNullable<FireGroup['tell']>): void {
  for (const { id, details } of told) work.run(statements.schedule.tell, details, id);
}

/** Whether a schedule would wait for a job that is over already. */
function isOver(work: Work, waitsFor: string | null): boolean {
  return waitsFor !== null && readLife(work, waitsFor) === undefined;
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
  { filter, cursor, limit }: SchedulesInput,
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
  if (cursor !== null) add('(name, id) > (?, ?)', ...(JSON.parse(cursor) as [string, string]));
  const where = parts.length === 0 ? 'TRUE' : parts.join(' AND ');
  const rows = work.all<ScheduleRow>(
    `SELECT * FROM schedules WHERE ${where} ORDER BY name, id LIMIT ?`,
    ...values,
    limit + 1,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? JSON.stringify([last.name, last.id]) : null;
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
  };
}
