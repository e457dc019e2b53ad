import type {
  ActiveRun,
  ClaimedSchedule,
  ClaimSchedulesInput,
  JobSlot,
  Origin,
} from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** The columns of a schedule under lease, in the order of the statements that lease one. */
export type LeasedTuple = [
  id: string,
  app: string | null,
  tenant: string | null,
  name: string,
  generation: number,
  version: number,
  spec: string,
  state: string,
  due_at: number | null,
  waits_for: string | null,
  created_at: number,
  updated_at: number,
  fence: number,
];

/** The columns of a due schedule. */
type DueTuple = [
  seq: number,
  id: string,
  app: string | null,
  tenant: string | null,
  name: string,
  generation: number,
  version: number,
  spec: string,
  state: string,
  due_at: number,
  waits_for: string | null,
  created_at: number,
  updated_at: number,
];

/**
 * Leases due schedules, all under one fence. They are read and then leased: an update that returns its rows
 * costs half as much again, and returns them in no order.
 */
export function leaseDue(work: Work, { leaseMs, token, node, limit }: ClaimSchedulesInput): LeasedTuple[] {
  const due = work.tuples<DueTuple>(statements.schedule.due, work.now, work.steady, limit);
  const [first] = due;
  if (first === undefined) return [];
  const fence = work.fences(1);
  const leaseUntil = work.steady + leaseMs;
  if (due.length === 1) work.run(statements.schedule.leaseOne, fence, leaseUntil, token, node, first[0]);
  else {
    const seqs = JSON.stringify(due.map(([seq]) => seq));
    work.run(statements.schedule.leaseMany, fence, leaseUntil, token, node, seqs);
  }
  return due.map(([, ...row]): LeasedTuple => [...row, fence]);
}

/** Leases the schedules that the claim names, if they are free. */
export function leaseNamed(
  work: Work,
  { ids, leaseMs, token, node, limit }: ClaimSchedulesInput,
): LeasedTuple[] {
  const { steady } = work;
  const fence = work.fences(1);
  const leaseUntil = steady + leaseMs;
  return (ids ?? [])
    .slice(0, limit)
    .map((id) =>
      work.tuple<LeasedTuple>(statements.schedule.lease, fence, leaseUntil, token, node, id, steady),
    )
    .filter((row) => row !== undefined);
}

/** When the next schedule is due, or the lease of another claim ends, because its node may have died. */
export function nextDueAt(work: Work, token: string): number | null {
  const { now, steady } = work;
  const [free, leased] = work.tuple<[free: number | null, leased: number | null]>(
    statements.schedule.nextDue,
    steady,
    token,
  ) as [number | null, number | null];
  if (leased === null) return free;
  return Math.min(free ?? Number.POSITIVE_INFINITY, now + (leased - steady));
}

// The limit of the statement.
const activeCountMax = 10;

/** A leased schedule as the contract has it, with its unfinished runs. */
export function toClaimed(work: Work, row: LeasedTuple): ClaimedSchedule {
  const [id, , , , , , , , , waitsFor] = row;
  const active = work
    .tuples<
      [
        id: string,
        status: JobStatus,
        slot: string,
        origin: Origin,
        dueAt: number,
        cancelRequestedAt: number | null,
      ]
    >(statements.schedule.active, id)
    .map(
      (run): ActiveRun => ({
        id: run[0],
        status: run[1],
        slotAt: (JSON.parse(run[2]) as JobSlot).slotAt,
        origin: run[3],
        dueAt: run[4],
        cancelRequestedAt: run[5],
      }),
    );
  // If the page is not full, these are all.
  const count =
    active.length < activeCountMax
      ? active.length
      : (work.get<{ count: number }>(statements.schedule.activeCount, id) as { count: number }).count;
  const ended =
    waitsFor === null
      ? undefined
      : work.get<{ id: string; status: JobStatus; finished_at: number }>(
          statements.job.finishedBrief,
          waitsFor,
        );
  const waited =
    ended === undefined ? null : { id: ended.id, status: ended.status, finishedAt: ended.finished_at };
  return {
    id,
    app: row[1],
    tenant: row[2],
    name: row[3],
    generation: row[4],
    version: row[5],
    spec: row[6],
    state: row[7],
    dueAt: row[8],
    waitsFor,
    createdAt: row[10],
    updatedAt: row[11],
    fence: row[12],
    active,
    activeCount: count,
    waited,
  };
}
