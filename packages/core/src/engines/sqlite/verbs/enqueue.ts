import type {
  ClaimedJob,
  EnqueuedItem,
  EnqueueInput,
  EnqueueReply,
  JobSpec,
} from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { heldNow, type KeyRow } from '../dedupe.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import {
  enter,
  hasEarlier,
  type JobStateRow,
  leaveSerial,
  place,
  promoteSerialHead,
  queueSerial,
  readJobState,
  serialRef,
} from '../transitions.ts';
import type { Work } from '../work.ts';
import { claim } from './claim.ts';
import { dueAtOf, existing, findDeleted, type KnownRow, sameJob } from './job-spec.ts';
import { insertAllTaken, takeAtOnce, takenOf } from './take-at-once.ts';

/** See the contract. */
export function enqueue(work: Work, input: EnqueueInput): Omit<EnqueueReply, 'now'> {
  const specs = input.groups.flatMap(({ jobs }) => jobs);
  const atOnce = input.repeat === true ? null : takeAtOnce(work, input.claim, specs);
  if (atOnce !== null) {
    const created = eachGroup(
      work,
      input.groups,
      ({ jobs }) => insertAllTaken(work, jobs, atOnce),
      ({ jobs }) => jobs.length === 1,
    );
    return { groups: created, claimed: takenOf(atOnce) };
  }
  const groups = eachGroup(
    work,
    input.groups,
    (group) => group.jobs.map((spec) => createJob(work, spec, input.repeat === true)),
    // A single plain insert cannot be half done.
    ({ jobs }) => jobs.length === 1 && isPlain(jobs[0] as JobSpec),
  );
  return { groups, claimed: claimCreated(work, input, specs.every(isPlain) ? specs : null) };
}

/**
 * Claims together with what was just created. If the caller took all of it, nobody else is woken for it. `created` null: more
 * happened than that jobs were created, and the others may have to know.
 */
export function claimCreated(
  work: Work,
  { claim: request, repeat = false }: Pick<EnqueueInput, 'claim' | 'repeat'>,
  created: JobSpec[] | null,
): ClaimedJob[] {
  if (request === undefined) return [];
  const { claimed } = claim(work, request, repeat);
  if (created !== null && created.length <= claimed.length) {
    const taken = new Set(claimed.map(({ id }) => id));
    if (created.every(({ id }) => taken.has(id))) work.notifications.delete('jobs');
  }
  return claimed;
}

/** Creates one job, or finds the one that stands for the same call already. */
export function createJob(work: Work, spec: JobSpec, repeat: boolean): EnqueuedItem {
  const created = repeat ? findCreated(work, spec) : undefined;
  if (created !== undefined) return created;
  if (spec.parent !== null && spec.parent.key !== null) {
    const child = work.get<{ job_id: string }>(statements.job.child, spec.parent.id, spec.parent.key);
    if (child !== undefined) return childItem(work, spec, child.job_id);
  }
  if (spec.dedupe !== null) return createDeduped(work, spec, repeat);
  return insertJob(work, spec, []);
}

/** The job that has the id of a spec, also if it was deleted in the last 24 hours. Refuses a job of another type. */
export function findCreated(work: Work, spec: JobSpec): EnqueuedItem | undefined {
  const row = findRow(work, spec.id);
  if (row !== undefined) return sameJob(spec, row);
  const deleted = findDeleted(work, spec.id);
  return deleted && { ...deleted, deduped: false };
}

function childItem(work: Work, spec: JobSpec, id: string): EnqueuedItem {
  const known = findKnown(work, id);
  if (known !== undefined) return { ...known, deduped: id !== spec.id };
  // The child is past its retention, but the promise was kept.
  return { id, status: 'COMPLETED', dueAt: work.now, deduped: true };
}

/** A job that is there, or was deleted in the last 24 hours. */
function findKnown(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  return findBrief(work, id) ?? findDeleted(work, id);
}

function findBrief(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  const row = findRow(work, id);
  return row && { id, status: row.status, dueAt: row.due_at };
}

/** A job, live or in history. */
function findRow(work: Work, id: string): KnownRow | undefined {
  return work.get<KnownRow>(statements.job.state, id) ?? work.get<KnownRow>(statements.job.finishedBrief, id);
}

