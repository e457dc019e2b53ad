import { type Duly, isDulyError, systemClock } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { readDuration } from '../cli/usage.ts';
import { createNodeDuly } from '../node/node-duly.ts';
import { printJson } from '../output/json.ts';
import { rough } from '../output/times.ts';
import { type NodeCommandOptions, readStart } from './up.ts';

interface TickOptions extends NodeCommandOptions {
  for?: string;
  stay?: boolean;
  drain?: string;
  allowCommands?: boolean;
}

// Less than the minute that cron gives, so that one tick is over before the next begins.
const forMsDefault = 50_000;
// While something is due and nobody has taken it: others may be about to, or it is paused.
const lookEveryMs = 250;

/** What a tick did. */
interface Done {
  fired: number;
  started: number;
  completed: number;
  failed: number;
  retrying: number;
  other: number;
}

/** `duly tick`: all roles for a bounded time, then the end. What comes and goes instead of staying: cron, serverless, small hosts. */
export async function tick(context: CommandContext, options: TickOptions): Promise<undefined> {
  const forMs = options.for === undefined ? forMsDefault : readDuration(options.for, '--for');
  const drain = options.drain === undefined ? {} : { drain: readDuration(options.drain, '--drain') };
  const start = readStart(options);
  const allowCommands = options.allowCommands === true;
  const { duly } = await createNodeDuly(context, {
    ...options,
    demo: 'never',
    withoutTasks: true,
    allowCommands,
  });
  const sinceElapsed = systemClock.elapsed();
  const done = count(duly);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  try {
    // The first look at leases is a part of the pass: what was lost is taken up now and not by the next tick.
    const swept = duly.next('call', ({ verb }) => verb === 'reap');
    await duly.start(start);
    await swept;
    const endElapsed = systemClock.elapsed() + forMs;
    const nextAt = await watch(duly, {
      queues: start.queues ?? null,
      endElapsed,
      stay: options.stay === true,
      stop: stop.signal,
      done,
    });
    await duly.stop(drain);
    report(context, options, done.counts, nextAt, systemClock.elapsed() - sinceElapsed);
  } finally {
    await duly.stop(drain);
  }
  return undefined;
}

/** Waits until nothing falls due within the time, or the time is over; answers what is due next, as far as it was asked. */
async function watch(
  duly: Duly,
  {
    queues,
    endElapsed,
    stay,
    stop,
    done,
  }: {
    queues: readonly string[] | null;
    endElapsed: number;
    stay: boolean;
    stop: AbortSignal;
    done: Counting;
  },
): Promise<Date | null> {
  let next: Date | null = null;
  for (;;) {
    const leftMs = endElapsed - systemClock.elapsed();
    if (leftMs <= 0 || stop.aborted) return next;
    const changed = done.changed();
    const { now, job, schedule, busy } = await nextDue(duly, queues);
    next = job === null || (schedule !== null && schedule < job) ? schedule : job;
    const untilMs = next === null ? Number.POSITIVE_INFINITY : next.getTime() - now.getTime();
    if (!stay && !busy && untilMs > leftMs) return next;
    const waitMs = busy || untilMs <= 0 ? lookEveryMs : Math.min(leftMs, untilMs);
    await systemClock.sleep(waitMs, AbortSignal.any([stop, changed]));
  }
}

/** A store that is away for a moment is no reason to leave: nodes bear it too. */
async function nextDue(duly: Duly, queues: readonly string[] | null): ReturnType<Duly['nextDue']> {
  for (;;) {
    try {
      return await duly.nextDue({ queues });
    } catch (error) {
      if (!isDulyError(error, 'store_unavailable')) throw error;
      await systemClock.sleep(1_000);
    }
  }
}

interface Counting {
  readonly counts: Done;
  /** Aborted with the next thing that happens. */
  changed(): AbortSignal;
}

function count(duly: Duly): Counting {
  const counts: Done = { fired: 0, started: 0, completed: 0, failed: 0, retrying: 0, other: 0 };
  let change = new AbortController();
  const wake = (): void => change.abort();
  duly.on('schedule.fired', ({ jobs }) => {
    counts.fired += jobs.length;
    wake();
  });
  duly.on('job.started', () => {
    counts.started++;
  });
  duly.on('job.settled', ({ status }) => {
    if (status === 'COMPLETED') counts.completed++;
    else if (status === 'FAILED') counts.failed++;
    else if (status === 'RETRYING') counts.retrying++;
    else counts.other++;
    wake();
  });
  duly.on('job.lost', wake);
  return {
    counts,
    changed() {
      if (change.signal.aborted) change = new AbortController();
      return change.signal;
    },
  };
}

function report(
  { out, json }: CommandContext,
  { quiet }: TickOptions,
  done: Done,
  nextAt: Date | null,
  durationMs: number,
): void {
  if (json) {
    printJson(out, { ...done, next_due_at: nextAt, duration_ms: Math.round(durationMs) }, { indent: 0 });
    return;
  }
  if (quiet) return;
  const { started, completed, failed, retrying, other } = done;
  const outcomes = [
    [completed, 'completed'],
    [retrying, 'to be tried again'],
    [failed, 'failed'],
    [other, 'given back or cancelled'],
  ] as const;
  const lines = outcomes.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  const ran =
    started === 0
      ? 'Nothing was due'
      : `${started} ${started === 1 ? 'job' : 'jobs'} ran: ${lines.join(', ')}`;
  const waitMs = nextAt === null ? null : nextAt.getTime() - systemClock.now();
  const next = waitMs === null ? '' : waitMs <= 0 ? ' More is due.' : ` Next due in ${rough(waitMs)}.`;
  out.line(`${ran}.${next}`);
}
