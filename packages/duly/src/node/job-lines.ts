import {
  type Duly,
  type DulyEvents,
  formatDuration,
  type Job,
  type JobNotice,
  systemClock,
} from '@duly/core';
import { createLiveArea, type LiveArea } from '../output/live-area.ts';
import { stepText } from '../output/progress-bar.ts';
import { cutPainted, oneLine, type Style, type Terminal } from '../output/terminal.ts';
import { timeOfDay } from '../output/times.ts';
import { createRunningBars, type RunningBars } from './running-bars.ts';

/** What a node is, as `--json` reports it. */
export interface NodeFacts {
  node: string;
  store: string;
  tasks: string[];
  roles: readonly string[];
  /** null: all. */
  queues: readonly string[] | null;
  concurrency: number;
}

/** Where the server listens, as `--json` reports it. */
export interface ServingFacts {
  url: string;
  /** Created by the first start on a terminal; null: there was one already, or it is in the file. */
  key: string | null;
  /** The file that the first start has written its key to; null: it has written none. */
  key_file: string | null;
}

/** Shows what a node does. */
export interface JobLines {
  /** Prints a line among the others. */
  print(line: string): void;
  /** Prints what handlers wrote, above the bars. */
  write(text: string): void;
  /** Reports to programs that the node runs, and on what. People are greeted with `print`. */
  started(facts: NodeFacts): void;
  /** Reports to programs where the server listens. */
  serving(facts: ServingFacts): void;
  /** Prints lines about jobs from now on. Those of before are printed now, so that none interrupts the greeting. */
  begin(): void;
  /** Shows what another node of this process does, too. */
  follow(duly: Duly): void;
  close(): void;
}

const narrowColumns = 90;
// More lines a second would bury everything else, and the terminal would slow the node down.
const linesPerSecondMax = 50;
const windowMs = 1_000;
// At most this many jobs at a time are read for why they failed and when they are retried.
const lookupCountMax = 10;

/** Prints a line when a job starts, moves on and ends; on a terminal the running jobs are at the bottom as bars. */
export function createJobLines(first: Duly, out: Terminal): JobLines {
  const area = createLiveArea(out);
  const bars = createRunningBars(area, out);
  const notices = createNoticeLines(area, out);
  const readJob = createJobReader();
  const offs: (() => void)[] = [];
  const follow = (duly: Duly): void => {
    offs.push(...reportJobs(duly, { out, bars, readJob, say: notices.say }));
  };
  follow(first);
  return {
    follow,
    print: (line) => area.print(line),
    write: (text) => area.write(text),
    started() {},
    serving() {},
    begin() {
      notices.begin();
      bars.show();
    },
    close() {
      for (const off of offs) off();
      bars.close();
      notices.close();
      area.close();
    },
  };
}

/** Prints a line about a job, with a mark in front of it on a terminal. */
type Say = (mark: string, style: Style, job: JobNotice, text: string) => void;

/** Reports the events of the jobs of a Duly. Returns the functions that stop it. */
function reportJobs(
  duly: Duly,
  { out, bars, readJob, say }: { out: Terminal; bars: RunningBars; readJob: JobReader; say: Say },
): (() => void)[] {
  return [
    duly.on('job.started', (notice) => {
      bars.add(notice);
      if (out.isTerminal) return;
      say('▸', 'cyan', notice, `started${notice.attempt > 1 ? ` (attempt ${notice.attempt})` : ''}`);
    }),
    duly.on('job.progress', ({ progress, ...notice }) => {
      const isNewStep = bars.progress(notice.id, progress);
      if (out.isTerminal || !isNewStep) return;
      say('▸', 'cyan', notice, `${Math.floor(progress.percent)}% ${stepText(progress)}`);
    }),
    duly.on('job.settled', (event) => {
      const tookMs = bars.remove(event.id);
      if (event.status === 'COMPLETED') say('✓', 'green', event, `completed${took(tookMs)}`);
      else void readJob(duly, event.id).then((job) => say(...endOf(event, job, tookMs)));
    }),
    duly.on('job.lost', (notice) => {
      bars.remove(notice.id);
      say(
        '!',
        'red',
        notice,
        'lost its lease: another node may run it now, and what this attempt does no longer counts',
      );
    }),
    duly.on('job.reaped', ({ status, ...notice }) =>
      say('!', 'yellow', notice, `was taken over from a node that is gone: ${status}`),
    ),
  ];
}

