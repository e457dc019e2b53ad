import type { SettleReason } from '../../packages/core/src/contract/engine.ts';
import type { JobStatus } from '../../packages/core/src/contract/job-status.ts';
import type { Ended, Evidence, Settled } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** What an outcome with a reason may make of its job, and whether it spends an attempt; null: either. */
const meaning: Partial<Record<SettleReason, { to: JobStatus[]; spends: boolean | null }>> = {
  returned: { to: ['COMPLETED'], spends: true },
  threw: { to: ['RETRYING', 'FAILED'], spends: true },
  timeout: { to: ['RETRYING', 'FAILED'], spends: true },
  'retry-asked': { to: ['RETRYING', 'FAILED'], spends: true },
  snoozed: { to: ['SCHEDULED'], spends: false },
  cancelled: { to: ['CANCELLED'], spends: false },
  lost: { to: ['RETRYING', 'FAILED'], spends: false },
  // FAILED and spent: at most once, and its handler was entered.
  released: { to: ['PENDING', 'FAILED'], spends: null },
  'input-refused': { to: ['FAILED'], spends: true },
  'result-refused': { to: ['FAILED'], spends: true },
};

// The third loss after a written beginning ends a job.
const begunLossesMax = 3;

// What was decided by somebody else than the handler, after its signal was aborted.
const decidedForIt: readonly string[] = ['timeout', 'cancelled', 'released'];

