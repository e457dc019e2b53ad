import type { ClaimedJob, ClaimRequest, JobPolicy, JobSlot, Origin, PauseValue } from '../../../engine.ts';
import { statements } from '../generated.ts';
import { expireOverdue, promote } from '../life.ts';
import type { Work } from '../work.ts';

/** The columns of a job under lease. */
export interface LeasedRow {
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  input: string;
  metadata: string | null;
  policy: string;
  fence: number;
  attempt: number;
  spent: number;
  max_attempts: number;
  losses: number;
  begun_losses: number;
  begun_at: number | null;
  created_at: number;
  due_at: number;
  claimed_at: number;
  origin: Origin;
  slot: string | null;
  parent_id: string | null;
  parent_key: string | null;
  cancel_requested_at: number | null;
}

/** A leased row as the contract has it. */
export function toClaimedJob(row: LeasedRow): ClaimedJob {
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    queue: row.queue,
    tenant: row.tenant,
    priority: row.priority,
    input: row.input,
    metadata: row.metadata,
    policy: JSON.parse(row.policy) as JobPolicy,
    fence: row.fence,
    attempt: row.attempt,
    spent: row.spent,
    maxAttempts: row.max_attempts,
    losses: row.losses,
    begunLosses: row.begun_losses,
    begun: row.begun_at !== null,
    createdAt: row.created_at,
    dueAt: row.due_at,
    claimedAt: row.claimed_at,
    origin: row.origin,
    slot: row.slot === null ? null : (JSON.parse(row.slot) as JobSlot),
    parent: row.parent_id === null ? null : { id: row.parent_id, key: row.parent_key },
    cancelRequestedAt: row.cancel_requested_at,
  };
}

/** What a claim found. */
export interface ClaimResult {
  claimed: ClaimedJob[];
  more: boolean;
  soloSinceAt: number | null;
}

/** What a claim may take: lanes, each with its task's limit. */
interface Lane {
  type: string;
  version: number;
  queue: string;
}

/** Level of the column `solo`: taken with others. */
export const ordinary = 0;
/** Level of the column `solo`: lost before, claimed by itself. */
export const byItself = 1;
/** Level of the column `solo`: claimed by itself, and only where nothing runs. */
export const aloneInProcess = 2;

// A claim first promotes due jobs: some more than it takes, so that the most urgent of them is among what it sees.
const promoteMin = 1000;

/** Takes ready jobs by rank for one worker. */
export function claimReady(work: Work, claim: ClaimRequest, repeat: boolean): ClaimResult {
  if (repeat) {
    const before = work.all<LeasedRow>(statements.claim.byToken, claim.token);
    if (before.length > 0) return { claimed: before.map(toClaimedJob), more: true, soloSinceAt: null };
  }
  expireOverdue(work, promoteMin);
  const promoteLimit = Math.max(promoteMin, claim.limit);
  const promoted = promote(
    work,
    claim.tasks.map(({ type }) => type),
    promoteLimit,
  );
  const pauses = readPauses(work);
  if (pauses.all) return { claimed: [], more: false, soloSinceAt: null };
  const tasks = claim.tasks.filter((task) => task.limit > 0 && !pauses.tasks.has(task.type));
  const isOpen = (queue: string) =>
    !pauses.queues.has(queue) && (claim.queues === null || claim.queues.includes(queue));

  const solo = findSolo(work, { claim, tasks, isOpen });
  if (solo.taken !== null)
    return { claimed: [take(work, claim, solo.taken, work.fences(1))], more: true, soloSinceAt: null };

  // Takes nothing, and only asks whether a job still waits to run alone.
  if (claim.limit <= 0) return { claimed: [], more: false, soloSinceAt: solo.sinceAt };

  const lanes = findLanes(work, ordinary, tasks, isOpen);
  const found = mergeHeads(work, ordinary, lanes, claim.limit, limitsOf(tasks));
  const suspect = mergeHeads(work, byItself, findLanes(work, byItself, tasks, isOpen), 1, limitsOf(tasks))
    .heads[0];
  // One that was lost before is claimed by itself, in its turn: when it stands at the head.
  if (suspect !== undefined && (found.heads[0] === undefined || suspect.rank <= found.heads[0].rank)) {
    return {
      claimed: [take(work, claim, suspect.seq, work.fences(1))],
      more: true,
      soloSinceAt: solo.sinceAt,
    };
  }
  const { heads } = found;
  const claimed: ClaimedJob[] = [];
  if (heads.length > 0) {
    let fence = work.fences(heads.length);
    for (const { seq } of heads) claimed.push(take(work, claim, seq, fence++));
  }
  const more = found.more || suspect !== undefined || !promoted.isAll;
  return { claimed, more, soloSinceAt: solo.sinceAt };
}

