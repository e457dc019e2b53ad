import { systemClock } from '@duly/core';
import { defineTask, type TaskDefinition } from '../project/define.ts';

/** The app under which a node with the demo tasks is known. */
export const demoApp = 'duly-demo';

const steps = ['Transcoding 1080p', 'Transcoding 720p', 'Transcoding 480p', 'Writing the playlist'];
// Six seconds in all: long enough to watch, short enough to wait for.
const stepMs = 1_500;
const ticksPerStep = 5;

/** A text, checked when the job is created and when it runs. Written by hand, so that the demo needs no schema library. */
const text = {
  '~standard': {
    version: 1 as const,
    vendor: 'duly-demo',
    validate: (value: unknown) =>
      typeof value === 'string' && value !== ''
        ? { value }
        : { issues: [{ message: 'Expected the path of a video as a text, like "uploads/video_789.mp4".' }] },
    types: undefined as { input: string; output: string } | undefined,
  },
};

const transcode = defineTask({
  name: 'video_transcode',
  input: text,
  timeout: '5m',
  async run({ input, progress, log, signal }) {
    for (const [i, step] of steps.entries()) {
      log.info(`${step} of ${input}`);
      for (let tick = 0; tick < ticksPerStep; tick++) {
        const percent = ((i + tick / ticksPerStep) / steps.length) * 100;
        await progress(Math.round(percent), step, { step: i + 1, of: steps.length });
        await systemClock.sleep(stepMs / ticksPerStep, signal);
        signal.throwIfAborted();
      }
    }
    return { source: input, renditions: ['1080p', '720p', '480p'] };
  },
});

const email = defineTask({
  name: 'flaky_email',
  retry: { attempts: 5, backoff: 'exponential', delay: '1s' },
  async run({ input, attempt, log }) {
    log.info(`Attempt ${attempt}: connecting to the mail server.`);
    // Fails twice, so that a reader sees two retries and then the success.
    if (attempt % 3 !== 0)
      throw Object.assign(new Error('The mail server answered 421, try again later.'), { code: 'SMTP_421' });
    return { sentTo: input ?? null, attempt };
  },
});

const broken = defineTask({
  name: 'broken_import',
  retry: { attempts: 2, backoff: 'fixed', delay: '1s' },
  async run({ log }) {
    log.error('Row 17 has no column "price".');
    // As a user's handler would fail: with an error that is none of Duly's.
    const problem = new TypeError('Cannot read the price of row 17: the file has no column "price".');
    throw problem;
  },
});

const report = defineTask({
  name: 'analytics_report',
  // The next minute is soon enough to be waited for.
  every: { cron: '* * * * *', note: 'The demo: a report every minute.' },
  async run({ slot, job, covers, log }) {
    const minutes = covers === null ? 1 : covers.count + 1;
    log.info(`Counting the visitors of ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`);
    // Made of the minute and not drawn, so that a run that is repeated says the same. A triggered run has no slot.
    const minute = Math.floor((slot?.at ?? job.createdAt).getTime() / 60_000);
    return { until: new Date(minute * 60_000).toISOString(), minutes, visitors: minute % 97 };
  },
});

/**
 * The tasks of `duly up --demo`: one with progress, one that fails and retries, one that ends as a dead letter, and one on a
 * schedule.
 */
export const demoTasks: readonly TaskDefinition[] = [
  transcode,
  email,
  broken,
  report,
] as unknown as TaskDefinition[];

/** The jobs that the demo creates at its start on an empty store, so that something happens before the reader's eyes. */
export const demoJobs: readonly { type: string; input: unknown }[] = [
  { type: 'video_transcode', input: 'uploads/video_789.mp4' },
  { type: 'flaky_email', input: 'ada@example.com' },
  { type: 'broken_import', input: { file: 'prices.csv' } },
];
