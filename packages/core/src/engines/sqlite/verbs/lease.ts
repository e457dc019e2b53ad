import type {
  HeartbeatInput,
  HeartbeatReply,
  HeartbeatState,
  ReapInput,
  ReapReply,
} from '../../../contract/engine.ts';
import { type LeasedRow, toClaimedJob } from '../claimed-job.ts';
import { statements } from '../generated.ts';
import { expireOverdue, promote, waitingTypes } from '../transitions.ts';
import type { Work } from '../work.ts';

/** See the contract. A lease holds until someone takes it over, so a late heartbeat that nobody forestalled still renews it. */
export function heartbeat(work: Work, input: HeartbeatInput): Omit<HeartbeatReply, 'now'> {
  const leases = input.leases.map(({ id, fence, begun }): HeartbeatState => {
    const row = work.tuple<[cancelRequestedAt: number | null]>(
      statements.lease.heartbeat,
      work.steady + input.leaseMs,
      begun ? 1 : 0,
      work.now,
      id,
      fence,
    );
    if (row === undefined) return { state: 'lost' };
    return row[0] === null ? { state: 'kept' } : { state: 'cancel', requestedAt: row[0] };
  });
  return { leases };
}

/** See the contract. */
export function reap(work: Work, input: ReapInput): Omit<ReapReply, 'now'> {
  const expired = expireOverdue(work, input.limit);
  const promoted = promote(work, waitingTypes(work), input.limit);
  const over = work.all<{ seq: number }>(statements.lease.over, endedBy(work, input), input.limit);
  const first = over.length === 0 ? 0 : work.fences(over.length);
  const jobs = over.map(({ seq }, index) =>
    toClaimedJob(
      work,
      work.tuple<LeasedRow>(
        statements.lease.takeOver,
        first + index,
        work.steady + input.leaseMs,
        seq,
      ) as LeasedRow,
    ),
  );
  const more = !promoted.isAll || expired >= input.limit || jobs.length >= input.limit;
  return { jobs, expired, promoted: promoted.count, more, nextAt: nextAt(work) };
}

/** The end of the latest lease that may be taken over, by the clock that leases are measured with. */
function endedBy(work: Work, input: ReapInput): number {
  return input.endedBy === undefined ? work.steady : work.steady - Math.max(0, work.now - input.endedBy);
}

/**
 * Reply of an empty reap, read without a transaction; null: a transaction is needed. That is so while any lease is held: a locked file can
 * still be read, and a reply would claim that outcomes could have arrived.
 */
export function checkReap(work: Work): Omit<ReapReply, 'now'> | null {
  const [isLeased, deadline, isWaiting] = work.tuple<[0 | 1, number | null, 0 | 1]>(
    statements.lease.peek,
  ) as [0 | 1, number | null, 0 | 1];
  if (isLeased === 1 || (deadline !== null && deadline < work.now)) return null;
  if (isWaiting === 1 && waitingTypes(work).some((type) => isDue(work, type))) return null;
  return { jobs: [], expired: 0, promoted: 0, more: false, nextAt: earliest(work, null, deadline) };
}

function isDue(work: Work, type: string): boolean {
  const [at] = work.tuple<[number | null]>(statements.job.nextDue, type) as [number | null];
  return at !== null && at <= work.now;
}

/** When the next lease or start deadline ends, in the store's time. */
function nextAt(work: Work): number | null {
  const lease = work.get<{ at: number | null }>(statements.lease.nextEnd)?.at ?? null;
  const deadline = work.get<{ at: number | null }>(statements.job.nextDeadline)?.at ?? null;
  return earliest(work, lease, deadline);
}

function earliest(work: Work, lease: number | null, deadline: number | null): number | null {
  const instants = [
    lease === null ? null : lease - work.steady + work.now,
    deadline === null ? null : deadline + 1,
  ];
  const known = instants.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}
