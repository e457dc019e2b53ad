import type { ClaimedJob, ClaimRequest, JobFieldValue, JobSlot } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { noPauses } from '../pauses.ts';
import { expireOverdue, promote } from '../transitions.ts';
import type { Work } from '../work.ts';

/** The columns of a job under lease, in the order of the statements that read one. */
export type LeasedRow = [
  // {{job.claim | %field: JobFieldValue<'%field'>, | policy=policy: string, | claimedAt=claimedAt: number,}}
  id: JobFieldValue<'id'>,
  type: JobFieldValue<'type'>,
  version: JobFieldValue<'version'>,
  queue: JobFieldValue<'queue'>,
  tenant: JobFieldValue<'tenant'>,
  priority: JobFieldValue<'priority'>,
  input: JobFieldValue<'input'>,
  metadata: JobFieldValue<'metadata'>,
  policy: string,
  fence: JobFieldValue<'fence'>,
  attempt: JobFieldValue<'attempt'>,
  spent: JobFieldValue<'spent'>,
  maxAttempts: JobFieldValue<'maxAttempts'>,
  losses: JobFieldValue<'losses'>,
  begunLosses: JobFieldValue<'begunLosses'>,
  begunAt: JobFieldValue<'begunAt'>,
  createdAt: JobFieldValue<'createdAt'>,
  dueAt: JobFieldValue<'dueAt'>,
  claimedAt: number,
  origin: JobFieldValue<'origin'>,
  slot: JobFieldValue<'slot'>,
  parentId: JobFieldValue<'parentId'>,
  parentKey: JobFieldValue<'parentKey'>,
  cancelRequestedAt: JobFieldValue<'cancelRequestedAt'>,
  // {{/job}}
];

