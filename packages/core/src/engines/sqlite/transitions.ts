/**
 * The transitions of a job that several verbs share: becoming ready, waiting behind a gate, and ending, with
 * all jobs, keys and schedules that an end releases.
 */

import type { AttemptRecord, JobError, ReportBody, SettleReason } from '../../contract/engine.ts';
import type { JobStatus, TerminalStatus } from '../../contract/job-status.ts';
import { transferDedupeKey } from './dedupe.ts';
import { statements } from './generated.ts';
import { type JobStateRow, readJobState, readJobStateBySeq } from './job-state.ts';
import type { Work } from './work.ts';

export { type JobStateRow, readJobState };

/** How a job ends. */
export interface Ending {
  status: TerminalStatus;
  reason: string | null;
  result?: string | null;
  error?: JobError | null;
  report?: ReportBody | null;
  spent?: number;
  losses?: number;
  begunLosses?: number;
  /** Its handler was never entered, so the claim does not count as its start. */
  isUnstarted?: boolean;
  /** A new fence kills the one under which the job ran. */
  fence?: number;
  cancelledBy?: string | null;
  /** What happened, for the feed; the status decides it otherwise. */
  event?: string;
}

/** The name of a serial place: keys are per tenant, and any text may be a key. */
export function serialRef(tenant: string | null, serial: string): string {
  return JSON.stringify([tenant, serial]);
}

/** The part of a job that becoming ready needs. */
export type WaitingRow = Pick<
  JobStateRow,
  'seq' | 'id' | 'type' | 'tenant' | 'status' | 'reason' | 'rank_offset' | 'due_at' | 'serial' | 'percent'
>;

/**
 * Makes a due job whose other gates are open ready. A job with a serial key first takes its place, or waits
 * for it.
 */
export function enter(work: Work, row: WaitingRow, event: string): JobStatus {
  if (row.serial === null || row.status === 'RETRYING') return createReady(work, row, event);
  const ref = serialRef(row.tenant, row.serial);
  const holder = work.get<{ job: number }>(statements.job.serialHolder, ref);
  if (holder?.job === row.seq) return createReady(work, row, event);
  queueSerial(work, { tenant: row.tenant, serial: row.serial, seq: row.seq });
  if (holder === undefined && !hasEarlier(work, ref, row.due_at, row.seq)) {
    work.run(statements.job.holdSerial, ref, row.seq);
    return createReady(work, row, event);
  }
  work.run(statements.job.addGate, 'serial', ref, row.due_at, row.seq);
  place(work, row, { status: 'BLOCKED', ready: false, event: event === 'retried' ? event : 'gate-shut' });
  if (holder === undefined) promoteSerialHead(work, ref);
  return 'BLOCKED';
}

function createReady(work: Work, row: WaitingRow, event: string): JobStatus {
  return place(work, row, { status: row.status === 'RETRYING' ? 'RETRYING' : 'PENDING', ready: true, event });
}

/** Queues the due jobs of a serial key that were not promoted yet, except `seq` (-1: none). */
export function queueSerial(work: Work, key: { tenant: string | null; serial: string; seq: number }): void {
  const ref = serialRef(key.tenant, key.serial);
  for (const row of work.all<WaitingRow>(statements.job.unpromotedOfSerial, { ...key, now: work.now })) {
    work.run(statements.job.addGate, 'serial', ref, row.due_at, row.seq);
    place(work, row, { status: 'BLOCKED', ready: false, event: 'gate-shut' });
  }
}

/** Whether a job that waits for a serial place was due earlier, or at the same instant and created before. */
export function hasEarlier(work: Work, ref: string, dueAt: number, seq: number): boolean {
  const first = work.get<{ seq: number; order_at: number }>(statements.job.nextInLine, ref);
  return first !== undefined && (first.order_at < dueAt || (first.order_at === dueAt && first.seq < seq));
}

/** Puts a live job into a waiting status. `ready`: it may be claimed. */
export function place(
  work: Work,
  row: WaitingRow,
  to: { status: JobStatus; ready: boolean; event: string; dueAt?: number; reason?: string | null },
): JobStatus {
  const due = to.dueAt ?? row.due_at;
  const reason = to.reason === undefined ? row.reason : to.reason;
  const rank = to.ready ? due + row.rank_offset : null;
  work.run(statements.job.place, to.status, reason, rank, due, due, work.now, row.seq);
  work.changed(row.id, row.type, to.status, to.event, row.percent);
  // Not ready means due later: a sleeping node must learn of an earlier instant as well.
  work.notifications.add('jobs', row.type);
  return to.status;
}

