/** The ledger of a schedule as users read it: decisions, and what became of the runs. */

import { isDulyError } from '../base/errors.ts';
import type { CompactedSlots, Engine, JobRecord, SlotsReply } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import { currentPause } from './definition/state.ts';
import { isSlotOf } from './finder.ts';
import { changesSince, type LedgerSchedule, scheduleAt } from './history.ts';
import type { Decision } from './planner/decision.ts';
import { generationOf } from './planner/fire-id.ts';
import { graceMsOf } from './planner/grace.ts';
import { dueAtOf, firstSlotDueFrom, jitterOffsetMs, newestDueSlot } from './planner/jitter.ts';
import { endOf } from './planner/plan-operations.ts';
import { undecidedStatus } from './planner/undecided-status.ts';
import { scheduleLeaseMs } from './schedule-lease.ts';
import { type LedgerSlot, type SlotStatus, toCompactedMonth, toSlotRun } from './schedule-view.ts';

/** Which part of the ledger. */
export interface LedgerRange {
  fromAt: number;
  /** Not included. */
  beforeAt: number;
  limit: number;
}

type LedgerRow = SlotsReply['slots'][number];

const pageSize = 500;

/** The lines of a range, newest first: what is not decided yet, then the decisions. */
export async function readLedger(
  engine: Engine,
  loaded: LedgerSchedule,
  range: LedgerRange,
): Promise<LedgerSlot[]> {
  const { record } = loaded;
  const { slots: rows, compacted } = await engine.slots({ scheduleId: record.id, ...range });
  const runs = await runsOf(engine, record.id, rows, range);
  const { ofRow, ofCompacted, ofNone } = await shareRuns(engine, loaded, { rows, compacted }, runs);
  const lines = [
    ...rows.map((row) => toLedgerSlot(row, ofRow.get(row) ?? [], loaded)),
    ...compacted.map((one) => toCompactedLine(one, ofCompacted.get(one) ?? [], loaded)),
    ...ranUndecided(ofNone, loaded),
  ].sort((a, b) => b.generation - a.generation || b.slot.getTime() - a.slot.getTime());
  return [...undecided(loaded, range, ofNone), ...lines].slice(0, range.limit);
}

/** The runs of a range of slots, by slot. */
export type RunsBySlot = ReadonlyMap<number, readonly JobRecord[]>;

/** The runs of the slots of these rows: those they fired, by id, and those of backfills. */
async function runsOf(
  engine: Engine,
  scheduleId: string,
  rows: readonly LedgerRow[],
  range: LedgerRange,
): Promise<RunsBySlot> {
  const bySlot = new Map<number, JobRecord[]>();
  const add = (job: JobRecord): void => {
    const slotAt = job.slot?.slotAt ?? null;
    if (slotAt === null) return;
    const known = bySlot.get(slotAt) ?? [];
    if (known.some(({ id }) => id === job.id)) return;
    bySlot.set(slotAt, [...known, job]);
  };
  const ids = [...new Set(rows.flatMap(({ jobId }) => (jobId === null ? [] : [jobId])))];
  for (let i = 0; i < ids.length; i += pageSize) {
    const { jobs } = await engine.get({ ids: ids.slice(i, i + pageSize) });
    for (const job of jobs) if (job !== null) add(job);
  }
  // What lies before a page that is full may be in rows that were not read.
  const isWhole = rows.length < range.limit;
  const fromAt = isWhole ? range.fromAt : Math.max(range.fromAt, rows.at(-1)?.fromAt ?? range.fromAt);
  for (const job of await backfillsOf(engine, scheduleId, { fromAt, beforeAt: range.beforeAt })) add(job);
  for (const jobs of bySlot.values()) jobs.sort((a, b) => a.createdAt - b.createdAt);
  return bySlot;
}

// Enough for a page of the ledger; a schedule with more backfilled runs than this shows the newest of them.
const backfillPagesMax = 20;

/** The runs that backfills created for the slots of a range, newest first. */
export async function backfillsOf(
  engine: Pick<Engine, 'list'>,
  scheduleId: string,
  { fromAt, beforeAt }: Pick<LedgerRange, 'fromAt' | 'beforeAt'>,
): Promise<JobRecord[]> {
  const found: JobRecord[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < backfillPagesMax; page++) {
    const reply: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
      filter: { scheduleId, origin: 'backfill', slotFrom: fromAt, slotBefore: beforeAt },
      cursor,
      limit: pageSize,
    });
    found.push(...reply.jobs);
    cursor = reply.nextCursor;
    if (cursor === null) break;
  }
  return found;
}

/** Which line has which runs. */
interface SharedRuns {
  ofRow: ReadonlyMap<LedgerRow, JobRecord[]>;
  ofCompacted: ReadonlyMap<CompactedSlots, JobRecord[]>;
  /** Backfills of slots that no line holds, by slot. */
  ofNone: RunsBySlot;
}

