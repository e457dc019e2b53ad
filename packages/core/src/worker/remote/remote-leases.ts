// The leases of remote workers: their beginnings, their timeouts and their outcomes.

import { readWholeNumber } from '../../base/option-reader.ts';
import type { ClaimedJob, Engine, JobRecord, ReportBody, Settlement } from '../../contract/engine.ts';
import { settlementOf } from '../../lifecycle/settle.ts';
import { needsBeginning } from '../attempt.ts';
import { timeoutError } from '../attempt-errors.ts';
import { checkedProgress } from '../context.ts';
import { isHeldBy } from './remote-node.ts';
import { claimedOf, readOutcome } from './remote-outcome.ts';
import type { RemoteLease, RemoteReport, RemoteSettlement } from './remote-protocol.ts';
import type { RemoteRoster } from './remote-roster.ts';
import type { RemoteDeps } from './remote-workers.ts';

/** What is done to the leases of remote workers. */
export type RemoteLeases = ReturnType<typeof createRemoteLeases>;

/** Creates it over the roster, which notes the store's instant. */
export function createRemoteLeases(
  { random, leaseMs }: Pick<RemoteDeps, 'random' | 'leaseMs'>,
  { received }: RemoteRoster,
) {
  /** Writes the beginnings that must be written before a handler runs, and ends what was cancelled before it began. */
  async function begin(engine: Engine, node: string, claimed: ClaimedJob[]): Promise<ClaimedJob[]> {
    const cancelled = claimed.filter((job) => job.cancelRequestedAt !== null);
    const careful = claimed.filter((job) => job.cancelRequestedAt === null && needsBeginning(job));
    const dropped = new Set<ClaimedJob>(cancelled);
    if (careful.length > 0) {
      const { leases } = await engine.heartbeat({
        node,
        leaseMs,
        leases: careful.map(({ id, fence }) => ({ id, fence, begun: true })),
      });
      for (const [i, job] of careful.entries()) {
        if (leases[i]?.state === 'kept') continue;
        dropped.add(job);
        if (leases[i]?.state === 'cancel') cancelled.push(job);
      }
    }
    const outcome = { kind: 'cancelled', started: false, error: null } as const;
    await settleAll(
      engine,
      cancelled.map((job) => settlementOf({ job, outcome, report: null, random, backoff: null })),
    );
    return claimed.filter((job) => !dropped.has(job));
  }

  async function giveBack(engine: Engine, claimed: readonly ClaimedJob[]): Promise<void> {
    const outcome = { kind: 'released', started: false, stopped: true } as const;
    await settleAll(
      engine,
      claimed.map((job) => settlementOf({ job, outcome, report: null, random, backoff: null })),
    );
  }

  async function settleAll(engine: Engine, settle: Settlement[]): Promise<('done' | 'lost')[]> {
    if (settle.length === 0) return [];
    const reply = await engine.exchange({ settle, claim: null, repeat: true });
    received(reply);
    return reply.settled;
  }

  /** Settles attempts that ran beyond their timeout and grace, and tells which others are beyond their timeout. */
  async function lateOnes(
    engine: Engine,
    leases: readonly RemoteLease[],
    { now, held }: { now: number; held: readonly (JobRecord | null)[] },
  ): Promise<Map<number, 'timeout' | 'over'>> {
    const late = new Map<number, 'timeout' | 'over'>();
    const over: Settlement[] = [];
    for (const [i, { fence }] of leases.entries()) {
      const record = held[i] ?? null;
      if (record === null || record.fence !== fence || record.policy.timeoutMs === null) continue;
      const startedAt = record.attempts.at(-1)?.startedAt ?? now;
      const lateMs = now - startedAt - record.policy.timeoutMs;
      if (lateMs < 0) continue;
      late.set(i, lateMs < record.policy.graceMs ? 'timeout' : 'over');
      if (lateMs < record.policy.graceMs) continue;
      const job = claimedOf(record, fence);
      const outcome = { kind: 'timeout', error: timeoutError(job, null), stopped: false } as const;
      over.push(settlementOf({ job, outcome, report: null, random, backoff: null }));
    }
    await settleAll(engine, over);
    return late;
  }

  function settlementFor(record: JobRecord, { fence, outcome }: RemoteSettlement, report: ReportBody | null) {
    const job = claimedOf(record, fence);
    return settlementOf({ job, outcome: readOutcome(outcome, job), report, random, backoff: null });
  }

  return { begin, giveBack, settleAll, lateOnes, settlementFor };
}

/** Reads the progress and the log lines of a report; null: it has neither. */
export async function readReport(
  { storeNow }: RemoteRoster,
  engine: Engine,
  { progress, logs = [] }: RemoteReport,
): Promise<ReportBody | null> {
  if (progress === undefined && logs.length === 0) return null;
  const now = await storeNow(engine);
  return {
    progress:
      progress === undefined
        ? null
        : checkedProgress(progress.percent, progress.message, {
            ...(progress.step === undefined ? {} : { step: progress.step }),
            ...(progress.of === undefined ? {} : { of: progress.of }),
          }),
    logs: logs.map(({ line, level = 'info', message, at }) => ({
      line: readWholeNumber(line, 'line', 1, 1_000_000_000),
      level,
      message: String(message),
      at: at === undefined ? now : Number(at),
    })),
  };
}

/** Per lease the job, or null if this owner did not claim it: fences are easy to guess, so they prove nothing. */
export async function readHeld(
  { received }: RemoteRoster,
  engine: Engine,
  owner: string | null,
  leases: readonly RemoteLease[],
): Promise<{ now: number; held: (JobRecord | null)[] }> {
  const reply = await engine.get({ ids: leases.map(({ id }) => id) });
  received(reply);
  const held = leases.map(({ fence }, i) => {
    const record = reply.jobs[i] ?? null;
    return record !== null && isHeldBy(owner, record, fence) ? record : null;
  });
  return { now: reply.now, held };
}