/** Releases a serial place and gives it to the next job that waits for it. */
export function leaveSerial(work: Work, row: Pick<JobStateRow, 'seq' | 'serial' | 'tenant'>): void {
  if (row.serial === null) return;
  const ref = serialRef(row.tenant, row.serial);
  if (work.run(statements.job.releaseSerial, ref, row.seq) === 0) return;
  queueSerial(work, { tenant: row.tenant, serial: row.serial, seq: row.seq });
  promoteSerialHead(work, ref);
}

/** Gives a free place to the first waiting job that is due. */
export function promoteSerialHead(work: Work, ref: string): void {
  for (;;) {
    const next = work.get<{ seq: number }>(statements.job.nextInLine, ref);
    if (next === undefined) return;
    work.run(statements.job.removeSerialGate, ref, next.seq);
    const waiting = readJobStateBySeq(work, next.seq) as JobStateRow;
    if (waiting.due_at <= work.now) {
      work.run(statements.job.holdSerial, ref, waiting.seq);
      createReady(work, waiting, 'gate-open');
      return;
    }
    // It was rescheduled to a later time while it waited, so the place goes to the next due job.
    place(work, waiting, { status: 'SCHEDULED', ready: false, event: 'gate-open' });
  }
}

/** Makes due jobs of these types ready, at most `limit` of each. Returns how many, and if these were all. */
export function promote(
  work: Work,
  types: Iterable<string>,
  limit: number,
): { count: number; isAll: boolean } {
  const rows: WaitingRow[] = [];
  let isAll = true;
  for (const type of types) {
    const due = work.all<WaitingRow>(statements.job.promotable, type, work.now, limit);
    if (due.length >= limit) isAll = false;
    rows.push(...due);
  }
  // If jobs of several types wait for one serial place, the job that was due first gets it.
  rows.sort((a, b) => a.due_at - b.due_at || a.seq - b.seq);
  const before = work.notifications.take('jobs');
  for (const row of rows) {
    // An earlier job of this list may have queued or promoted it, with the others of its serial key.
    const isMoved = row.serial !== null && readJobState(work, row.id)?.status !== row.status;
    if (!isMoved) enter(work, row, 'due');
  }
  // Every node knows the next due instant and wakes at it, so expected jobs need no notification.
  work.notifications.replace('jobs', before);
  return { count: rows.length, isAll };
}

/** The types of the jobs that wait for their time. */
export function waitingTypes(work: Work): string[] {
  const types: string[] = [];
  for (let last = ''; ; ) {
    const next = work.get<{ type: string }>(statements.job.nextWaitingType, last);
    if (next === undefined) return types;
    types.push(next.type);
    last = next.type;
  }
}

/** Ends jobs whose start deadline has passed before their first start. Returns how many. */
export function expireOverdue(work: Work, limit: number): number {
  const rows = work.tuples<[number]>(statements.job.overdue, work.now, limit);
  for (const [seq] of rows) {
    const row = readJobStateBySeq(work, seq);
    // The end of an earlier job of this list may have ended it.
    if (row !== undefined) finish(work, row, { status: 'EXPIRED', reason: 'start-deadline' });
  }
  return rows.length;
}

const eventOf: Record<TerminalStatus, string> = {
  COMPLETED: 'returned',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  EXPIRED: 'expired',
};

/** Ends a live job: moves it to history and releases what waited for it, in the same transaction. */
export function finish(work: Work, row: JobStateRow, ending: Ending): void {
  const progress = ending.report?.progress ?? null;
  const { now } = work;
  const isDead = ending.status === 'FAILED';
  const isCompleted = ending.status === 'COMPLETED';
  const { retentionMs, deadRetentionMs } = work.policy(row.policy);
  if (ending.status === 'CANCELLED' && row.status === 'RUNNING') {
    const { reason, error = null, fence = row.fence } = ending;
    const entry = attemptEntry(work, { ...row, fence }, { reason: reason as SettleReason, error });
    if (work.run(statements.settle.listCancelled, entry, row.seq) > 0)
      work.run(statements.settle.trimAttempts, row.seq);
  }
  work.run(
    statements.job.finish,
    ending.status,
    ending.reason,
    now,
    ending.isUnstarted === true ? 1 : 0,
    ending.isUnstarted === true ? 1 : 0,
    now,
    isDead ? 1 : 0,
    now + (isDead ? deadRetentionMs : retentionMs),
    ending.fence ?? row.fence,
    ending.spent ?? row.spent,
    ending.losses ?? row.losses,
    ending.begunLosses ?? row.begun_losses,
    isCompleted ? 100 : (progress?.percent ?? null),
    progress?.message ?? null,
    progress?.step ?? null,
    progress?.of ?? null,
    ending.cancelledBy ?? null,
    isCompleted ? 1 : 0,
    ending.error ? JSON.stringify(ending.error) : null,
    ending.result ?? null,
    row.seq,
  );
  work.run(statements.job.remove, row.seq);
  const percent = isCompleted ? 100 : (progress?.percent ?? row.percent);
  work.changed(row.id, row.type, ending.status, ending.event ?? eventOf[ending.status], percent);
  setFree(work, row, ending.status);
}

