import type { ClaimedJob, ClaimRequest, EnqueuedItem, JobSpec } from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';
import { emptyClaim, peek } from './claim.ts';
import { dueAtOf, existing } from './job-spec.ts';

/** Jobs that are created and claimed in one step. */
export interface TakeAtOnce {
  claim: ClaimRequest;
  /** The fence of each, in the order of their ranks. */
  fences: ReadonlyMap<JobSpec, number>;
  /** What was taken so far. */
  claimed: ClaimedJob[];
}

/**
 * Whether these jobs can be created as RUNNING by the claim that is sent with them: nothing else is ready or due, nothing is paused, and the
 * claim has capacity for each. This holds for a single `now()` and a single slot, and saves half of what they write. Null: they are
 * created first and then claimed like all others.
 */
export function takeAtOnce(work: Work, claim: ClaimRequest | undefined, specs: JobSpec[]): TakeAtOnce | null {
  if (!work.hasPlainBranches || claim === undefined || specs.length === 0 || specs.length > claim.limit)
    return null;
  const left = new Map(claim.tasks.map(({ type, version, limit }) => [type, { version, limit }]));
  for (const spec of specs) {
    const task = left.get(spec.type);
    if (task === undefined || task.limit <= 0 || spec.version > task.version) return null;
    if (claim.queues !== null && !claim.queues.includes(spec.queue)) return null;
    if (!isPlain(spec) || !isTimely(work, spec)) return null;
    task.limit--;
  }
  if (emptyClaim(peek(work, claim.tasks)) === null) return null;
  const first = work.fences(specs.length);
  const byRank = [...specs].sort((a, b) => rankOf(work, a) - rankOf(work, b));
  return { claim, fences: new Map(byRank.map((spec, i) => [spec, first + i])), claimed: [] };
}

const rankOf = (work: Work, spec: JobSpec): number => dueAtOf(work, spec.due) + spec.rankOffsetMs;

/** Due, and not too late to start. */
function isTimely(work: Work, spec: JobSpec): boolean {
  const dueAt = 'at' in spec.due ? spec.due.at : work.now + spec.due.inMs;
  // What is wrong with an instant is said where groups are refused one by one.
  if (!Number.isSafeInteger(dueAt)) return false;
  return dueAt <= work.now && (spec.startDeadlineMs === null || dueAt + spec.startDeadlineMs >= work.now);
}

/** Creates one of them. */
export function insertTaken(work: Work, spec: JobSpec, { claim, fences, claimed }: TakeAtOnce): EnqueuedItem {
  const { now } = work;
  const dueAt = dueAtOf(work, spec.due);
  const fence = fences.get(spec) as number;
  const { slot } = spec;
  const seq = work.insert(
    statements.job.insertTaken,
    // {{job.caller -serial | spec.%field, | policy=work.policyText(spec.policy),}}
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
    spec.copyOf,
    // {{/job}}
    dueAt,
    spec.startDeadlineMs === null ? null : dueAt + spec.startDeadlineMs,
    now,
    now,
    now,
    now - dueAt,
    fence,
    work.steady + claim.leaseMs,
    claim.token,
    claim.node,
    now,
    spec.policy.maxAttempts,
    slot?.scheduleId ?? null,
    slot === null ? null : JSON.stringify(slot),
  );
  if (seq === null) return existing(work, spec);
  work.changed(spec.id, spec.type, 'PENDING', 'created', 0);
  work.changed(spec.id, spec.type, 'RUNNING', 'claimed', 0);
  claimed.push({
    // {{job.claim +caller | %field: spec.%field,}}
    id: spec.id,
    type: spec.type,
    version: spec.version,
    queue: spec.queue,
    tenant: spec.tenant,
    priority: spec.priority,
    input: spec.input,
    metadata: spec.metadata,
    policy: spec.policy,
    origin: spec.origin,
    // {{/job}}
    fence,
    attempt: 1,
    spent: 0,
    maxAttempts: spec.policy.maxAttempts,
    losses: 0,
    begunLosses: 0,
    begun: false,
    createdAt: now,
    dueAt,
    claimedAt: now,
    slot,
    parent: null,
    cancelRequestedAt: null,
  });
  return { id: spec.id, status: 'PENDING', dueAt, deduped: false };
}

/** Creates all of a group; if one is refused, none of them was claimed. */
export function insertAllTaken(work: Work, specs: JobSpec[], atOnce: TakeAtOnce): EnqueuedItem[] {
  const { length } = atOnce.claimed;
  try {
    return specs.map((spec) => insertTaken(work, spec, atOnce));
  } catch (error) {
    atOnce.claimed.length = length;
    throw error;
  }
}

/** What was taken, by rank. */
export function takenOf({ claimed }: TakeAtOnce): ClaimedJob[] {
  return claimed.sort((a, b) => a.fence - b.fence);
}