/** Puts each run under one line: what a slot fired under the row of that decision, and a backfill under the row or month that holds its slot. */
async function shareRuns(
  engine: Engine,
  loaded: LedgerSchedule,
  { rows, compacted }: { rows: readonly LedgerRow[]; compacted: readonly CompactedSlots[] },
  runs: RunsBySlot,
): Promise<SharedRuns> {
  const ofRow = new Map<LedgerRow, JobRecord[]>();
  const ofCompacted = new Map<CompactedSlots, JobRecord[]>();
  const ofNone = new Map<number, JobRecord[]>();
  const holds = await heldBy(engine, loaded, rows, runs);
  const firedBy = new Map(rows.map((row) => [row.jobId, row]));
  for (const [slotAt, jobs] of [...runs].sort(([a], [b]) => a - b)) {
    const around = rows.filter((row) => row.fromAt <= slotAt && slotAt <= row.toAt && holds(row, slotAt));
    const month = compacted.find(({ fromAt, toAt }) => fromAt <= slotAt && slotAt <= toAt);
    for (const job of jobs) {
      if (job.origin !== 'backfill') {
        // The row of another slot that was merged into a run names that run too.
        const row = firedBy.get(job.id);
        if (row?.fromAt === slotAt) put(ofRow, row, job);
        continue;
      }
      const row = generationAt(around, job);
      if (row !== undefined) put(ofRow, row, job);
      else if (month !== undefined) put(ofCompacted, month, job);
      else put(ofNone, slotAt, job);
    }
  }
  return { ofRow, ofCompacted, ofNone };
}

function put<Key>(lists: Map<Key, JobRecord[]>, key: Key, job: JobRecord): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [job]);
  else list.push(job);
}

/** Where two lives of a schedule decided one instant: the row of the one that had decided it when the run was created. */
function generationAt(rows: readonly LedgerRow[], { createdAt }: JobRecord): LedgerRow | undefined {
  const newest = [...rows].sort((a, b) => b.generation - a.generation);
  return newest.find(({ decidedAt }) => decidedAt <= createdAt) ?? newest.at(-1);
}

/** Whether a row holds a slot: one of many slots holds those that the rule named when they were decided. */
async function heldBy(
  engine: Engine,
  loaded: LedgerSchedule,
  rows: readonly LedgerRow[],
  runs: RunsBySlot,
): Promise<(row: LedgerRow, slotAt: number) => boolean> {
  const asked = rows.filter(
    ({ fromAt, toAt }) => fromAt < toAt && [...runs.keys()].some((at) => fromAt < at && at < toAt),
  );
  if (asked.length === 0) return () => true;
  const sinceAt = Math.min(...asked.map(({ fromAt, decidedAt }) => Math.min(fromAt, decidedAt)));
  const changes = await changesSince(engine, loaded.record.id, sinceAt);
  return (row, slotAt) => {
    try {
      const then = scheduleAt(loaded, row, slotAt, changes);
      return then.parsed.unreadable !== null || isSlotOf(row, slotAt, then);
    } catch (error) {
      // A rule that cannot be read here: then its row is as near as it can be told.
      if (isDulyError(error)) return true;
      throw error;
    }
  };
}

function toLedgerSlot(row: LedgerRow, ofRow: readonly JobRecord[], { deleted }: LedgerSchedule): LedgerSlot {
  const isOne = row.fromAt === row.toAt;
  const decision = row.decision as Decision;
  return {
    slot: new Date(row.fromAt),
    to: new Date(row.toAt),
    count: row.count,
    // A backfill of some slots completes those, and not the line.
    status: isOne ? statusOf(decision, ofRow) : decision,
    decision,
    reason: row.reason,
    compacted: null,
    node: row.node,
    decidedAt: new Date(row.decidedAt),
    lastDecidedAt: new Date(row.lastDecidedAt ?? row.decidedAt),
    generation: row.generation,
    runs: ofRow.map(toSlotRun),
    deleted: deleted ?? null,
  };
}

function toCompactedLine(
  one: CompactedSlots,
  ofCompacted: readonly JobRecord[],
  { deleted }: LedgerSchedule,
): LedgerSlot {
  const compacted = toCompactedMonth(one);
  const isCounted = compacted.counts.every(({ atLeast }) => !atLeast);
  return {
    slot: new Date(one.fromAt),
    to: new Date(one.toAt),
    count: isCounted ? compacted.counts.reduce((sum, { count }) => sum + count, 0) : null,
    status: 'compacted',
    decision: null,
    reason: null,
    compacted,
    node: null,
    decidedAt: null,
    lastDecidedAt: null,
    generation: one.generation,
    runs: ofCompacted.map(toSlotRun),
    deleted: deleted ?? null,
  };
}