/** A leased row as the contract has it. */
export function toClaimedJob(work: Work, row: LeasedRow): ClaimedJob {
  return {
    // {{job.claim | %field: row[%n], | policy=policy: work.policy(row[%n]), | begunAt=begun: row[%n] !== null,
    //   | slot=slot: row[%n] === null ? null : (JSON.parse(row[%n]) as JobSlot),
    //   | parentId=parent: row[%n] === null ? null : { id: row[%n], key: row[%next] }, | parentKey=}}
    id: row[0],
    type: row[1],
    version: row[2],
    queue: row[3],
    tenant: row[4],
    priority: row[5],
    input: row[6],
    metadata: row[7],
    policy: work.policy(row[8]),
    fence: row[9],
    attempt: row[10],
    spent: row[11],
    maxAttempts: row[12],
    losses: row[13],
    begunLosses: row[14],
    begun: row[15] !== null,
    createdAt: row[16],
    dueAt: row[17],
    claimedAt: row[18],
    origin: row[19],
    slot: row[20] === null ? null : (JSON.parse(row[20]) as JobSlot),
    parent: row[21] === null ? null : { id: row[21], key: row[22] },
    cancelRequestedAt: row[23],
    // {{/job}}
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
/** Level of the column `solo`: lost before, so no other job is claimed with it. */
export const claimedAlone = 1;
/** Level of the column `solo`: claimed alone, and only by a process in which nothing runs. */
export const aloneInProcess = 2;

// A claim first promotes due jobs: some more than it takes, so that the most urgent of them is among what it sees.
const promoteMin = 1000;
// So many a claim ends whose start deadline has passed; it passes over the others.
const expireMax = 1000;

/** What a claim would have to do, as one read found it. */
export interface ClaimPeek {
  /** The highest level of what is ready, of any type; null: nothing is. */
  solo: number | null;
  /** Whether there is a pause, over or not. */
  isPaused: boolean;
  /** Whether the start deadline of some job has passed. */
  isOverdue: boolean;
  /** Whether one of these types waits for an instant that has come. */
  isDue: boolean;
  /** When the next job of these types falls due, or fell. */
  dueAt: number | null;
}

/** Reads what a claim of these tasks would find, in one statement. */
export function peek(work: Work, tasks: ClaimRequest['tasks']): ClaimPeek {
  const [only] = tasks;
  const isOne = only !== undefined && tasks.length === 1;
  const [solo, paused, deadlineAt, dueAt] = work.tuple<
    [solo: number | null, paused: 0 | 1, deadlineAt: number | null, dueAt: number | null]
  >(
    isOne ? statements.claim.peekOne : statements.claim.peek,
    isOne ? only.type : JSON.stringify(tasks.map(({ type }) => type)),
  ) as [number | null, 0 | 1, number | null, number | null];
  return {
    solo,
    isPaused: paused === 1,
    isOverdue: deadlineAt !== null && deadlineAt < work.now,
    isDue: dueAt !== null && dueAt <= work.now,
    dueAt,
  };
}

/** Whether only ready jobs matter: nothing is paused, overdue or due. */
export function isReadyOnly({ isPaused, isOverdue, isDue }: ClaimPeek): boolean {
  return !isPaused && !isOverdue && !isDue;
}

/** Reply of an empty claim, or null if a transaction is needed. */
export function emptyClaim(peeked: ClaimPeek): (ClaimResult & { nextDueAt: number | null }) | null {
  if (peeked.solo !== null || !isReadyOnly(peeked)) return null;
  return { claimed: [], more: false, soloSinceAt: null, nextDueAt: peeked.dueAt };
}

/** Takes ready jobs by rank for one worker. */
export function claimReady(work: Work, claim: ClaimRequest, peeked: ClaimPeek, repeat: boolean): ClaimResult {
  if (repeat) {
    const before = work.tuples<LeasedRow>(statements.claim.byToken, claim.token);
    if (before.length > 0) {
      return { claimed: before.map((row) => toClaimedJob(work, row)), more: true, soloSinceAt: null };
    }
  }
  const { isAllPromoted, isAllExpired } = createDueReady(work, claim, peeked);
  const pauses = peeked.isPaused ? work.pauses() : noPauses;
  if (pauses.all) return { claimed: [], more: false, soloSinceAt: null };
  const tasks = claim.tasks.filter((task) => task.limit > 0 && !pauses.types.has(task.type));
  const isOpen = (queue: string) =>
    !pauses.queues.has(queue) && (claim.queues === null || claim.queues.includes(queue));

  const hasSuspects = ((isReadyOnly(peeked) ? peeked.solo : highestSolo(work)) ?? ordinary) > ordinary;
  const solo = hasSuspects ? findSolo(work, { claim, tasks, isOpen }) : noSolo;
  if (solo.taken !== null)
    return { claimed: [take(work, claim, solo.taken, work.fences(1))], more: true, soloSinceAt: null };

  // Takes nothing, and only asks what is there.
  if (claim.limit <= 0) {
    const levels = hasSuspects ? [ordinary, claimedAlone, aloneInProcess] : [ordinary];
    const more = levels.some((level) => findLanes(work, level, tasks, isOpen).length > 0);
    return { claimed: [], more, soloSinceAt: solo.sinceAt };
  }

  const limits = limitsOf(tasks);
  const lanes = findLanes(work, ordinary, tasks, isOpen);
  const found = mergeHeads(work, { level: ordinary, lanes, limit: claim.limit, limits, isAllExpired });
  const suspect = hasSuspects
    ? headOf(work, claimedAlone, findLanes(work, claimedAlone, tasks, isOpen), limits)
    : undefined;
  // A job that was lost before is claimed alone, when it reaches the head.
  if (suspect !== undefined && (found.heads[0] === undefined || suspect.rank <= found.heads[0].rank)) {
    return {
      claimed: [take(work, claim, suspect.seq, work.fences(1))],
      more: true,
      soloSinceAt: solo.sinceAt,
    };
  }
  const claimed = takeAll(work, claim, found.heads);
  const more = found.more || suspect !== undefined || !isAllPromoted || !isAllExpired;
  return { claimed, more, soloSinceAt: solo.sinceAt };
}

/** Ends what is overdue and promotes what is due, where there is any; tells whether that was all. */
function createDueReady(
  work: Work,
  claim: ClaimRequest,
  { isOverdue, isDue }: ClaimPeek,
): { isAllPromoted: boolean; isAllExpired: boolean } {
  const isAllExpired = !isOverdue || expireOverdue(work, expireMax) < expireMax;
  // What an end sets free may be due.
  if (!isOverdue && !isDue) return { isAllPromoted: true, isAllExpired };
  const types = claim.tasks.map(({ type }) => type);
  const { isAll } = promote(work, types, Math.max(promoteMin, claim.limit));
  return { isAllPromoted: isAll, isAllExpired };
}

function highestSolo(work: Work): number | null {
  return (work.tuple<[number | null]>(statements.claim.highestSolo) as [number | null])[0];
}

const noSolo = { taken: null, sinceAt: null } as const;

function take(work: Work, claim: ClaimRequest, seq: number, fence: number): ClaimedJob {
  const { now, steady } = work;
  const row = work.tuple<LeasedRow>(
    statements.claim.take,
    fence,
    steady + claim.leaseMs,
    claim.token,
    claim.node,
    now,
    now,
    now,
    now,
    seq,
  ) as LeasedRow;
  work.changed(row[0], row[1], 'RUNNING', 'claimed', 0);
  return toClaimedJob(work, row);
}

/** For so few a statement each is cheaper than a list. */
const listMin = 4;

/** Takes these, in this order. */
function takeAll(work: Work, claim: ClaimRequest, heads: Head[]): ClaimedJob[] {
  if (heads.length === 0) return [];
  const fence = work.fences(heads.length);
  if (heads.length < listMin) return heads.map(({ seq }, i) => take(work, claim, seq, fence + i));
  const seqs = JSON.stringify(heads.map(({ seq }) => seq));
  work.run(statements.claim.takeMany, {
    fence,
    leaseUntil: work.steady + claim.leaseMs,
    token: claim.token,
    node: claim.node,
    now: work.now,
    seqs,
  });
  const rows = work.tuples<LeasedRow>(statements.claim.taken, seqs);
  return rows.map((row) => {
    work.changed(row[0], row[1], 'RUNNING', 'claimed', 0);
    return toClaimedJob(work, row);
  });
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
      const next = work.tuple<[version: number, queue: string]>(
        statements.claim.nextVersion,
        level,
        type,
        version,
        highest,
      );
      if (next === undefined) break;
      version = next[0];
      let queue: string | undefined = next[1];
      while (queue !== undefined) {
        if (isOpen(queue)) lanes.push({ type, version, queue });
        queue = work.tuple<[string]>(statements.claim.nextQueue, level, type, version, queue)?.[0];
      }
    }
  }
  return lanes;
}

