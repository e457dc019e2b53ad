import type {
  ActInput,
  Actor,
  ActTarget,
  CancelInput,
  ChangedItem,
  ChangedReply,
  JobTarget,
  RescheduleInput,
  RetryInput,
  RetryTarget,
} from '../../../contract/engine.ts';
import { allowsAction, type JobAction, type JobStatus } from '../../../contract/job-status.ts';
import { checkAction } from '../../shared/check-action.ts';
import { attemptsOf, statusAt } from '../../shared/job-row.ts';
import { audit } from '../audit.ts';
import { heldNow, holderOf, type KeyRow } from '../dedupe.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import type { JobRow } from '../rows.ts';
import { enter, finish, type JobStateRow, readJobState, setFree } from '../transitions.ts';
import type { Work } from '../work.ts';
import { reviveJob } from './insert-jobs.ts';
import { dueAtOf, rememberDeletion } from './job-spec.ts';
import { moveDue } from './move-due.ts';

/** Who does something to a job, and why. */
interface By {
  actor: Actor;
  note: string | null;
}

/** See the contract. */
export function cancel(work: Work, input: CancelInput): Omit<ChangedReply, 'now'> {
  const groups = eachGroup(work, input.groups, (group) =>
    group.targets.map((target) => cancelTarget(work, target, group.mode, group)),
  );
  return { groups };
}

/** See the contract. */
export function reschedule(work: Work, input: RescheduleInput): Omit<ChangedReply, 'now'> {
  const groups = eachGroup(work, input.groups, ({ actor, targets, due }) =>
    targets.map((target) =>
      onTarget(work, target, (row) => rescheduleJob(work, row, dueAtOf(work, due), actor)),
    ),
  );
  return { groups };
}

function rescheduleJob(work: Work, row: JobStateRow, dueAt: number, actor: Actor): ChangedItem {
  if (row.status === 'RUNNING') return { ...briefOf(row), result: 'refused' };
  if (dueAt === row.due_at) return { ...briefOf(row), result: 'unchanged' };
  const status = moveDue(work, row, dueAt, 'rescheduled');
  auditJob(work, { actor, note: null }, 'reschedule', row, { status, dueAt });
  return { id: row.id, result: 'changed', status, dueAt };
}

/** See the contract. */
export function retry(work: Work, input: RetryInput): Omit<ChangedReply, 'now'> {
  const groups = eachGroup(work, input.groups, (group) =>
    group.targets.map((target) => retryTarget(work, target, group)),
  );
  return { groups };
}

function retryTarget(work: Work, { id, expectFence }: RetryTarget, by: By): ChangedItem {
  const found = expectFence === undefined ? undefined : readState(work, id);
  if (found === undefined || found.fence === expectFence) return retryJob(work, id, by);
  return { id, result: 'unchanged', status: found.status, dueAt: found.due_at };
}

/** See the contract. */
export function act(work: Work, input: ActInput): Omit<ChangedReply, 'now'> {
  const groups = eachGroup(work, input.groups, ({ action, targets, actor, note }) => {
    checkAction(action);
    return targets.map((target) => actOn(work, target, action, { actor, note }));
  });
  return { groups };
}

function actOn(work: Work, target: ActTarget, action: JobAction, by: By): ChangedItem {
  const { id } = target;
  const state = readState(work, id);
  if (state === undefined) return missing(id);
  const item = { id, status: state.status, dueAt: state.due_at };
  if (!isAsExpected(work, state, target)) return { ...item, result: 'refused' };
  if (action === 'cancel' || action === 'terminate')
    return cancelTarget(work, { id }, action === 'cancel' ? 'ask' : 'terminate', by);
  // It also knows a job that was retried already.
  if (action === 'retry') return retryJob(work, id, by);
  if (!allowsAction(action, { status: state.status, dead: state.dead === 1 }))
    return { ...item, result: 'refused' };
  if (action === 'delete') {
    deleteJob(work, id, by);
    return { id, result: 'changed', status: null, dueAt: null };
  }
  work.run(statements.act.discard, { id, now: work.now });
  auditFinished(work, by, 'discard', id, { dead: true }, { dead: false });
  return { ...item, result: 'changed' };
}

interface StateRow {
  status: JobStatus;
  due_at: number;
  fence: number;
  updated_at: number;
  dead: number;
}

/** What expectations and permission depend on, wherever the job is. */
function readState(work: Work, id: string): StateRow | undefined {
  return (
    work.get<StateRow>(statements.act.liveState, id) ?? work.get<StateRow>(statements.act.finishedState, id)
  );
}

function isAsExpected(work: Work, row: StateRow, target: ActTarget): boolean {
  const { expectFence, expectStatus, expectUpdatedAt } = target;
  if (expectFence !== undefined && row.fence !== expectFence) return false;
  if (expectStatus !== undefined && statusAt(row, work.now) !== expectStatus) return false;
  return expectUpdatedAt === undefined || row.status === 'RUNNING' || row.updated_at === expectUpdatedAt;
}

function deleteJob(work: Work, id: string, by: By): void {
  const live = readJobState(work, id);
  if (live !== undefined) {
    auditJob(work, by, 'delete', live, null);
    work.run(statements.job.remove, live.seq);
    work.changed(live.id, live.type, 'CANCELLED', 'deleted', live.percent);
    setFree(work, live, 'deleted');
    rememberDeletion(work, { id, status: 'CANCELLED', dueAt: live.due_at });
  } else {
    const row = work.get<JobRow>(statements.job.finished, id) as JobRow;
    auditFinished(work, by, 'delete', id, { status: row.status }, null);
    work.run(statements.job.removeFinished, id);
    work.changed(row.id, row.type, row.status, 'deleted', row.percent);
    rememberDeletion(work, { id, status: row.status, dueAt: row.due_at });
  }
  forget(work, id);
}

