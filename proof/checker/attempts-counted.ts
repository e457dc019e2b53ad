import { isOver } from './facts.ts';
import type { Invariant } from './invariant.ts';

// The third loss after a written beginning ends a job.
const begunLossesMax = 3;

/** See `promise`. */
export const attemptsCounted: Invariant = {
  name: 'attempts-counted',
  promise:
    'No job spends more attempts than it has, none is given up with attempts left, and the third loss after a written beginning ends it.',
  check({ final, isComplete }, { accepted, made, leases }) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const job of final.jobs) {
      const { id, spent, maxAttempts, begunLosses, status, reason, policy } = job;
      const fail = (message: string): void =>
        void problems.push({ subjects: [id], message: `Job ${id} ${message}` });
      if (spent > maxAttempts) fail(`spent ${spent} attempts of ${maxAttempts}.`);
      if (begunLosses > begunLossesMax || (begunLosses === begunLossesMax && !isOver(job)))
        fail(`was lost ${begunLosses} times after its beginning was written, and is ${status}.`);
      const isGivenUp = status === 'FAILED' && (reason === 'threw' || reason === 'timeout');
      // What was stopped in the middle and must not start twice ends at once.
      if (isGivenUp && spent < maxAttempts && policy.delivery === 'at-least-once')
        fail(`was given up (${reason}) after ${spent} of ${maxAttempts} attempts.`);
      if (!isComplete || !made.has(id)) continue;
      const outcomes = accepted.get(id) ?? [];
      const counted = outcomes.filter(({ spends }) => spends).length;
      if (counted !== spent) fail(`is told to have spent ${spent} attempts; outcomes spent ${counted}.`);
      const started = (leases.get(id) ?? []).filter(({ how }) => how === 'claimed').length;
      if (job.attempt > started) fail(`counts ${job.attempt} attempts, and was given out ${started} times.`);
    }
    return problems;
  },
};