interface Head {
  seq: number;
  rank: number;
  type: string;
}

/** The first of these lanes by rank. Of those that were lost before: they have started, and no start deadline binds them. */
function headOf(work: Work, level: number, lanes: Lane[], limits: Map<string, number>): Head | undefined {
  return mergeHeads(work, { level, lanes, limit: 1, limits, isAllExpired: true }).heads[0];
}

/** The first `limit` jobs of all lanes by rank, at most so many of each task; while not all that is overdue has ended, none of that. */
function mergeHeads(
  work: Work,
  options: {
    level: number;
    lanes: Lane[];
    limit: number;
    limits: Map<string, number>;
    isAllExpired: boolean;
  },
): { heads: Head[]; more: boolean } {
  const { level, lanes, limit, limits, isAllExpired } = options;
  const all: Head[] = [];
  for (const { type, version, queue } of lanes) {
    const laneLimit = Math.min(limit, limits.get(type) as number);
    const lane = [level, type, version, queue] as const;
    // One more than wanted tells whether there is more.
    const rows = isAllExpired
      ? work.tuples<[seq: number, rank: number]>(statements.claim.heads, ...lane, laneLimit + 1)
      : work.tuples<[seq: number, rank: number]>(
          statements.claim.headsInTime,
          ...lane,
          work.now,
          laneLimit + 1,
        );
    for (const [seq, rank] of rows) all.push({ seq, rank, type });
  }
  if (lanes.length > 1) all.sort((a, b) => a.rank - b.rank || a.seq - b.seq);
  const left = new Map(limits);
  const heads: Head[] = [];
  let more = false;
  for (const head of all) {
    if (heads.length === limit) {
      more = true;
      break;
    }
    const capacity = left.get(head.type) as number;
    if (capacity <= 0) continue;
    left.set(head.type, capacity - 1);
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
    const head = headOf(work, aloneInProcess, lanes, limitsOf(tasks));
    if (head !== undefined) return { taken: head.seq, sinceAt: null };
  }
  const since = lanes.map(
    ({ type }) => work.get<{ at: number | null }>(statements.claim.soloSince, type)?.at ?? work.now,
  );
  return { taken: null, sinceAt: Math.min(...since) };
}
