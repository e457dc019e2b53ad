/**
 * The transitions of a job that several verbs share: becoming ready, waiting behind a gate, and ending, with everything that an end sets
 * free.
 */

import type {
  AttemptRecord,
  JobError,
  JobFieldValue,
  ReportBody,
  SettleReason,
} from '../../contract/engine.ts';
import type { JobStatus, TerminalStatus } from '../../contract/job-status.ts';
import type { KeyRow } from './dedupe.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** The columns of a live job that transitions need. */
export interface JobStateRow {
  // {{job.state | %column: JobFieldValue<'%field'>; | policy=policy: string;}}
  id: JobFieldValue<'id'>;
  type: JobFieldValue<'type'>;
  tenant: JobFieldValue<'tenant'>;
  status: JobFieldValue<'status'>;
  reason: JobFieldValue<'reason'>;
  rank_offset: JobFieldValue<'rankOffsetMs'>;
  due_at: JobFieldValue<'dueAt'>;
  expire_at: JobFieldValue<'expireAt'>;
  created_at: JobFieldValue<'createdAt'>;
  started_at: JobFieldValue<'startedAt'>;
  claimed_at: JobFieldValue<'claimedAt'>;
  begun_at: JobFieldValue<'begunAt'>;
  fence: JobFieldValue<'fence'>;
  node: JobFieldValue<'node'>;
  attempt: JobFieldValue<'attempt'>;
  spent: JobFieldValue<'spent'>;
  max_attempts: JobFieldValue<'maxAttempts'>;
  losses: JobFieldValue<'losses'>;
  begun_losses: JobFieldValue<'begunLosses'>;
  percent: JobFieldValue<'percent'>;
  dedupe_key: JobFieldValue<'dedupeKey'>;
  serial: JobFieldValue<'serial'>;
  schedule_id: JobFieldValue<'scheduleId'>;
  parent_id: JobFieldValue<'parentId'>;
  cancel_requested_at: JobFieldValue<'cancelRequestedAt'>;
  policy: string;
  // {{/job}}
  seq: number;
  solo: number;
}

/** The same columns, in the order of the statements. */
type JobStateTuple = [
  // {{job.state | %column: JobFieldValue<'%field'>, | policy=policy: string,}}
  id: JobFieldValue<'id'>,
  type: JobFieldValue<'type'>,
  tenant: JobFieldValue<'tenant'>,
  status: JobFieldValue<'status'>,
  reason: JobFieldValue<'reason'>,
  rank_offset: JobFieldValue<'rankOffsetMs'>,
  due_at: JobFieldValue<'dueAt'>,
  expire_at: JobFieldValue<'expireAt'>,
  created_at: JobFieldValue<'createdAt'>,
  started_at: JobFieldValue<'startedAt'>,
  claimed_at: JobFieldValue<'claimedAt'>,
  begun_at: JobFieldValue<'begunAt'>,
  fence: JobFieldValue<'fence'>,
  node: JobFieldValue<'node'>,
  attempt: JobFieldValue<'attempt'>,
  spent: JobFieldValue<'spent'>,
  max_attempts: JobFieldValue<'maxAttempts'>,
  losses: JobFieldValue<'losses'>,
  begun_losses: JobFieldValue<'begunLosses'>,
  percent: JobFieldValue<'percent'>,
  dedupe_key: JobFieldValue<'dedupeKey'>,
  serial: JobFieldValue<'serial'>,
  schedule_id: JobFieldValue<'scheduleId'>,
  parent_id: JobFieldValue<'parentId'>,
  cancel_requested_at: JobFieldValue<'cancelRequestedAt'>,
  policy: string,
  // {{/job}}
  seq: number,
  solo: number,
];

function toJobState(row: JobStateTuple | undefined): JobStateRow | undefined {
  if (row === undefined) return undefined;
  return {
    // {{job.state | %column: row[%n],}}
    id: row[0],
    type: row[1],
    tenant: row[2],
    status: row[3],
    reason: row[4],
    rank_offset: row[5],
    due_at: row[6],
    expire_at: row[7],
    created_at: row[8],
    started_at: row[9],
    claimed_at: row[10],
    begun_at: row[11],
    fence: row[12],
    node: row[13],
    attempt: row[14],
    spent: row[15],
    max_attempts: row[16],
    losses: row[17],
    begun_losses: row[18],
    percent: row[19],
    dedupe_key: row[20],
    serial: row[21],
    schedule_id: row[22],
    parent_id: row[23],
    cancel_requested_at: row[24],
    policy: row[25],
    // {{/job}}
    seq: row[26],
    solo: row[27],
  };
}

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

