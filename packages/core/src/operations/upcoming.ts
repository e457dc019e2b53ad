import { type Duration, parseDuration } from '../base/duration.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
} from '../base/option-reader.ts';
import { type Job, toJob } from '../jobs/job-view.ts';
import type { OpenEngine } from './nodes.ts';

/** How far to look ahead, and in what steps. */
export interface UpcomingOptions {
  /** How far: default an hour. */
  within?: Duration;
  /** The length of a step: a second or more, at most 1,000 of them. Default a sixtieth of `within`. */
  step?: Duration;
  /** How many of the earliest are told by themselves: 0 to 1,000, default 20. */
  limit?: number;
  /** Only of this tenant; null: only those of none. Left out: of all. */
  tenant?: string | null;
}

/** The jobs that fall due next. */
export interface Upcoming {
  /** The store's instant, where the first step begins. */
  from: Date;
  to: Date;
  stepMs: number;
  /** The steps in which some fall due. */
  steps: { from: Date; count: number }[];
  /** Whether there are more than were counted: 20,000 of each type are. */
  capped: boolean;
  /** The earliest due first. */
  jobs: Job[];
}

const names: OptionNames<UpcomingOptions> = { within: true, step: true, limit: true, tenant: true };
const stepCountMax = 1_000;
// Some ten milliseconds.
const cap = 20_000;

/** See `Duly.upcoming`. */
export async function readUpcoming(open: OpenEngine, options: UpcomingOptions = {}): Promise<Upcoming> {
  const given = readOptions(options, 'upcoming()', names);
  const withinMs = parseDuration(given.within ?? '1h', 'within', { minMs: 1_000 });
  const stepMs =
    given.step === undefined ? Math.max(1_000, Math.ceil(withinMs / 60)) : parseDuration(given.step, 'step');
  if (stepMs < 1_000 || withinMs / stepMs > stepCountMax) {
    refuseOption('step', given.step, `to be a second or longer, and at most ${stepCountMax} of them`);
  }
  const limit = readWholeNumber(given.limit ?? 20, 'limit', 0, 1_000);
  const tenant = given.tenant == null ? given.tenant : readName(given.tenant, 'tenant');
  const engine = await open();
  const { now, steps, capped, jobs } = await engine.upcoming({
    ...{ withinMs, stepMs, cap, limit },
    ...(tenant === undefined ? {} : { tenant }),
  });
  return {
    from: new Date(now),
    to: new Date(now + withinMs),
    stepMs,
    steps: steps.map(({ fromAt: at, count }) => ({ from: new Date(at), count })),
    capped,
    jobs: jobs.map((job) => toJob(job)),
  };
}