function createDeduped(work: Work, spec: JobSpec, repeat: boolean): EnqueuedItem {
  const dedupe = spec.dedupe as NonNullable<JobSpec['dedupe']>;
  // The job that took this call over may have started meanwhile, or be over.
  const tookOver = repeat
    ? work.tuple<[string]>(statements.value.remembered, 'fold', spec.id)?.[0]
    : undefined;
  if (tookOver !== undefined) {
    const known = findKnown(work, tookOver);
    return { ...(known ?? { id: tookOver, status: 'COMPLETED', dueAt: work.now }), deduped: true };
  }
  const at = [spec.type, spec.tenant ?? '', dedupe.key] as const;
  const until = dedupe.forMs === null ? null : work.now + dedupe.forMs;
  const held = heldNow(work.get<KeyRow>(statements.dedupe.holder, ...at), work.now);
  const take = () => {
    const item = insertJob(work, spec, []);
    work.run(statements.dedupe.hold, ...at, spec.id, until, work.now);
    return item;
  };
  if (held === null) return take();

  const holder = findBrief(work, held.job_id);
  if (held.job_id === spec.id && holder !== undefined) return { ...holder, deduped: false };
  if (dedupe.mode === 'drop') {
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
  const item = insertJob(work, spec, [{ kind: 'dedupe', ref: live.id }]);
  work.run(statements.dedupe.follow, spec.id, until, ...at);
  return item;
}

// A call whose answer was lost is sent again within seconds; a process that stands still meanwhile has this long.
const foldStoredMs = 600_000;

/** Gives an unstarted job what a later call under the same key wants, and remembers by whom that call was taken over. */
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
  work.run(statements.value.remember, 'fold', spec.id, row.id, work.now + foldStoredMs);
  return { id: row.id, status, dueAt, deduped: true };
}

/** Moves a waiting job to another instant; answers its status afterwards. */
export function moveDue(work: Work, row: JobStateRow, dueAt: number, event: string): JobStatus {
  const moved = { ...row, due_at: dueAt };
  if (row.status === 'BLOCKED') {
    if (row.serial !== null) work.run(statements.job.reorderGate, dueAt, row.seq);
    return place(work, moved, { status: 'BLOCKED', ready: false, event });
  }
  if (row.status === 'RETRYING') {
    return place(work, moved, { status: 'RETRYING', ready: dueAt <= work.now, event });
  }
  if (dueAt <= work.now) return enter(work, moved, event);
  // Until it is due again it does not compete for its serial place.
  leaveSerial(work, row);
  return place(work, moved, { status: 'SCHEDULED', ready: false, event });
}

/** Inserts a job into the place its due time and gates give it. */
export function insertJob(work: Work, spec: JobSpec, moreGates: JobSpec['gates']): EnqueuedItem {
  const dueAt = dueAtOf(work, spec.due);
  const gates = [...spec.gates.filter((gate) => isShut(work, gate.kind, gate.ref)), ...moreGates];
  const isDue = dueAt <= work.now;
  const isQueued = gates.length === 0 && isDue && hasSerialPredecessor(work, spec, dueAt);
  const status: JobStatus = gates.length > 0 || isQueued ? 'BLOCKED' : isDue ? 'PENDING' : 'SCHEDULED';
  const { slot } = spec;
  const seq = work.insert(
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
    work.now,
    work.now,
    spec.policy.maxAttempts,
    spec.dedupe?.key ?? null,
    spec.parent?.id ?? null,
    spec.parent?.key ?? null,
    slot?.scheduleId ?? null,
    slot === null ? null : JSON.stringify(slot),
  );
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
  work.changed(spec.id, spec.type, status, 'created', 0);
  // Also for later ones: a sleeping node may have to wake earlier than it thought.
  if (status !== 'BLOCKED') work.notifications.add('jobs');
  return { id: spec.id, status, dueAt, deduped: false };
}

function isShut(work: Work, kind: string, ref: string): boolean {
  if (kind === 'serial') return false;
  return readJobState(work, ref) !== undefined;
}

/** Whether a new job that is due has to stand in line for its serial place. */
function hasSerialPredecessor(work: Work, { tenant, serial }: JobSpec, dueAt: number): boolean {
  if (serial === null) return false;
  const ref = serialRef(tenant, serial);
  queueSerial(work, { tenant, serial, seq: -1 });
  const isTaken = () => work.get(statements.job.serialHolder, ref) !== undefined;
  // It will be the last one made, so of equal due instants it comes last.
  if (!isTaken() && hasEarlier(work, ref, dueAt, Number.MAX_SAFE_INTEGER)) promoteSerialHead(work, ref);
  return isTaken();
}
