/**
 * What one step of priority is worth in waiting time.
 *
 * PENDING jobs are taken by rank = due − priority × step. The rank never changes, so ageing is free: a job of
 * priority 0 that has waited five minutes goes before a fresh one of priority 4, and nothing starves. A minute
 * is long beside the wait in a healthy queue (milliseconds to seconds, so priority decides there) and short
 * beside a backlog (so that an hour of it does not lock the lowest priorities out for good).
 */
export const priorityStepMs = 60_000;

/** Lowest priority a job may have. */
export const priorityMin = -1000;

/** Highest priority a job may have. */
export const priorityMax = 1000;

/** What is added to a job's due instant to give its rank; the lower rank is taken first. */
export function rankOffsetMs(priority: number): number {
  // `0 - …` and not `-…`: minus zero would travel to the store as a second kind of zero.
  return 0 - priority * priorityStepMs;
}
