/** The insert of a job, for all verbs that create one. Only `insertRow` adds a row to `jobs`. */

import type { EnqueuedItem, JobSpec } from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { toFirstClaim } from '../claimed-job.ts';
import { heldNow, type KeyRow } from '../dedupe.ts';
import { statements } from '../generated.ts';
import type { JobRow } from '../rows.ts';
import {
  hasEarlier,
  type JobStateRow,
  promoteSerialHead,
  queueSerial,
  readJobState,
  serialRef,
} from '../transitions.ts';
import type { Work } from '../work.ts';
import { dueAtOf, existing, findBrief, findChild, rememberFold } from './job-spec.ts';
import { moveDue } from './move-due.ts';
import type { RunNow } from './run-now.ts';

/**
 * Creates jobs, or finds those that exist already for the same call. With `runNow` they are plain and inserted
 * as RUNNING; if one is refused, none of the batch is claimed.
 */
export function insertJobs(work: Work, batch: readonly JobSpec[], runNow: RunNow | null): EnqueuedItem[] {
  // Plain: the job touches no other job, so its row is all that is written. Full: its dedupe key, parent, gates and
  // serial key are looked up first.
  const insert = (spec: JobSpec): EnqueuedItem =>
    work.hasPlainBranches && isPlain(spec) ? insertPlain(work, spec, runNow) : insertFull(work, spec);
  if (runNow === null) return batch.map(insert);
  const { length } = runNow.claimed;
  try {
    return batch.map(insert);
  } catch (error) {
    runNow.claimed.length = length;
    throw error;
  }
}

/** Inserts a job that touches no other job. */
function insertPlain(work: Work, spec: JobSpec, runNow: RunNow | null): EnqueuedItem {
  const dueAt = dueAtOf(work, spec.due);
  const status: JobStatus = dueAt <= work.now ? 'PENDING' : 'SCHEDULED';
  if (runNow === null) {
    if (insertRow(work, spec, status, dueAt, null) === null) return existing(work, spec);
    noteCreated(work, spec, status);
  } else {
    const fence = runNow.fences.get(spec) as number;
    const { token, node, leaseMs } = runNow.request;
    const lease = { fence, until: work.steady + leaseMs, token, node };
    if (insertRow(work, spec, 'RUNNING', dueAt, lease) === null) return existing(work, spec);
    work.changed(spec.id, spec.type, status, 'created', 0);
    work.changed(spec.id, spec.type, 'RUNNING', 'claimed', 0);
    runNow.claimed.push(toFirstClaim(work, spec, dueAt, fence));
  }
  return { id: spec.id, status, dueAt, deduped: false };
}

/** Inserts any job, unless its parent has that child already or its dedupe key is held. */
function insertFull(work: Work, spec: JobSpec): EnqueuedItem {
  const child = findChild(work, spec);
  if (child !== undefined) return child;
  return spec.dedupe === null ? insertGated(work, spec, []) : insertKeyed(work, spec, spec.dedupe);
}

function insertKeyed(
  work: Work,
  spec: JobSpec,
  { key, forMs, mode }: NonNullable<JobSpec['dedupe']>,
): EnqueuedItem {
  const at = [spec.type, spec.tenant ?? '', key] as const;
  const until = forMs === null ? null : work.now + forMs;
  const held = heldNow(work.get<KeyRow>(statements.dedupe.holder, ...at), work.now);
  const take = () => {
    const item = insertGated(work, spec, []);
    work.run(statements.dedupe.hold, ...at, spec.id, until, work.now);
    return item;
  };
  if (held === null) return take();

  const holder = findBrief(work, held.job_id);
  if (held.job_id === spec.id && holder !== undefined) return { ...holder, deduped: false };
  if (mode === 'drop') {
    return holder !== undefined
      ? { ...holder, deduped: true }
      : // The key outlives the history of its holder.
        { id: held.job_id, status: held.ended ?? 'COMPLETED', dueAt: work.now, deduped: true };
  }
  const live = readJobState(work, held.job_id);
  // Nothing is left to replace, and nothing to wait for: the new job takes the key over.
  if (live === undefined) return take();
  if (live.attempt === 0) return replaceJob(work, live, spec);
  if (held.follow_id !== null) {
    if (held.follow_id === spec.id) {
      return { ...(findBrief(work, spec.id) as EnqueuedItem), deduped: false };
    }
    return replaceJob(work, readJobState(work, held.follow_id) as JobStateRow, spec);
  }
  const item = insertGated(work, spec, [{ kind: 'dedupe', ref: live.id }]);
  work.run(statements.dedupe.follow, spec.id, until, ...at);
  return item;
}

/** Gives an unstarted job what a later call under the same key wants, and remembers that for a repeat. */
function replaceJob(work: Work, row: JobStateRow, spec: JobSpec): EnqueuedItem {
  const dedupe = spec.dedupe as NonNullable<JobSpec['dedupe']>;
  const wanted = dueAtOf(work, spec.due);
  const latest =
    dedupe.mode === 'extend' && dedupe.maxWaitMs !== null ? row.created_at + dedupe.maxWaitMs : wanted;
  const dueAt = Math.min(wanted, latest);
  work.run(statements.dedupe.replace, {
    seq: row.seq,
    version: spec.version,
    queue: spec.queue,
    priority: spec.priority,
    rankOffset: spec.rankOffsetMs,
    maxAttempts: spec.policy.maxAttempts,
    policy: work.policyText(spec.policy),
    metadata: spec.metadata,
    input: spec.input,
    // {{job.passive -copyOf | %field: spec.%field,}}
    // {{/job}}
    // Moves with the due time, just below.
    expire: spec.startDeadlineMs === null ? null : row.due_at + spec.startDeadlineMs,
    now: work.now,
  });
  const status = moveDue(work, { ...row, rank_offset: spec.rankOffsetMs }, dueAt, 'replaced');
  rememberFold(work, spec, row.id);
  return { id: row.id, status, dueAt, deduped: true };
}

