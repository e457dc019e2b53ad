import {
  type Duly,
  type DulyEvents,
  formatDuration,
  type Job,
  type JobNotice,
  type Progress,
  systemClock,
} from '@duly/core';
import { createLiveArea, type LiveArea } from '../output/live-area.ts';
import { percentText, progressBar, stepText } from '../output/progress-bar.ts';
import { cut, cutPainted, oneLine, pad, type Style, type Terminal, widthOf } from '../output/terminal.ts';
import { timeOfDay } from '../output/times.ts';

/** What a node is, as programs are told. */
export interface NodeFacts {
  node: string;
  store: string;
  tasks: string[];
  roles: readonly string[];
  /** null: all. */
  queues: readonly string[] | null;
  concurrency: number;
}

/** Where the server listens, as programs are told. */
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
  /** Tells programs that the node runs, and on what. People are greeted with `print`. */
  started(facts: NodeFacts): void;
  /** Tells programs where the server listens. */
  serving(facts: ServingFacts): void;
  /** Lets lines about jobs through; until then they are kept, so that the greeting stands in one piece. */
  begin(): void;
  /** Shows what another node of this process does, too. */
  follow(duly: Duly): void;
  close(): void;
}

interface Running {
  notice: JobNotice;
  startedElapsed: number;
  progress: Progress | null;
  /** The last step that was printed, off a terminal. */
  printedStep: string;
}

// So many bars at the bottom; the rest is counted.
const barCountMax = 8;
const typeWidthMax = 32;
const narrowColumns = 90;
// So many lines a second; a node that finishes thousands would bury everything else, and the terminal would slow it down.
const linesPerSecondMax = 50;
const windowMs = 1_000;
// So many jobs at a time are looked up to tell why they failed and when they go on.
const lookupCountMax = 10;

/** Prints a line when a job starts, moves on and ends; on a terminal what runs stands at the bottom as bars. */
export function createJobLines(first: Duly, out: Terminal): JobLines {
  const area = createLiveArea(out);
  const running = new Map<string, Running>();
  const throttle = createThrottle(area, out);
  let lookups = 0;
  let early: string[] | null = [];

  const stamp = (): string => {
    const now = new Date(systemClock.now());
    return out.isTerminal ? out.paint('dim', timeOfDay(now)) : now.toISOString();
  };
  const say = (mark: string, style: Style, { id, type }: JobNotice, text: string): void => {
    const sign = out.isTerminal ? `${out.paint(style, mark)} ` : '';
    const head = `${stamp()}  ${sign}${out.paint('dim', id)}  ${out.paint('bold', oneLine(type))}`;
    // Cut, because the whole of a long error is told by "why". A narrow terminal has no room for it behind the id.
    const isNarrow = out.columns() < narrowColumns;
    const line = (isNarrow ? [head, `${' '.repeat(12)}${text}`] : [`${head} ${text}`])
      .map((one) => cutPainted(one, out.columns()))
      .join('\n');
    if (early === null) throttle.print(line);
    else early.push(line);
  };
  const redraw = (): void => {
    if (early === null) area.set(() => barsOf(running, out));
  };

  // While something runs its seconds count, even if it tells nothing.
  let tick = systemClock.after(windowMs, onWindow, { unref: true });
  function onWindow(): void {
    if (running.size > 0) redraw();
    tick = systemClock.after(windowMs, onWindow, { unref: true });
  }

  const offs: (() => void)[] = [];
  function follow(duly: Duly): void {
    offs.push(
      duly.on('job.started', (notice) => {
        running.set(notice.id, {
          notice,
          startedElapsed: systemClock.elapsed(),
          progress: null,
          printedStep: '',
        });
        if (!out.isTerminal)
          say('▸', 'cyan', notice, `started${notice.attempt > 1 ? ` (attempt ${notice.attempt})` : ''}`);
        redraw();
      }),
      duly.on('job.progress', ({ progress, ...notice }) => {
        const entry = running.get(notice.id);
        if (entry === undefined) return;
        entry.progress = progress;
        const step = stepText(progress);
        if (!out.isTerminal && step !== entry.printedStep) {
          say('▸', 'cyan', notice, `${Math.floor(progress.percent)}% ${step}`);
          entry.printedStep = step;
        }
        redraw();
      }),
      duly.on('job.settled', (event) => {
        const entry = running.get(event.id);
        running.delete(event.id);
        redraw();
        const tookMs = entry === undefined ? null : systemClock.elapsed() - entry.startedElapsed;
        if (event.status === 'COMPLETED') say('✓', 'green', event, `completed${took(tookMs)}`);
        else void printEnd(duly, event, tookMs);
      }),
      duly.on('job.lost', (notice) => {
        running.delete(notice.id);
        redraw();
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
    );
  }

  /** Reads the job for what the event does not tell; a node in a hurry does without. */
  async function printEnd(
    duly: Duly,
    event: DulyEvents['job.settled'],
    tookMs: number | null,
  ): Promise<void> {
    let job: Job | null = null;
    if (lookups < lookupCountMax) {
      lookups++;
      job = await duly
        .job(event.id)
        .get()
        .catch(() => null);
      lookups--;
    }
    say(...endOf(event, job, tookMs));
  }

  follow(first);
  return {
    follow,
    print: (line) => area.print(line),
    write: (text) => area.write(text),
    started() {},
    serving() {},
    begin() {
      const lines = early ?? [];
      early = null;
      for (const line of lines) throttle.print(line);
      redraw();
    },
    close() {
      for (const off of offs) off();
      tick.cancel();
      throttle.close();
      area.close();
    },
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

function barsOf(all: ReadonlyMap<string, Running>, out: Terminal): string[] {
  const count = Math.min(barCountMax, Math.max(1, out.rows() - 4));
  const shown = [...all.values()].slice(0, count);
  // So much of a name is enough to know it; the bars, the step and the id want room too.
  const typeWidth = Math.min(
    typeWidthMax,
    Math.max(0, ...shown.map(({ notice }) => widthOf(oneLine(notice.type)))),
  );
  const lines = shown.map(({ notice, progress, startedElapsed }) => {
    const percent = progress?.percent ?? 0;
    const seconds = `${Math.floor((systemClock.elapsed() - startedElapsed) / 1_000)} s`.padStart(5);
    const step = progress === null ? '' : stepText(progress);
    return `${seconds}  ${out.paint('yellow', progressBar(percent, 20))} ${percentText(percent)}  ${out.paint('bold', pad(cut(oneLine(notice.type), typeWidth), typeWidth))}  ${step}  ${out.paint('dim', notice.id)}`;
  });
  const rest = all.size - shown.length;
  return rest > 0 ? [...lines, out.paint('dim', `       and ${rest} more running`)] : lines;
}

/** Lets so many lines a second pass and counts the rest. */
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