function take(work: Work, claim: ClaimRequest, seq: number, fence: number): ClaimedJob {
  const row = work.get<LeasedRow>(statements.claim.take, {
    seq,
    fence,
    leaseUntil: work.steady + claim.leaseMs,
    token: claim.token,
    node: claim.node,
    now: work.now,
  }) as LeasedRow;
  work.changed(row.id, row.type, 'RUNNING', 'claimed', 0);
  return toClaimedJob(row);
}

function limitsOf(tasks: ClaimRequest['tasks']): Map<string, number> {
  return new Map(tasks.map((task) => [task.type, task.limit]));
}

function findLanes(
  work: Work,
  level: number,
  tasks: ClaimRequest['tasks'],
  isOpen: (queue: string) => boolean,
): Lane[] {
  const lanes: Lane[] = [];
  for (const { type, version: highest } of tasks) {
    for (let version = -1; ; ) {
      const next = work.get<{ version: number }>(statements.claim.nextVersion, level, type, version, highest);
      if (next === undefined) break;
      version = next.version;
      for (const queue of queuesOf(work, level, type, version)) {
        if (isOpen(queue)) lanes.push({ type, version, queue });
      }
    }
  }
  return lanes;
}

function* queuesOf(work: Work, level: number, type: string, version: number): Iterable<string> {
  for (let queue = ''; ; ) {
    const next = work.get<{ queue: string }>(statements.claim.nextQueue, level, type, version, queue);
    if (next === undefined) return;
    queue = next.queue;
    yield queue;
  }
}

interface Head {
  seq: number;
  rank: number;
  type: string;
}

/** The first `limit` jobs of all lanes by rank, at most so many of each task. */
function mergeHeads(
  work: Work,
  level: number,
  lanes: Lane[],
  limit: number,
  limits: Map<string, number>,
): { heads: Head[]; more: boolean } {
  const all: Head[] = [];
  for (const { type, version, queue } of lanes) {
    const laneLimit = Math.min(limit, limits.get(type) as number);
    // One more than wanted tells whether there is more.
    const rows = work.all<{ seq: number; rank: number }>(
      statements.claim.heads,
      level,
      type,
      version,
      queue,
      laneLimit + 1,
    );
    for (const row of rows) all.push({ seq: row.seq, rank: row.rank, type });
  }
  if (lanes.length > 1) all.sort((a, b) => a.rank - b.rank || a.seq - b.seq);
  const left = new Map(limits);
  const heads: Head[] = [];
  let more = false;
  for (const head of all) {
    const places = left.get(head.type) as number;
    if (places <= 0) continue;
    if (heads.length === limit) {
      more = true;
      break;
    }
    left.set(head.type, places - 1);
    heads.push(head);
  }
  return { heads, more };
}

function findSolo(
  work: Work,
  {
    claim,
    tasks,
    isOpen,
  }: { claim: ClaimRequest; tasks: ClaimRequest['tasks']; isOpen: (queue: string) => boolean },
): { taken: number | null; sinceAt: number | null } {
  const lanes = findLanes(work, aloneInProcess, tasks, isOpen);
  if (lanes.length === 0) return { taken: null, sinceAt: null };
  if (claim.idle && claim.limit > 0) {
    const head = mergeHeads(work, aloneInProcess, lanes, 1, limitsOf(tasks)).heads[0];
    if (head !== undefined) return { taken: head.seq, sinceAt: null };
  }
  const since = lanes.map(
    ({ type }) => work.get<{ at: number | null }>(statements.claim.soloSince, type)?.at ?? work.now,
  );
  return { taken: null, sinceAt: Math.min(...since) };
}

/** What is paused at this instant. */
export interface Pauses {
  all: boolean;
  queues: Set<string>;
  tasks: Set<string>;
}

function readPauses(work: Work): Pauses {
  const pauses: Pauses = { all: false, queues: new Set(), tasks: new Set() };
  for (const { key, value } of work.all<{ key: string; value: string }>(statements.claim.pauses)) {
    const { untilAt } = JSON.parse(value) as PauseValue;
    if (untilAt !== null && untilAt <= work.now) continue;
    if (key === 'all') pauses.all = true;
    else if (key.startsWith('queue:')) pauses.queues.add(key.slice('queue:'.length));
    else if (key.startsWith('task:')) pauses.tasks.add(key.slice('task:'.length));
  }
  return pauses;
}

/** When the next pause ends by itself; whoever sleeps until the next due job must be awake then. */
export function nextPauseEnd(work: Work): number | null {
  let next: number | null = null;
  for (const { value } of work.all<{ value: string }>(statements.claim.pauses)) {
    const { untilAt } = JSON.parse(value) as PauseValue;
    if (untilAt !== null && untilAt > work.now && (next === null || untilAt < next)) next = untilAt;
  }
  return next;
}