/** Reads a live job by id. */
export function readJobState(work: Work, id: string): JobStateRow | undefined {
  return toJobState(work.tuple<JobStateTuple>(statements.job.state, id));
}

function readJobStateBySeq(work: Work, seq: number): JobStateRow | undefined {
  return toJobState(work.tuple<JobStateTuple>(statements.job.stateBySeq, seq));
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

/** A due job whose other gates are open: takes its serial place if it has one, and is ready; or waits for the place. */
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

/** Puts the due jobs of a serial key that nobody has promoted yet in line; `seq` is the one that comes just now, or -1. */
export function queueSerial(work: Work, key: { tenant: string | null; serial: string; seq: number }): void {
  const ref = serialRef(key.tenant, key.serial);
  for (const row of work.all<WaitingRow>(statements.job.unpromotedOfSerial, { ...key, now: work.now })) {
    work.run(statements.job.addGate, 'serial', ref, row.due_at, row.seq);
    place(work, row, { status: 'BLOCKED', ready: false, event: 'gate-shut' });
  }
}

/** Whether somebody in line for a place was due earlier, or at the same instant and created before. */
export function hasEarlier(work: Work, ref: string, dueAt: number, seq: number): boolean {
  const first = work.get<{ seq: number; order_at: number }>(statements.job.nextInLine, ref);
  return first !== undefined && (first.order_at < dueAt || (first.order_at === dueAt && first.seq < seq));
}

/** Puts a live job into a waiting status. `ready`: it may be taken. */
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
  work.notifications.add('jobs');
  return to.status;
}

/** Gives a serial place up, and to the next in line. */
export function leaveSerial(work: Work, row: Pick<JobStateRow, 'seq' | 'serial' | 'tenant'>): void {
  if (row.serial === null) return;
  const ref = serialRef(row.tenant, row.serial);
  if (work.run(statements.job.releaseSerial, ref, row.seq) === 0) return;
  queueSerial(work, { tenant: row.tenant, serial: row.serial, seq: row.seq });
  promoteSerialHead(work, ref);
}

/** Gives a free place to the first in line that is due. */
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
    // It was moved to later while it stood in line; the place is for whoever is due.
    place(work, waiting, { status: 'SCHEDULED', ready: false, event: 'gate-open' });
  }
}

/** Moves due jobs of these types, so many of each, to where a claim finds them; tells how many, and whether that was all. */
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
  // Of several types that want one serial place the earliest due gets it.
  rows.sort((a, b) => a.due_at - b.due_at || a.seq - b.seq);
  const isNotified = work.notifications.has('jobs');
  for (const row of rows) {
    // An earlier one of this list may have put it in line, or seated it, with the others of its serial key.
    const isMoved = row.serial !== null && readJobState(work, row.id)?.status !== row.status;
    if (!isMoved) enter(work, row, 'due');
  }
  // Every node knows the next due instant and wakes by itself: no notification for what was to be expected.
  if (!isNotified) work.notifications.delete('jobs');
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

/** Ends jobs whose start deadline has passed before their first start; answers how many. */
export function expireOverdue(work: Work, limit: number): number {
  const rows = work.tuples<[number]>(statements.job.overdue, work.now, limit);
  for (const [seq] of rows) {
    const row = readJobStateBySeq(work, seq);
    // The end of an earlier one in this very list may have opened or ended it.
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

/** Ends a live job: moves it to history and sets free everything that waited for it, in the same transaction. */
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

/** An attempt that ends now, as it is listed. */
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
 * Ends many jobs that returned, each if it is still held under its fence: what `finish` does for each as COMPLETED, in a few statements
 * for all. Answers the ids of those that it ended.
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

/** Opens what waited for a job that is over, or gone. Looks first everywhere: nearly always there is nothing, and a write that finds nothing costs four times a look. */
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

/** Takes the gates away that waited for a job. */
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

/** A dedupe key after its holder's end: to the follow-up, kept for its time, or free. */
function transferDedupeKey(
  work: Work,
  row: Pick<JobStateRow, 'id' | 'type' | 'tenant'>,
  key: string,
  status: TerminalStatus | 'deleted',
): void {
  const at = [row.type, row.tenant ?? '', key] as const;
  const held = work.get<KeyRow>(statements.dedupe.holder, ...at);
  if (held === undefined) return;
  if (held.follow_id === row.id) {
    work.run(statements.dedupe.follow, null, null, ...at);
  } else if (held.job_id === row.id) {
    if (held.follow_id !== null) {
      work.run(statements.dedupe.hold, ...at, held.follow_id, held.follow_until, work.now);
    } else if (held.until_at === null || status === 'deleted') {
      work.run(statements.dedupe.release, ...at);
    } else {
      work.run(statements.dedupe.end, status, ...at);
    }
  }
}
