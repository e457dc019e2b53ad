import type { FinalState } from '../history.ts';
import { type Facts, isOver, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// The third loss after a written beginning ends a job.
const begunLossesMax = 3;

/** See `promise`. */
export const attemptsCounted: Invariant = {
  name: 'attempts-counted',
  promise:
    'No job spends more attempts than it has, none is given up with attempts left, and the third loss after a written beginning ends it. Attempts are numbered without a gap, and when the first one started is kept.',
  parts: ['attempts used up', 'third loss', 'next attempt', 'first start', 'progress'],
  check({ events, final, isComplete }, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { accepted, created, leases } = facts;
    const began = new Set(
      events.flatMap((event) => (event.kind === 'began' ? [`${event.id}/${event.fence}`] : [])),
    );
    const reported = new Map<string, number>();
    for (const event of events) {
      if (event.kind !== 'reported' || event.result !== 'kept') continue;
      const key = `${event.id}/${event.fence}`;
      reported.set(key, Math.max(reported.get(key) ?? 0, event.percent ?? 0));
    }
    for (const job of final.jobs) {
      const { id, spent, maxAttempts, begunLosses, status, reason, policy } = job;
      const fail = (message: string): void =>
        void problems.push({ subjects: [id], message: `Job ${id} ${message}` });
      if (spent > maxAttempts) fail(`spent ${spent} attempts of ${maxAttempts}.`);
      if (begunLosses >= begunLossesMax) exercise('third loss');
      if (begunLosses > begunLossesMax || (begunLosses === begunLossesMax && !isOver(job)))
        fail(`was lost ${begunLosses} times after its beginning was written, and is ${status}.`);
      const isGivenUp = status === 'FAILED' && (reason === 'threw' || reason === 'timeout');
      if (isGivenUp && policy.delivery === 'at-least-once') exercise('attempts used up');
      // What was stopped in the middle and must not start twice ends at once.
      if (isGivenUp && spent < maxAttempts && policy.delivery === 'at-least-once')
        fail(`was given up (${reason}) after ${spent} of ${maxAttempts} attempts.`);
      if (!isComplete || !created.has(id)) continue;
      const outcomes = accepted.get(id) ?? [];
      const counted = outcomes.filter(({ spends }) => spends).length;
      if (counted !== spent) fail(`is told to have spent ${spent} attempts; outcomes spent ${counted}.`);
      const started = (leases.get(id) ?? []).filter(({ how }) => how === 'claimed').length;
      if (job.attempt > started) fail(`counts ${job.attempt} attempts, and was given out ${started} times.`);
      if (started > 1) exercise('next attempt');
      for (const message of numberProblems(job, facts, began)) fail(message);
      if (job.startedAt !== null) exercise('first start');
      const startProblem = firstStartProblem(job, facts, began);
      if (startProblem !== null) fail(startProblem);
      const last = leases.get(id)?.findLast(({ how }) => how === 'claimed');
      const percent = last === undefined ? 0 : (reported.get(`${id}/${last.fence}`) ?? 0);
      const isRetried = facts.touched.get(id)?.some(({ verb }) => verb === 'retry') === true;
      if (percent > 0 && !isRetried) exercise('progress');
      if (job.progress.percent < percent && !isRetried)
        fail(`is told to be at ${job.progress.percent} %, and its last attempt said ${percent} %.`);
    }
    return problems;
  },
};

/** Numbers of attempts that do not follow each other: each has the next one, and one that was given back unused is given again. */
function numberProblems(
  { id }: FinalState['jobs'][number],
  { leases, accepted, touched, indexOf }: Facts,
  began: ReadonlySet<string>,
): string[] {
  const claims = (leases.get(id) ?? []).filter(({ how }) => how === 'claimed');
  return claims.flatMap((claim, i) => {
    const before = claims[i - 1];
    if (before === undefined) return claim.attempt === 1 ? [] : [`began with attempt ${claim.attempt}.`];
    const isGivenBack = (accepted.get(id) ?? []).some(
      ({ fence, reason, to }) =>
        fence >= before.fence && fence < claim.fence && reason === 'released' && to === 'PENDING',
    );
    // One that was asked to cancel was ended with its number instead, and could be brought back.
    const isAsked = (touched.get(id) ?? []).some((act) => {
      const index = indexOf.get(act) ?? Number.NaN;
      return act.verb === 'cancel' && act.result === 'asked' && index > before.index && index < claim.index;
    });
    const isUnused = isGivenBack && !isAsked && !began.has(`${id}/${before.fence}`);
    const expected = before.attempt + (isUnused ? 0 : 1);
    return claim.attempt === expected
      ? []
      : [`was given out as attempt ${claim.attempt} under fence ${claim.fence}; expected ${expected}.`];
  });
}

/** What is wrong with the first start that a job keeps, and how late that was; null: nothing. */
function firstStartProblem(
  { id, startedAt, latenessMs }: FinalState['jobs'][number],
  { leases, touched }: Facts,
  began: ReadonlySet<string>,
): string | null {
  if (touched.get(id)?.some(({ verb }) => verb === 'retry')) return null;
  const claims = (leases.get(id) ?? []).filter(({ how }) => how === 'claimed');
  const first = claims.findIndex(({ fence }) => began.has(`${id}/${fence}`));
  if (first < 0) return null;
  // One before whose handler nobody saw may have been a start.
  const start = claims.slice(0, first + 1).find(({ at }) => at === startedAt);
  if (start === undefined)
    return `is told to have started at ${show(startedAt)}; it began at ${show(claims[first]?.at ?? null)}.`;
  const lateMs = Math.max(0, start.at - (start.dueAt ?? start.at));
  return latenessMs === lateMs ? null : `is told to have started ${latenessMs} ms late; it was ${lateMs} ms.`;
}