/** See `promise`. */
export const outcomeFollows: Invariant = {
  name: 'outcome-follows',
  promise:
    'The outcome of an attempt is what its handler did, spends and makes of the job what such an outcome does, and the result that is kept is what it returned; a lost attempt is judged by what was written and asked.',
  parts: [...Object.keys(meaning), 'taken over'],
  check(evidence, facts, exercise) {
    const { events, final, isComplete } = evidence;
    const { accepted } = facts;
    const problems: ReturnType<Invariant['check']> = [];
    const attempts = new Map<string, Course>();
    const graces = new Map(final.jobs.map(({ id, policy }) => [id, policy.graceMs]));
    /** Whether the grace after its abort was over when its handler returned: then it was decided without it. */
    const isGivenUp = ({ id, at }: Settled, { abortedAt, ended }: Course): boolean =>
      !isComplete || abortedAt === null || (ended?.at ?? at) >= abortedAt + (graces.get(id) ?? 0);
    const open = new Set<string>();
    const running = new Set<Settled>();
    for (const event of events) {
      if (event.kind === 'began') {
        attempts.set(`${event.id}/${event.fence}`, { ended: null, abortedAt: null });
        open.add(`${event.id}/${event.fence}`);
      } else if (event.kind === 'ended') {
        const abortedAt = attempts.get(`${event.id}/${event.fence}`)?.abortedAt ?? null;
        attempts.set(`${event.id}/${event.fence}`, { ended: event, abortedAt });
        open.delete(`${event.id}/${event.fence}`);
      } else if (event.kind === 'aborted') {
        const course = attempts.get(`${event.id}/${event.fence}`);
        if (course !== undefined) course.abortedAt ??= event.at;
      } else if (event.kind === 'settled' && isComplete && open.has(`${event.id}/${event.fence}`))
        // The instants of real processes are estimates, and do not tell which of the two came first.
        running.add(event);
    }
    for (const { id, fence, at, node, to, reason, spends } of [...accepted.values()].flat()) {
      const means = meaning[reason];
      if (means !== undefined) exercise(reason);
      const isMeant = means === undefined || (means.to.includes(to) && (means.spends ?? spends) === spends);
      if (isMeant) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was settled ${to} (${reason}) by ${node} at ${show(at)} under fence ${fence}, which ${spends ? 'spent an' : 'spent no'} attempt.`,
      });
    }
    problems.push(...lossProblems(evidence, facts, exercise));
    for (const [id, outcomes] of accepted) {
      for (const outcome of outcomes) {
        const attempt = attempts.get(`${id}/${outcome.fence}`);
        if (attempt === undefined || outcome.userTransaction) continue;
        const isLate = isGivenUp(outcome, attempt);
        const difference = differenceOf(outcome, running.has(outcome) ? null : attempt.ended, isLate);
        if (difference === null) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} was settled ${outcome.to} (${outcome.reason}) by ${outcome.node} at ${show(outcome.at)} under fence ${outcome.fence}, ${difference}.`,
        });
      }
    }
    for (const { id, status, result } of final.jobs) {
      const last = accepted.get(id)?.at(-1);
      if (last?.to === 'COMPLETED' && status !== 'COMPLETED' && isComplete) {
        problems.push({
          subjects: [id],
          message: `Job ${id} was settled COMPLETED by ${last.node} at ${show(last.at)} under fence ${last.fence}, and is ${status}.`,
        });
      }
      if (status !== 'COMPLETED' || last?.to !== 'COMPLETED' || result === last.value) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was settled with the result ${last.value} and keeps ${result}.`,
      });
    }
    return problems;
  },
};

/** What a handler did. */
interface Course {
  ended: Ended | null;
  /** When its signal was aborted; null: it was not. */
  abortedAt: number | null;
}

/** How an outcome differs from what the handler did; `ended` null: it still ran when it was settled; `isGivenUp`: it had no say any more. */
function differenceOf(
  { to, reason, value }: Settled,
  ended: Ended | null,
  isGivenUp: boolean,
): string | null {
  if (ended === null) return decidedForIt.includes(reason) ? null : 'though its handler still ran';
  const { how, aborted } = ended;
  if (aborted === undefined) return null;
  if (decidedForIt.includes(reason)) {
    if (aborted === null) return `though its signal was not aborted (${how})`;
    // After the grace it was decided before the handler ended, and sent after; what is given back may be sent late as well.
    const hasSay = how === 'returned' && reason !== 'released' && !isGivenUp;
    return hasSay ? `though its handler returned after it was told to stop (${aborted})` : null;
  }
  // Whether its transaction was committed is what `effects-once` asks.
  if (how === 'completed-apart') return null;
  if (how === 'returned-no-json')
    return reason === 'result-refused' ? null : 'though its handler returned something that is not JSON';
  if (how === 'returned') {
    if (to !== 'COMPLETED' || reason !== 'returned') return 'though its handler returned';
    return value === (ended.value ?? null)
      ? null
      : `with ${value}, though its handler returned ${ended.value}`;
  }
  const expected = how === 'snoozed' || how === 'retry-asked' ? how : 'threw';
  // It may have thrown because it was told to stop: that costs its job no attempt where its worker stops, and is what it was told else.
  if (reason === 'threw' && aborted !== null && aborted !== 'lost')
    return `though its handler ended with ${how} after it was told to stop (${aborted})`;
  return reason === expected ? null : `though its handler ended with ${how}`;
}

/** Losses that were judged otherwise than the rule has it: by who had asked to cancel, what may start once, and what was begun. */
function lossProblems(
  { final, isComplete, unorderedMs = 0 }: Evidence,
  facts: Facts,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const jobs = new Map(final.jobs.map((job) => [job.id, job]));
  for (const [id, leases] of facts.leases) {
    const job = jobs.get(id);
    // Brought back, it has forgotten who asked to cancel it.
    if (job === undefined || facts.touched.get(id)?.some(({ verb }) => verb === 'retry')) continue;
    for (const lease of leases) {
      if (lease.how !== 'reaped') continue;
      const before = leases.findLast(({ fence }) => fence < lease.fence);
      if (isComplete && before !== undefined && before.isBegun !== lease.isBegun) {
        problems.push({
          subjects: [id],
          message: `Job ${id} was taken over at ${show(lease.at)} as ${lease.isBegun ? '' : 'not '}begun; under fence ${before.fence} ${before.isBegun ? 'a' : 'no'} beginning was written.`,
        });
      }
      const outcome = facts.accepted.get(id)?.find(({ fence }) => fence === lease.fence);
      if (outcome === undefined) continue;
      const askedAt = job.cancelRequestedAt;
      // Asked between the reaper's look and its word, it is cancelled by the store.
      if (askedAt !== null && askedAt >= lease.at - unorderedMs) continue;
      exercise('taken over');
      const expected = lossOf(lease.isBegun, job, askedAt !== null);
      if (expected.some(({ to, reason }) => to === outcome.to && reason === outcome.reason)) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was lost ${lease.isBegun ? 'after' : 'without'} a written beginning and settled ${outcome.to} (${outcome.reason}) by ${outcome.node} at ${show(outcome.at)}; expected ${expected.map(({ to, reason }) => `${to} (${reason})`).join(' or ')}.`,
      });
    }
  }
  return problems;
}

/** What may become of a job whose lease was lost. How often it was lost before `attempts-counted` tells. */
function lossOf(
  isBegun: boolean,
  { policy, begunLosses }: Evidence['final']['jobs'][number],
  isAsked: boolean,
): Pick<Settled, 'to' | 'reason'>[] {
  if (isAsked) return [{ to: 'CANCELLED', reason: 'cancelled' }];
  if (policy.delivery === 'at-most-once')
    return [isBegun ? { to: 'FAILED', reason: 'lost' } : { to: 'PENDING', reason: 'released' }];
  const again = { to: 'RETRYING', reason: 'lost' } as const;
  return isBegun && begunLosses >= begunLossesMax ? [again, { to: 'FAILED', reason: 'lost' }] : [again];
}
