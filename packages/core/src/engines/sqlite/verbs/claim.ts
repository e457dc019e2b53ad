import type { ClaimedJob, ClaimRequest } from '../../../contract/engine.ts';
import { type LeasedRow, toClaimedJob } from '../claimed-job.ts';
import { statements } from '../generated.ts';
import { noPauses } from '../pauses.ts';
import { expireOverdue, promote } from '../transitions.ts';
import type { Work } from '../work.ts';

/** What a claim found. */
export interface ClaimResult {
  claimed: ClaimedJob[];
  more: boolean;
  soloSinceAt: number | null;
  nextDueAt: number | null;
}

/** Ready jobs of one task, version and queue. */
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
function isReadyOnly({ isPaused, isOverdue, isDue }: ClaimPeek): boolean {
  return !isPaused && !isOverdue && !isDue;
}

/** Reply of an empty claim, or null if a transaction is needed. */
export function emptyClaim(peeked: ClaimPeek): ClaimResult | null {
  if (peeked.solo !== null || !isReadyOnly(peeked)) return null;
  return { claimed: [], more: false, soloSinceAt: null, nextDueAt: peeked.dueAt };
}

/** Takes ready jobs by rank for one worker. */
export function claim(work: Work, request: ClaimRequest, repeat: boolean): ClaimResult {
  const peeked = peek(work, request.tasks);
  // Plain: all that is ready is in one lane, and nothing is paused, due, or left over from a lost attempt or an
  // earlier call, so the first jobs of that lane are the answer. Full: jobs are promoted and ended first, and
  // several lanes merged.
  const lane = repeat ? null : findPlainLane(work, request, peeked);
  return lane === null ? claimFull(work, request, peeked, repeat) : claimPlain(work, request, lane, peeked);
}

/** When the next job of these tasks falls due, or a pause ends. */
function nextDueAt(work: Work, tasks: ClaimRequest['tasks']): number | null {
  let next: number | null = work.pauses().nextEndAt;
  for (const { type } of tasks) {
    const [at] = work.tuple<[number | null]>(statements.job.nextDue, type) as [number | null];
    if (at !== null && (next === null || at < next)) next = at;
  }
  return next;
}

/** A lane with the number of jobs that a claim may take from it. */
interface PlainLane extends Lane {
  limit: number;
}

/** The lane of a plain claim; null: the claim is full. */
function findPlainLane(
  work: Work,
  { tasks, queues, limit }: ClaimRequest,
  peeked: ClaimPeek,
): PlainLane | null {
  if (!work.hasPlainBranches || limit <= 0) return null;
  if (peeked.solo !== ordinary || !isReadyOnly(peeked)) return null;
  const lane = work.tuple<[type: string, version: number, queue: string, isOnly: 0 | 1]>(
    statements.claim.onlyLane,
  );
  if (lane === undefined || lane[3] === 0) return null;
  const [type, version, queue] = lane;
  const task = tasks.find((one) => one.type === type);
  if (task === undefined || task.limit <= 0 || version > task.version) return null;
  if (queues !== null && !queues.includes(queue)) return null;
  return { type, version, queue, limit: Math.min(limit, task.limit) };
}

function claimPlain(
  work: Work,
  request: ClaimRequest,
  { type, version, queue, limit }: PlainLane,
  { dueAt }: ClaimPeek,
): ClaimResult {
  const lane = [ordinary, type, version, queue] as const;
  // One more than wanted tells whether there is more.
  const heads = work.tuples<[seq: number, rank: number]>(statements.claim.heads, ...lane, limit + 1);
  const seqs = heads.slice(0, limit).map(([seq]) => seq);
  const claimed = takeAll(work, request, seqs);
  return { claimed, more: heads.length > request.limit, soloSinceAt: null, nextDueAt: dueAt };
}

function claimFull(work: Work, request: ClaimRequest, peeked: ClaimPeek, repeat: boolean): ClaimResult {
  const nothing = repeat ? null : emptyClaim(peeked);
  if (nothing !== null) return nothing;
  const before = repeat ? work.tuples<LeasedRow>(statements.claim.byToken, request.token) : [];
  const found =
    before.length > 0
      ? { claimed: before.map((row) => toClaimedJob(work, row)), more: true, soloSinceAt: null }
      : takeByRank(work, request, peeked);
  // What is taken was ready: what waits for its time has not changed.
  const isUnchanged = isReadyOnly(peeked);
  return { ...found, nextDueAt: isUnchanged ? peeked.dueAt : nextDueAt(work, request.tasks) };
}