/** Reads a job for what an event does not say; null: it could not be read, or too many are being read. */
type JobReader = (duly: Duly, id: string) => Promise<Job | null>;

function createJobReader(): JobReader {
  let count = 0;
  return async (duly, id) => {
    if (count >= lookupCountMax) return null;
    count++;
    const job = await duly
      .job(id)
      .get()
      .catch(() => null);
    count--;
    return job;
  };
}

/** Formats lines about jobs and prints them at a bounded rate. Before `begin` they are collected. */
function createNoticeLines(area: LiveArea, out: Terminal) {
  const throttle = createThrottle(area, out);
  let early: string[] | null = [];

  function timeText(): string {
    const now = new Date(systemClock.now());
    return out.isTerminal ? out.paint('dim', timeOfDay(now)) : now.toISOString();
  }

  const say: Say = (mark, style, { id, type }, text) => {
    const sign = out.isTerminal ? `${out.paint(style, mark)} ` : '';
    const head = `${timeText()}  ${sign}${out.paint('dim', id)}  ${out.paint('bold', oneLine(type))}`;
    // Cut, because "why" shows the whole of a long error. On a narrow terminal the text gets a line of its own.
    const isNarrow = out.columns() < narrowColumns;
    const line = (isNarrow ? [head, `${' '.repeat(12)}${text}`] : [`${head} ${text}`])
      .map((one) => cutPainted(one, out.columns()))
      .join('\n');
    if (early === null) throttle.print(line);
    else early.push(line);
  };

  return {
    say,
    begin() {
      const lines = early ?? [];
      early = null;
      for (const line of lines) throttle.print(line);
    },
    close: () => throttle.close(),
  };
}

function endOf(
  event: DulyEvents['job.settled'],
  job: Job | null,
  tookMs: number | null,
): [string, Style, JobNotice, string] {
  const error = event.error === null ? event.reason : `${event.error.name}: ${event.error.message}`;
  // By the attempts that count: an attempt's own number counts lost and cancelled ones too, and could be larger than all there
  // are. Unless the job has moved on since.
  const attempt =
    job?.status === event.status
      ? `attempt ${job.attempts} of ${job.maxAttempts}`
      : `attempt ${event.attempt}`;
  switch (event.status) {
    case 'RETRYING': {
      // The job may have moved on since.
      const waitMs = job?.status === 'RETRYING' ? job.dueAt.getTime() - systemClock.now() : 0;
      const next = waitMs > 0 ? `, next in ${formatDuration(waitMs)}` : '';
      return ['↻', 'yellow', event, `failed in ${attempt}${next}: ${oneLine(error)}`];
    }
    case 'FAILED':
      return ['✗', 'red', event, `is a dead letter after ${attempt}: ${oneLine(error)}`];
    case 'CANCELLED':
      return ['⊘', 'dim', event, `was cancelled${took(tookMs)}`];
    case 'SCHEDULED':
      return ['…', 'blue', event, `put itself off${job === null ? '' : ` until ${job.dueAt.toISOString()}`}`];
    default:
      return ['·', 'dim', event, `is ${event.status} again (${event.reason}); nothing was spent`];
  }
}

function took(ms: number | null): string {
  return ms === null ? '' : ` in ${formatDuration(ms)}`;
}

/** Prints at most `linesPerSecondMax` lines a second and counts the rest. */
function createThrottle(area: LiveArea, out: Terminal) {
  let printed = 0;
  let dropped = 0;
  let fromElapsed = systemClock.elapsed();
  let timer: ReturnType<typeof systemClock.after> | null = null;

  function flush(): void {
    timer?.cancel();
    timer = null;
    if (dropped > 0)
      area.print(out.paint('dim', `          … and ${dropped} more lines about jobs in this second`));
    printed = 0;
    dropped = 0;
    fromElapsed = systemClock.elapsed();
  }

  return {
    print(line: string): void {
      if (systemClock.elapsed() - fromElapsed >= windowMs) flush();
      if (printed < linesPerSecondMax) {
        printed++;
        area.print(line);
        return;
      }
      dropped++;
      timer ??= systemClock.after(windowMs, flush, { unref: true });
    },
    close: flush,
  };
}
