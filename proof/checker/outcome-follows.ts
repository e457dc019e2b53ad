import type { Ended, Settled } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// What was decided by somebody else than the handler, after its signal was aborted.
const decidedForIt: readonly string[] = ['timeout', 'cancelled', 'released'];

/** See `promise`. */
export const outcomeFollows: Invariant = {
  name: 'outcome-follows',
  promise:
    'The outcome of an attempt is what its handler did, and the result that is kept is what it returned.',
  check({ events, final, isComplete }, { accepted }) {
    const problems: ReturnType<Invariant['check']> = [];
    const attempts = new Map<string, { ended: Ended | null }>();
    const open = new Set<string>();
    const running = new Set<Settled>();
    for (const event of events) {
      if (event.kind === 'began') {
        attempts.set(`${event.id}/${event.fence}`, { ended: null });
        open.add(`${event.id}/${event.fence}`);
      } else if (event.kind === 'ended') {
        attempts.set(`${event.id}/${event.fence}`, { ended: event });
        open.delete(`${event.id}/${event.fence}`);
      } else if (event.kind === 'settled' && isComplete && open.has(`${event.id}/${event.fence}`))
        // The instants of real processes are estimates, and do not tell which of the two came first.
        running.add(event);
    }
    for (const [id, outcomes] of accepted) {
      for (const outcome of outcomes) {
        const attempt = attempts.get(`${id}/${outcome.fence}`);
        if (attempt === undefined || outcome.within) continue;
        const difference = differenceOf(outcome, running.has(outcome) ? null : attempt.ended);
        if (difference === null) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} was settled ${outcome.to} (${outcome.reason}) by ${outcome.node} at ${show(outcome.at)} under fence ${outcome.fence}, ${difference}.`,
        });
      }
    }
    for (const { id, status, result } of final.jobs) {
      const last = accepted.get(id)?.at(-1);
      if (status !== 'COMPLETED' || last?.to !== 'COMPLETED' || result === last.value) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was settled with the result ${last.value} and keeps ${result}.`,
      });
    }
    return problems;
  },
};

/** How an outcome differs from what the handler did; `ended` null: it still ran when it was settled. */
function differenceOf({ to, reason, value }: Settled, ended: Ended | null): string | null {
  if (ended === null) return decidedForIt.includes(reason) ? null : 'though its handler still ran';
  const { how, aborted } = ended;
  if (aborted === undefined) return null;
  // It may have been decided before the handler ended, and sent after.
  if (decidedForIt.includes(reason))
    return aborted === null ? `though its signal was not aborted (${how})` : null;
  // Whether its transaction was committed is what `effects-once` asks.
  if (how === 'completed-apart') return null;
  if (how === 'returned') {
    if (to !== 'COMPLETED' || reason !== 'returned') return 'though its handler returned';
    return value === (ended.value ?? null)
      ? null
      : `with ${value}, though its handler returned ${ended.value}`;
  }
  const expected = how === 'snoozed' || how === 'retry-asked' ? how : 'threw';
  return reason === expected ? null : `though its handler ended with ${how}`;
}
