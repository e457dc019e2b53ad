import { dulyError } from '../../../base/errors.ts';
import type {
  AppliedSchedule,
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  FireGroup,
  FireInput,
  FireReply,
  ScheduleChange,
  SchedulesInput,
  SchedulesReply,
  SlotsInput,
  SlotsReply,
} from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { type ScheduleColumns, toScheduleRecord } from '../../shared/schedule-row.ts';
import { audit } from '../audit.ts';
import { readCompacted } from '../compact-ledger.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import { readJobState } from '../job-state.ts';
import type { Value, Work } from '../work.ts';
import { cancelJob } from './act.ts';
import { claimCreated } from './enqueue.ts';
import { insertJobs } from './insert-jobs.ts';
import { claimedOf, planRunNow, type RunNow } from './run-now.ts';
import { addSlot, allWait, endOthers, setSlotDetails, waitsInVain } from './schedule-effects.ts';
import { type LeasedTuple, leaseDue, leaseNamed, nextDueAt, toClaimed } from './schedule-lease.ts';

interface ScheduleRow extends ScheduleColumns {
  seq: number;
  fence: number;
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
    // The whole schedule: its ledger stays, and readers of the ledger need to know which schedule it was.
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
  insertJobs(work, change.jobs, null);
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
  // If the schedule is leased, the end of its lease counts, which the claim itself reads.
  return dueAt !== null && dueAt <= work.now ? null : { schedules: [], nextDueAt: dueAt, more: false };
}

/** See the contract. */
export function fire(work: Work, input: FireInput): Omit<FireReply, 'now'> {
  const specs = input.groups.flatMap(({ jobs }) => jobs);
  const isEnding = input.groups.some(({ cancel }) => cancel.length > 0);
  const runNow = isEnding ? null : planRunNow(work, input.claim, specs);
  const groups = input.groups.map((group) => fireGroup(work, group, input.node, runNow));
  if (runNow !== null) return { groups, claimed: claimedOf(runNow) };
  return { groups, claimed: claimCreated(work, input, !isEnding && specs.every(isPlain) ? specs : null) };
}

/** Compares and sets first, so that a conflict writes nothing. A later failure fails the whole call. */
function fireGroup(
  work: Work,
  group: FireGroup,
  node: string,
  runNow: RunNow | null,
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
  insertJobs(work, jobs, runNow);
  for (const slot of group.slots) addSlot(work, scheduleId, generation, slot);
  setSlotDetails(work, group.slotDetails ?? []);
  // The node that fired returns when it planned to, and other nodes check again when its lease would have
  // ended. Only a schedule that is due at once needs a notification.
  if (isWaitOver) work.notifications.add('schedules');
  return 'fired';
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