/** Removes what is kept beside a job. */
function forget(work: Work, id: string): void {
  work.run(statements.job.removeLogs, id);
  work.run(statements.job.removeChildren, id);
  work.run(statements.job.removeJournal, `job:${id}`);
}

/** Cancels what a target names; a key names its holder and the follow-up behind it. */
export function cancelTarget(work: Work, target: JobTarget, mode: 'ask' | 'terminate', by: By): ChangedItem {
  if ('key' in target) {
    const at = [target.type, target.tenant ?? '', target.key] as const;
    // Once the holder's time is over the follow-up is what the key names, and then nothing.
    const followId = heldNow(work.get<KeyRow>(statements.dedupe.holder, ...at), work.now)?.follow_id;
    const follow = followId == null ? undefined : readJobState(work, followId);
    // First, or the end of the holder would let it run.
    if (follow !== undefined) cancelJob(work, follow, mode, by);
  }
  const item = onTarget(work, target, (row) => cancelJob(work, row, mode, by));
  // A repeat of a cancel that took effect.
  return item.result === 'refused' && item.status === 'CANCELLED' ? { ...item, result: 'unchanged' } : item;
}

/** Cancels one live job. */
export function cancelJob(work: Work, row: JobStateRow, mode: 'ask' | 'terminate', by: By): ChangedItem {
  if (row.status === 'RUNNING' && mode === 'ask') {
    if (row.cancel_requested_at !== null) return { ...briefOf(row), result: 'unchanged' };
    work.run(statements.act.askCancel, { seq: row.seq, now: work.now, actor: by.actor });
    auditJob(work, by, 'cancel', row, { status: row.status, cancelRequestedAt: work.now });
    work.changed(row.id, row.type, row.status, 'cancel-asked', row.percent);
    work.notifications.add('cancel');
    return { ...briefOf(row), result: 'asked' };
  }
  auditJob(work, by, mode === 'ask' ? 'cancel' : 'terminate', row, { status: 'CANCELLED' });
  finish(work, row, {
    status: 'CANCELLED',
    reason: 'cancelled',
    cancelledBy: by.actor,
    // A running attempt must not be able to settle any more.
    fence: row.status === 'RUNNING' ? work.fences(1) : row.fence,
  });
  if (row.status === 'RUNNING') work.notifications.add('cancel');
  return { id: row.id, result: 'changed', status: 'CANCELLED', dueAt: row.due_at };
}

function retryJob(work: Work, id: string, by: By): ChangedItem {
  const live = readJobState(work, id);
  // Still waiting or running: also the answer to a repeat of a retry that took effect.
  if (live !== undefined)
    return { ...briefOf(live), result: live.reason === 'retried' ? 'unchanged' : 'refused' };
  const row = work.get<JobRow>(statements.job.finished, id);
  if (row === undefined) return missing(id);
  if (row.status === 'COMPLETED') return { id, result: 'refused', status: row.status, dueAt: row.due_at };
  const error = row.error === null ? null : JSON.parse(row.error);
  const attempts = JSON.stringify(attemptsOf(row, error).slice(-50));
  reviveJob(work, row, attempts);
  work.run(statements.job.removeFinished, id);
  const revived = readJobState(work, id) as JobStateRow;
  if (row.dedupe_key !== null) holdKeyAgain(work, revived, row.dedupe_key);
  const status = enter(work, revived, 'retried');
  auditFinished(work, by, 'retry', id, { status: row.status }, { status });
  return { id, result: 'changed', status, dueAt: work.now };
}

/** A retried job holds its key again, unless the key is still held. */
function holdKeyAgain(work: Work, row: JobStateRow, key: string): void {
  const at = [row.type, row.tenant ?? '', key] as const;
  if (heldNow(work.get<KeyRow>(statements.dedupe.holder, ...at), work.now) === null) {
    work.run(statements.dedupe.hold, ...at, row.id, null, work.now);
  }
}

function onTarget(work: Work, target: JobTarget, fn: (row: JobStateRow) => ChangedItem): ChangedItem {
  const id = 'id' in target ? target.id : holderOf(work, target);
  if (id === null) return missing(null);
  const row = readJobState(work, id);
  if (row !== undefined) return fn(row);
  const ended = work.get<{ status: JobStatus; due_at: number }>(statements.job.finishedBrief, id);
  if (ended === undefined) return missing(id);
  return { id, result: 'refused', status: ended.status, dueAt: ended.due_at };
}

function briefOf(row: JobStateRow): { id: string; status: JobStatus; dueAt: number } {
  return { id: row.id, status: row.status, dueAt: row.due_at };
}

function missing(id: string | null): ChangedItem {
  return { id, result: 'missing', status: null, dueAt: null };
}

function auditJob(
  work: Work,
  { actor, note }: By,
  action: string,
  row: JobStateRow,
  after: object | null,
): void {
  const before = { status: row.status, dueAt: row.due_at };
  audit(work, { actor, note, action, subject: `job:${row.id}`, before, after });
}

function auditFinished(
  work: Work,
  { actor, note }: By,
  action: string,
  id: string,
  before: object,
  after: object | null,
): void {
  audit(work, { actor, note, action, subject: `job:${id}`, before, after });
}
