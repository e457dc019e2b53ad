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
  workers?: number;
}

/** What it takes to run them. */
export interface Capacity {
  /** All of it, one after the other. */
  workMs: number;
  /** Workers needed when the jobs are spread evenly over `every`; null: they come once. */
  spreadWorkers: number | null;
  /** Workers needed to start all of one coming at once, also while those of earlier ones still go on. */
  atOnceWorkers: number;
  /** How long `workers` of them are busy with one coming; null: not asked. */
  withWorkersMs: number | null;
  /** Whether `workers` get done what comes, so that no more and more waits; null: not asked. */
  keepsUp: boolean | null;
}

const names: OptionNames<CapacityOptions> = { jobs: true, takes: true, every: true, workers: true };
const countMax = 1_000_000_000;

/** Answers without any history: how many workers, or how long. */
export function capacity(options: CapacityOptions): Capacity {
  const { jobs, takes, every, workers } = readOptions(options, 'capacity()', names);
  const jobCount = readWholeNumber(jobs, 'jobs', 1, countMax);
  const takesMs = parseDuration(takes, 'takes', { minMs: 1 });
  if (every === undefined && workers === undefined) {
    refuseOption(
      'every',
      every,
      'to be given, or "workers": how often the jobs come, or how many run at a time',
    );
  }
  const everyMs = every === undefined ? null : parseDuration(every, 'every', { minMs: 1_000 });
  const workerCount = workers === undefined ? null : readWholeNumber(workers, 'workers', 1, countMax);
  const workMs = jobCount * takesMs;
  const withWorkersMs = workerCount === null ? null : Math.ceil(jobCount / workerCount) * takesMs;
  return {
    workMs,
    spreadWorkers: everyMs === null ? null : Math.ceil(workMs / everyMs),
    atOnceWorkers: jobCount * (everyMs === null ? 1 : Math.ceil(takesMs / everyMs)),
    withWorkersMs,
    keepsUp: workerCount === null || everyMs === null ? null : workMs <= workerCount * everyMs,
  };
}