/** Slots that only a backfill knows: from before the schedule was created, from between two of its lives, or of a later rule. */
function ranUndecided(runs: RunsBySlot, { record, parsed, deleted }: LedgerSchedule): LedgerSlot[] {
  return [...runs]
    .filter(([at]) => at <= parsed.state.cursorAt)
    .map(([at, jobs]) => ({
      ...undecidedLine(creatingGeneration(jobs) ?? record.generation, at, at, 1),
      status: statusOf('none', jobs),
      runs: jobs.map(toSlotRun),
      deleted: deleted ?? null,
    }));
}

/** The generation of the schedule that created the newest of these runs. */
function creatingGeneration(jobs: readonly JobRecord[]): number | null {
  const fireId = jobs.at(-1)?.slot?.fireId;
  return fireId === undefined ? null : generationOf(fireId);
}

/** A line of slots that have no decision. */
function undecidedLine(
  generation: number,
  from: number,
  to: number,
  count: number | null,
): Omit<LedgerSlot, 'status'> {
  return {
    slot: new Date(from),
    to: new Date(to),
    count,
    decision: null,
    reason: null,
    compacted: null,
    node: null,
    decidedAt: null,
    lastDecidedAt: null,
    generation,
    runs: [],
    deleted: null,
  };
}

/** A slot with a completed run is completed, whichever run that was; one that fired and is not over is enqueued. */
export function statusOf<Else extends SlotStatus | 'none'>(
  otherwise: Else,
  runs: readonly Pick<JobRecord, 'status'>[],
): 'completed' | 'enqueued' | Else {
  if (runs.some(({ status }) => status === 'COMPLETED')) return 'completed';
  if (runs.some(({ status }) => !isTerminal(status))) return 'enqueued';
  return otherwise;
}

/** What is due and not decided yet (what is late and what a pause holds in lines of their own), and the next slot to come; newest first. */
function undecided(
  loaded: LedgerSchedule,
  { fromAt, beforeAt }: LedgerRange,
  runs: RunsBySlot,
): LedgerSlot[] {
  const { record, parsed, now, deleted } = loaded;
  const { planRule: rule, spec, state, unreadable } = parsed;
  const { nextSlotAt } = state;
  if (unreadable !== null) return [];
  if (nextSlotAt === null || endOf({ rule, spec, state }) !== null || deleted !== undefined) return [];
  const pause = currentPause(state, now);
  const line = (from: number, to: number, count: number | null, status: SlotStatus): LedgerSlot => ({
    ...undecidedLine(record.generation, from, to, count),
    status,
    runs: [...runs].filter(([at]) => from <= at && at <= to).flatMap(([, jobs]) => jobs.map(toSlotRun)),
  });
  const within = (at: number): boolean => at >= fromAt && at < beforeAt;
  const of = { id: record.id, policies: spec.policies };
  if (rule.kind === 'delay') {
    const dueAt =
      state.pendingSlot?.slotAt === nextSlotAt
        ? state.pendingSlot.dueAt
        : nextSlotAt + jitterOffsetMs(of, nextSlotAt);
    const graceMs = graceMsOf(null, nextSlotAt, scheduleLeaseMs);
    const status = undecidedStatus({ dueAt, now, graceMs, pause });
    return within(nextSlotAt) ? [line(nextSlotAt, nextSlotAt, 1, status)] : [];
  }
  const { all, open } = rule;
  const lastAt = spec.policies.endAt ?? Number.POSITIVE_INFINITY;
  const newestAt = newestDueSlot(of, all, now);
  const dueThroughAt = newestAt === null || newestAt < nextSlotAt ? null : newestAt;
  const comingAt = dueThroughAt === null ? nextSlotAt : all.next(dueThroughAt);
  const lines: LedgerSlot[] = [];
  if (comingAt !== null && comingAt <= lastAt && within(comingAt))
    lines.push(line(comingAt, comingAt, 1, 'pending'));
  if (dueThroughAt === null) return lines;
  const firstHeldAt = pause === null ? null : firstSlotDueFrom(of, all, pause.at + 1);
  const heldFromAt = Math.max(nextSlotAt, firstHeldAt ?? dueThroughAt + 1);
  for (const [first, last] of [
    [heldFromAt, dueThroughAt],
    [nextSlotAt, Math.min(dueThroughAt, heldFromAt - 1)],
  ] as const) {
    if (first > last) continue;
    // What is excluded is neither late nor held, and what lies after the end is over.
    const from = open.next(Math.max(first, fromAt) - 1);
    const to = open.previous(Math.min(last, lastAt, beforeAt - 1) + 1);
    if (from === null || to === null || from > to) continue;
    const graceMs = graceMsOf(all, from, scheduleLeaseMs);
    const status = undecidedStatus({ dueAt: dueAtOf(of, all, from), now, graceMs, pause });
    lines.push(line(from, to, open.countBetween(from, to), status));
  }
  return lines;
}