/** Ends and promotes what is due, and takes the first jobs of all open lanes. */
function takeByRank(work: Work, request: ClaimRequest, peeked: ClaimPeek): Omit<ClaimResult, 'nextDueAt'> {
  const { isAllPromoted, isAllExpired } = createDueReady(work, request, peeked);
  const pauses = peeked.isPaused ? work.pauses() : noPauses;
  if (pauses.all) return { claimed: [], more: false, soloSinceAt: null };
  const tasks = request.tasks.filter((task) => task.limit > 0 && !pauses.types.has(task.type));
  const isOpen = (queue: string) =>
    !pauses.queues.has(queue) && (request.queues === null || request.queues.includes(queue));

  const hasSuspects = ((isReadyOnly(peeked) ? peeked.solo : highestSolo(work)) ?? ordinary) > ordinary;
  const solo = hasSuspects ? findSolo(work, { request, tasks, isOpen }) : noSolo;
  if (solo.taken !== null)
    return { claimed: takeAll(work, request, [solo.taken]), more: true, soloSinceAt: null };

  // Takes nothing, and only asks what is there.
  if (request.limit <= 0) {
    const levels = hasSuspects ? [ordinary, claimedAlone, aloneInProcess] : [ordinary];
    const more = levels.some((level) => findLanes(work, level, tasks, isOpen).length > 0);
    return { claimed: [], more, soloSinceAt: solo.sinceAt };
  }

  const limits = limitsOf(tasks);
  const lanes = findLanes(work, ordinary, tasks, isOpen);
  const found = mergeHeads(work, { level: ordinary, lanes, limit: request.limit, limits, isAllExpired });
  const suspect = hasSuspects
    ? headOf(work, claimedAlone, findLanes(work, claimedAlone, tasks, isOpen), limits)
    : undefined;
  // A job that was lost before is claimed alone, when it reaches the head.
  if (suspect !== undefined && (found.heads[0] === undefined || suspect.rank <= found.heads[0].rank)) {
    return { claimed: takeAll(work, request, [suspect.seq]), more: true, soloSinceAt: solo.sinceAt };
  }
  const seqs = found.heads.map(({ seq }) => seq);
  const claimed = takeAll(work, request, seqs);
  const more = found.more || suspect !== undefined || !isAllPromoted || !isAllExpired;
  return { claimed, more, soloSinceAt: solo.sinceAt };
}

/** Ends what is overdue and promotes what is due, where there is any; tells whether that was all. */
function createDueReady(
  work: Work,
  request: ClaimRequest,
  { isOverdue, isDue }: ClaimPeek,
): { isAllPromoted: boolean; isAllExpired: boolean } {
  const isAllExpired = !isOverdue || expireOverdue(work, expireMax) < expireMax;
  // What an end sets free may be due.
  if (!isOverdue && !isDue) return { isAllPromoted: true, isAllExpired };
  const types = request.tasks.map(({ type }) => type);
  const { isAll } = promote(work, types, Math.max(promoteMin, request.limit));
  return { isAllPromoted: isAll, isAllExpired };
}

function highestSolo(work: Work): number | null {
  return (work.tuple<[number | null]>(statements.claim.highestSolo) as [number | null])[0];
}

const noSolo = { taken: null, sinceAt: null } as const;

/** For so few a statement each is cheaper than a list. */
const listMin = 4;

/** Takes these jobs, in this order. */
function takeAll(work: Work, request: ClaimRequest, seqs: number[]): ClaimedJob[] {
  if (seqs.length === 0) return [];
  const fence = work.fences(seqs.length);
  const rows =
    seqs.length < listMin
      ? seqs.map((seq, i) => takeOne(work, request, seq, fence + i))
      : takeMany(work, request, seqs, fence);
  return rows.map((row) => {
    const job = toClaimedJob(work, row);
    work.changed(job.id, job.type, 'RUNNING', 'claimed', 0);
    return job;
  });
}

function takeOne(work: Work, request: ClaimRequest, seq: number, fence: number): LeasedRow {
  const { now, steady } = work;
  return work.tuple<LeasedRow>(
    statements.claim.take,
    fence,
    steady + request.leaseMs,
    request.token,
    request.node,
    now,
    now,
    now,
    now,
    seq,
  ) as LeasedRow;
}

function takeMany(work: Work, request: ClaimRequest, seqs: number[], fence: number): LeasedRow[] {
  const list = JSON.stringify(seqs);
  work.run(statements.claim.takeMany, {
    fence,
    leaseUntil: work.steady + request.leaseMs,
    token: request.token,
    node: request.node,
    now: work.now,
    seqs: list,
  });
  return work.tuples<LeasedRow>(statements.claim.taken, list);
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
    request,
    tasks,
    isOpen,
  }: { request: ClaimRequest; tasks: ClaimRequest['tasks']; isOpen: (queue: string) => boolean },
): { taken: number | null; sinceAt: number | null } {
  const lanes = findLanes(work, aloneInProcess, tasks, isOpen);
  if (lanes.length === 0) return { taken: null, sinceAt: null };
  if (request.idle && request.limit > 0) {
    const head = headOf(work, aloneInProcess, lanes, limitsOf(tasks));
    if (head !== undefined) return { taken: head.seq, sinceAt: null };
  }
  const since = lanes.map(
    ({ type }) => work.get<{ at: number | null }>(statements.claim.soloSince, type)?.at ?? work.now,
  );
  return { taken: null, sinceAt: Math.min(...since) };
}