/** Inserts a job; its due time, gates and serial key decide whether it waits. */
function insertGated(work: Work, spec: JobSpec, moreGates: JobSpec['gates']): EnqueuedItem {
  const dueAt = dueAtOf(work, spec.due);
  const gates = [...spec.gates.filter((gate) => isShut(work, gate.kind, gate.ref)), ...moreGates];
  const isDue = dueAt <= work.now;
  const isQueued = gates.length === 0 && isDue && hasSerialPredecessor(work, spec, dueAt);
  const status: JobStatus = gates.length > 0 || isQueued ? 'BLOCKED' : isDue ? 'PENDING' : 'SCHEDULED';
  const seq = insertRow(work, spec, status, dueAt, null);
  if (seq === null) return existing(work, spec);
  for (const gate of gates) work.run(statements.job.addGate, gate.kind, gate.ref, 0, seq);
  if (isQueued)
    work.run(statements.job.addGate, 'serial', serialRef(spec.tenant, spec.serial as string), dueAt, seq);
  else if (status === 'PENDING' && spec.serial !== null) {
    work.run(statements.job.holdSerial, serialRef(spec.tenant, spec.serial), seq);
  }
  if (spec.parent !== null && spec.parent.key !== null) {
    work.run(statements.job.addChild, spec.parent.id, spec.parent.key, spec.id);
  }
  noteCreated(work, spec, status);
  return { id: spec.id, status, dueAt, deduped: false };
}

function noteCreated(work: Work, spec: JobSpec, status: JobStatus): void {
  work.changed(spec.id, spec.type, status, 'created', 0);
  // Also for later jobs: a sleeping node may have to wake earlier than planned.
  if (status !== 'BLOCKED') work.notifications.add('jobs', spec.type);
}

function isShut(work: Work, kind: string, ref: string): boolean {
  if (kind === 'serial') return false;
  return readJobState(work, ref) !== undefined;
}

/** Whether a new job that is due has to wait for its serial place. */
function hasSerialPredecessor(work: Work, { tenant, serial }: JobSpec, dueAt: number): boolean {
  if (serial === null) return false;
  const ref = serialRef(tenant, serial);
  queueSerial(work, { tenant, serial, seq: -1 });
  const isTaken = () => work.get(statements.job.serialHolder, ref) !== undefined;
  // It is the newest job, so of equal due instants it comes last.
  if (!isTaken() && hasEarlier(work, ref, dueAt, Number.MAX_SAFE_INTEGER)) promoteSerialHead(work, ref);
  return isTaken();
}

/** Inserts a job of history again, due now, with the attempts, error, key and parent of its first life. */
export function reviveJob(work: Work, row: JobRow, attempts: string): void {
  const spec: JobSpec = {
    // {{job.caller | %field: row.%column, | policy=policy: work.policy(row.policy),}}
    id: row.id,
    type: row.type,
    version: row.version,
    queue: row.queue,
    tenant: row.tenant,
    priority: row.priority,
    input: row.input,
    metadata: row.metadata,
    policy: work.policy(row.policy),
    origin: row.origin,
    rankOffsetMs: row.rank_offset,
    serial: row.serial,
    copyOf: row.copy_of,
    // {{/job}}
    due: { at: work.now },
    startDeadlineMs: null,
    dedupe: null,
    gates: [],
    parent: null,
    slot: null,
  };
  insertRow(work, spec, 'SCHEDULED', work.now, null);
  work.run(statements.act.revive, { id: row.id, fence: work.fences(1), attempts });
}

/** The lease of a job that is inserted as RUNNING. */
interface FirstLease {
  fence: number;
  until: number;
  token: string;
  node: string;
}

/** Writes the row of a new job and returns its number; null: the id exists already. */
function insertRow(
  work: Work,
  spec: JobSpec,
  status: JobStatus,
  dueAt: number,
  lease: FirstLease | null,
): number | null {
  const { slot } = spec;
  const { now } = work;
  const claimedAt = lease === null ? null : now;
  return work.insert(
    statements.job.insert,
    // {{job.caller | spec.%field, | policy=work.policyText(spec.policy),}}
    spec.id,
    spec.type,
    spec.version,
    spec.queue,
    spec.tenant,
    spec.priority,
    spec.input,
    spec.metadata,
    work.policyText(spec.policy),
    spec.origin,
    spec.rankOffsetMs,
    spec.serial,
    spec.copyOf,
    // {{/job}}
    status,
    status === 'PENDING' ? dueAt + spec.rankOffsetMs : null,
    dueAt,
    spec.startDeadlineMs === null ? null : dueAt + spec.startDeadlineMs,
    now,
    now,
    spec.policy.maxAttempts,
    spec.dedupe?.key ?? null,
    spec.parent?.id ?? null,
    spec.parent?.key ?? null,
    slot?.scheduleId ?? null,
    slot === null ? null : JSON.stringify(slot),
    lease?.fence ?? 0,
    lease?.until ?? null,
    lease?.token ?? null,
    lease?.node ?? null,
    claimedAt,
    claimedAt,
    lease === null ? null : now - dueAt,
    lease === null ? 0 : 1,
  );
}
