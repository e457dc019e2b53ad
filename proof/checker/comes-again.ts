import type { CreatedJob, Ended, Settled } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const comesAgain: Invariant = {
  name: 'comes-again',
  promise:
    'A failed attempt is followed after the backoff of its job, one that snoozed or asked for it after what it asked for, a lost one at once.',
  parts: ['threw', 'timeout', 'retry-asked', 'snoozed', 'lost'],
  check({ events, isComplete }, { created, accepted }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const ended = new Map<string, Ended>();
    for (const event of events) if (event.kind === 'ended') ended.set(`${event.id}/${event.fence}`, event);
    for (const [id, outcomes] of accepted) {
      const job = created.get(id);
      let failures = 0;
      for (const outcome of outcomes) {
        if (outcome.spends) failures++;
        if (outcome.to !== 'RETRYING' && outcome.to !== 'SCHEDULED') continue;
        // Sent again after a lost answer, its delay counts from when the first arrived, which nobody noted.
        if (outcome.repeat && !isComplete) continue;
        const asked = ended.get(`${id}/${outcome.fence}`)?.againMs;
        const span = spanOf(outcome, { job, failures: isComplete ? failures : null, asked });
        const afterMs = (outcome.dueAt ?? outcome.at) - outcome.at;
        if (span !== null) exercise(outcome.reason);
        if (span === null || (afterMs >= span.min && afterMs <= span.max)) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} (${outcome.reason} at ${show(outcome.at)}, fence ${outcome.fence}) comes again after ${afterMs} ms; expected ${span.min} to ${span.max} ms.`,
        });
      }
    }
    return problems;
  },
};

/** How long after an outcome its job may be due again; null: nobody can tell. `failures` null: how often it failed is not known. */
function spanOf(
  { reason }: Settled,
  {
    job,
    failures,
    asked,
  }: { job: CreatedJob | undefined; failures: number | null; asked: number | undefined },
): { min: number; max: number } | null {
  if (reason === 'snoozed' || reason === 'retry-asked')
    return asked === undefined ? null : { min: asked, max: asked };
  if (reason === 'lost') return { min: 0, max: 0 };
  if ((reason !== 'threw' && reason !== 'timeout') || job === undefined) return null;
  const { backoff, delayMs, factor, maxDelayMs, jitter } = job.retry;
  if (backoff === 'custom') return null;
  const grown = (count: number): number => {
    if (backoff === 'fixed') return delayMs;
    return backoff === 'linear' ? delayMs * count : delayMs * factor ** (count - 1);
  };
  const [fewest, most] = failures === null ? [1, job.retry.attempts] : [failures, failures];
  const min = Math.min(grown(fewest), maxDelayMs) * (1 - jitter);
  const max = Math.min(grown(most) * (1 + jitter), maxDelayMs);
  return { min: Math.floor(min), max: Math.ceil(max) };
}