/** The list entry of an attempt that ends now. */
export function attemptEntry(
  work: Work,
  row: Pick<JobStateRow, 'attempt' | 'node' | 'fence' | 'claimed_at' | 'begun_at'>,
  { reason, error }: { reason: SettleReason; error: JobError | null },
): string {
  const entry: AttemptRecord = {
    n: row.attempt,
    node: row.node ?? '',
    fence: row.fence,
    startedAt: row.claimed_at ?? work.now,
    begunAt: row.begun_at,
    endedAt: work.now,
    reason,
    error,
  };
  return JSON.stringify(entry);
}

/** An attempt that returned: id, fence, result, and 1 if an attempt is spent. */
export type Returned = [id: string, fence: number, result: string | null, spends: 0 | 1];

type ReturnedRow = [
  seq: number,
  id: string,
  type: string,
  tenant: string | null,
  dedupe_key: string | null,
  serial: string | null,
];

/**
 * Ends many jobs that returned, each if it is still leased under its fence. It does what `finish` does for
 * each as COMPLETED, in a few statements for all, and returns the ids of the jobs that it ended.
 */
export function finishReturned(work: Work, list: Returned[], reason: string): Set<string> {
  const { now } = work;
  const rows = work.tuples<ReturnedRow>(statements.job.finishMany, {
    now,
    reason,
    list: JSON.stringify(list),
  });
  if (rows.length === 0) return new Set();
  work.run(statements.job.removeMany, JSON.stringify(rows.map(([seq]) => seq)));
  const ids = new Set<string>();
  for (const [, id, type] of rows) {
    ids.add(id);
    work.changed(id, type, 'COMPLETED', eventOf.COMPLETED, 100);
  }
  const asked = { ids: JSON.stringify([...ids]) };
  const followed = new Set(work.tuples<[string]>(statements.job.followed, asked).map(([id]) => id));
  for (const [seq, id, type, tenant, dedupe_key, serial] of rows) {
    if (dedupe_key === null && serial === null && !followed.has(id)) continue;
    setFree(work, { seq, id, type, tenant, dedupe_key, serial, status: 'RUNNING' }, 'COMPLETED');
  }
  return ids;
}

/**
 * Releases everything that waited for a job that ended or was deleted. It reads before it writes: there is
 * rarely anything to release, and a write that finds nothing costs four times a read.
 */
export function setFree(
  work: Work,
  row: Pick<JobStateRow, 'seq' | 'id' | 'type' | 'tenant' | 'status' | 'dedupe_key' | 'serial'>,
  status: TerminalStatus | 'deleted',
): void {
  if (row.status === 'BLOCKED') work.run(statements.job.removeGatesOf, row.seq);
  if (row.dedupe_key !== null) transferDedupeKey(work, row, row.dedupe_key, status);
  for (const { job } of gatesBehind(work, row.id)) gateOpened(work, job);
  leaveSerial(work, row);
  if (work.tuple(statements.job.isWaitedFor, row.id) === undefined) return;
  if (work.run(statements.job.wakeSchedules, work.now, row.id, work.now) > 0)
    work.notifications.add('schedules');
}

/** Removes the gates that waited for a job. */
function gatesBehind(work: Work, id: string): { job: number }[] {
  if (work.tuple(statements.job.isAwaited, id) === undefined) return [];
  return work.all<{ job: number }>(statements.job.openGates, id);
}

function gateOpened(work: Work, seq: number): void {
  if (work.get(statements.job.gatesOf, seq) !== undefined) return;
  const row = readJobStateBySeq(work, seq);
  if (row === undefined || row.status !== 'BLOCKED') return;
  if (row.due_at > work.now) place(work, row, { status: 'SCHEDULED', ready: false, event: 'gate-open' });
  else enter(work, row, 'gate-open');
}
