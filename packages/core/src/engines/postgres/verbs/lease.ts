import type {
  HeartbeatInput,
  HeartbeatReply,
  HeartbeatState,
  ReapInput,
  ReapReply,
} from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';
import { type ClaimedJobColumns, toClaimedJobs } from './claim.ts';

/** See the contract. A lease holds until someone takes it over, so a late heartbeat that nobody forestalled still renews it. */
export async function heartbeat(work: Work, input: HeartbeatInput): Promise<HeartbeatReply> {
  // null: lost; 0: kept; else when it was asked to cancel.
  const { now, leases } = await work.call<{ leases: (number | null)[] }>(statements.call.heartbeat, [
    input.now ?? null,
    input.leaseMs,
    JSON.stringify(input.leases),
  ]);
  return {
    now,
    leases: leases.map((one): HeartbeatState => {
      if (one === null) return { state: 'lost' };
      return one === 0 ? { state: 'kept' } : { state: 'cancel', requestedAt: one };
    }),
  };
}

/** See the contract. */
export async function reap(work: Work, input: ReapInput): Promise<ReapReply> {
  const { now, jobs, expired, promoted, more, nextAt } = await work.call<
    Omit<ReapReply, 'jobs' | 'now'> & { jobs: ClaimedJobColumns }
  >(statements.call.reap, [input.now ?? null, input.leaseMs, input.limit, input.endedBy ?? null]);
  return { now, jobs: toClaimedJobs(work, jobs), expired, promoted, more, nextAt };
}
