import { type Duration, parseDuration } from '../base/duration.ts';
import { type OptionNames, readOptions, readWholeNumber, refuseOption } from '../base/option-reader.ts';

/** So many jobs that take so long each. */
export interface CapacityOptions {
  jobs: number;
  /** How long one takes. */
  takes: Duration;
  /** How often that many come; left out: once. */
  every?: Duration;
  /** How many run at a time; left out: how many it takes is the answer. */
  concurrency?: number;
}

/** What it takes to run them. */
export interface Capacity {
  /** All of it, one after the other. */
  workMs: number;
  /** Concurrency needed when the jobs are spread evenly over `every`; null: they come once. */
  spreadConcurrency: number | null;
  /** Concurrency needed to start all jobs of one period at once, even if jobs of earlier periods still run. */
  atOnceConcurrency: number;
  /** How long the jobs of one period take with `concurrency`; null: not asked. */
  withConcurrencyMs: number | null;
  /** Whether the jobs of a period finish within it with `concurrency`, so that no backlog grows; null: not asked. */
  keepsUp: boolean | null;
}

const names: OptionNames<CapacityOptions> = { jobs: true, takes: true, every: true, concurrency: true };
const countMax = 1_000_000_000;

/** Answers without any history: the concurrency needed, or how long the jobs take. */
export function capacity(options: CapacityOptions): Capacity {
  const { jobs, takes, every, concurrency } = readOptions(options, 'capacity()', names);
  const jobCount = readWholeNumber(jobs, 'jobs', 1, countMax);
  const takesMs = parseDuration(takes, 'takes', { minMs: 1 });
  if (every === undefined && concurrency === undefined) {
    refuseOption(
      'every',
      every,
      'to be given, or "concurrency": how often the jobs come, or how many run at a time',
    );
  }
  const everyMs = every === undefined ? null : parseDuration(every, 'every', { minMs: 1_000 });
  const slotCount =
    concurrency === undefined ? null : readWholeNumber(concurrency, 'concurrency', 1, countMax);
  const workMs = jobCount * takesMs;
  const withConcurrencyMs = slotCount === null ? null : Math.ceil(jobCount / slotCount) * takesMs;
  return {
    workMs,
    spreadConcurrency: everyMs === null ? null : Math.ceil(workMs / everyMs),
    atOnceConcurrency: jobCount * (everyMs === null ? 1 : Math.ceil(takesMs / everyMs)),
    withConcurrencyMs,
    keepsUp: slotCount === null || everyMs === null ? null : workMs <= slotCount * everyMs,
  };
}
