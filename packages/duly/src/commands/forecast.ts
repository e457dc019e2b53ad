import {
  type Capacity,
  type CapacityOptions,
  capacity,
  type Forecast,
  type ForecastLoad,
  type ForecastOptions,
  formatDuration,
} from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount, readDuration, usageError } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';

interface ForecastCommandOptions extends CommonOptions {
  hours?: string;
  concurrency?: string;
  lateness?: string;
  takes?: string;
  tenant?: string;
  jobs?: string;
  every?: string;
}

/** `duly forecast`: the schedules of a store played forward, or plain arithmetic with `--jobs`. */
export async function forecast(context: CommandContext, options: ForecastCommandOptions): Promise<undefined> {
  if (options.jobs !== undefined) return printCapacity(context, readCapacity(options));
  if (options.every !== undefined) {
    throw usageError(
      '--every counts jobs that are given by --jobs.',
      'Add --jobs 100 --takes 5m, for example.',
    );
  }
  const asked: ForecastOptions = {
    hours: readCount(options.hours, '--hours') ?? 24,
    ...(options.concurrency === undefined
      ? {}
      : { concurrency: readCount(options.concurrency, '--concurrency') as number }),
    ...(options.lateness === undefined ? {} : { lateness: readDuration(options.lateness, '--lateness') }),
    ...(options.takes === undefined ? {} : { takes: readDuration(options.takes, '--takes', { minMs: 1 }) }),
    ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
  };
  await withClient(context, options, async ({ duly, command }) => {
    const result = await duly.forecast(asked);
    if (context.json) printJson(context.out, toSnakeCase(result));
    else printForecast(context, result, command);
  });
}

function readCapacity(options: ForecastCommandOptions): CapacityOptions {
  if (options.takes === undefined) {
    throw usageError('With --jobs, say how long one takes: --takes 5m.');
  }
  if (options.every === undefined && options.concurrency === undefined) {
    throw usageError(
      'With --jobs, say how often they come (--every 1h) or how many run at a time (--concurrency 20).',
    );
  }
  return {
    jobs: readCount(options.jobs, '--jobs') as number,
    takes: readDuration(options.takes, '--takes', { minMs: 1 }),
    ...(options.every === undefined ? {} : { every: readDuration(options.every, '--every') }),
    ...(options.concurrency === undefined
      ? {}
      : { concurrency: readCount(options.concurrency, '--concurrency') as number }),
  };
}

function printCapacity({ out, json }: CommandContext, asked: CapacityOptions): undefined {
  const result: Capacity = capacity(asked);
  if (json) {
    printJson(out, toSnakeCase(result));
    return;
  }
  const { jobs, concurrency } = asked;
  const each = `${counted(jobs, 'job')} of ${formatDuration(asked.takes as number)}`;
  const every = asked.every === undefined ? '' : ` every ${formatDuration(asked.every as number)}`;
  out.line(`${each}${every}: ${hours(result.workMs)} of work.`);
  if (result.spreadConcurrency !== null) {
    out.line(
      `  Concurrency ${result.spreadConcurrency.toLocaleString('en')} when they are spread evenly, with a jitter as long as the period.`,
    );
    out.line(`  Concurrency ${result.atOnceConcurrency.toLocaleString('en')} to start all of them at once.`);
  }
  if (result.withConcurrencyMs === null) return;
  out.line(
    `  With concurrency ${(concurrency as number).toLocaleString('en')} they take ${hours(result.withConcurrencyMs)}.`,
  );
  if (result.keepsUp === false) {
    out.line(out.paint('yellow', '  More work arrives than is finished: the queue grows without end.'));
  }
}

function printForecast({ out }: CommandContext, result: Forecast, command: (words: string) => string): void {
  const { load, jitter, withConcurrency } = result;
  if (result.schedules === 0) {
    out.line('There are no schedules to play forward.');
    out.line(`Create one: ${command("schedules add nightly --type hello --cron '0 2 * * *'")}`);
    return;
  }
  const span = `${result.from.toISOString()} to ${result.to.toISOString()}`;
  out.line(
    `${counted(result.runs, 'run')} of ${counted(result.schedules - result.idle - result.unreadable, 'schedule')}, ${span}`,
  );
  if (result.isShortened) out.line(out.paint('yellow', 'There are so many that the time was shortened.'));
  if (result.idle > 0) out.line(`${counted(result.idle, 'schedule')} without a run in this time.`);
  if (result.unreadable > 0) {
    out.line(
      out.paint(
        'yellow',
        `${counted(result.unreadable, 'schedule')} left out: their rule cannot be read here.`,
      ),
    );
  }
  if (result.withoutHistory > 0) {
    out.sentence(
      `${counted(result.withoutHistory, 'schedule')} without history: a run is taken to last ${formatDuration(result.takesMs)} (--takes).`,
    );
  }
  if (result.runs === 0) return;
  out.line();
  printCurve(out, load, result.to);
  out.line(`Peak      ${counted(load.peak, 'run')} at a time, at ${(load.peakAt as Date).toISOString()}`);
  out.line(
    `Needed    a concurrency of ${load.concurrencyNeeded}, for starts at most ${formatDuration(result.latenessMs)} late; ${hours(result.workMs)} of work in all`,
  );
  if (withConcurrency !== null) {
    const late =
      withConcurrency.late === 0
        ? 'none starts late'
        : `${counted(withConcurrency.late, 'run')} of ${result.runs.toLocaleString('en')} start late, the last by ${rounded(withConcurrency.waitMsMax)}`;
    out.line(`With ${String(withConcurrency.concurrency).padEnd(5)}${late}`);
  }
  printCollisions(out, result);
  printOverlaps(out, result);
  printClockChanges(out, result);
  if (jitter === null) return;
  out.line();
  out.line(out.paint('bold', 'Spread by jitter'));
  const [first] = jitter.schedules;
  out.sentence(
    `${counted(jitter.count, 'schedule')} that begin together, spread by up to ${formatDuration(Math.max(...jitter.schedules.map(({ jitterMs }) => jitterMs)))}: the peak falls from ${load.peak} to ${jitter.load.peak}, and a concurrency of ${jitter.load.concurrencyNeeded} instead of ${load.concurrencyNeeded} is enough.`,
  );
  printCurve(out, jitter.load, result.to);
  if (first !== undefined) {
    out.line(`For example: ${oneLine(first.name)} with jitter ${formatDuration(first.jitterMs)}.`);
  }
}

const bars = ' ▁▂▃▄▅▆▇█';

/** The load as one line of bars, as wide as there is room. */
function printCurve(out: CommandContext['out'], { steps, peak }: ForecastLoad, to: Date): void {
  const width = Math.max(10, Math.min(96, out.columns() - 2, steps.length));
  const cells = Array.from({ length: width }, (_, i) => {
    const part = steps.slice(
      Math.floor((i * steps.length) / width),
      Math.max(Math.floor(((i + 1) * steps.length) / width), Math.floor((i * steps.length) / width) + 1),
    );
    const most = Math.max(0, ...part.map((step) => step.peak));
    // Whatever is not nothing is seen.
    return bars[most === 0 ? 0 : Math.max(1, Math.round((most / peak) * (bars.length - 1)))] as string;
  });
  out.line(out.paint('cyan', cells.join('')));
  const from = (steps[0] as ForecastLoad['steps'][number]).at.toISOString().slice(11, 16);
  const end = to.toISOString().slice(11, 16);
  out.line(out.paint('dim', `${from}${' '.repeat(Math.max(1, width - 10))}${end}  UTC`));
}

function printCollisions(out: CommandContext['out'], { collisions }: Forecast): void {
  if (collisions.length === 0) return;
  out.line();
  out.line(out.paint('bold', 'Most at once'));
  printTable(
    out,
    [{ title: 'AT' }, { title: 'RUNS', align: 'right' }, { title: 'AMONG THEM', widthMin: 20 }],
    collisions
      .slice(0, 5)
      .map(({ at, runs, names }) => [at.toISOString(), String(runs), oneLine(names.join(', '))]),
  );
}

function printOverlaps(out: CommandContext['out'], { overlaps }: Forecast): void {
  if (overlaps.length === 0) return;
  out.line();
  out.line(out.paint('bold', 'Runs longer than their interval'));
  printTable(
    out,
    [
      { title: 'SCHEDULE', widthMin: 12 },
      { title: 'USUALLY', align: 'right' },
      { title: 'RUNS', align: 'right' },
      { title: 'LEFT OUT', align: 'right' },
    ],
    overlaps
      .slice(0, 10)
      .map(({ name, usualMs, withoutHistory, runs, leftOut }) => [
        oneLine(name),
        withoutHistory ? 'not known' : rounded(usualMs),
        String(runs),
        String(leftOut),
      ]),
  );
}

function printClockChanges(out: CommandContext['out'], { clockChanges }: Forecast): void {
  if (clockChanges.length === 0) return;
  out.line();
  out.line(out.paint('bold', 'Changes of the clock within a year'));
  printTable(
    out,
    [
      { title: 'DAY' },
      { title: 'TIME' },
      { title: 'ZONE' },
      { title: '' },
      { title: 'SCHEDULES', widthMin: 12 },
    ],
    clockChanges
      .slice(0, 10)
      .map(({ date, time, timezone, kind, names, schedules }) => [
        date,
        time,
        timezone,
        kind === 'gap' ? 'does not exist' : 'comes twice',
        oneLine(
          `${names.join(', ')}${schedules > names.length ? ` and ${schedules - names.length} more` : ''}`,
        ),
      ]),
  );
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** A duration by two units at most: nobody reads milliseconds of an hour. */
function rounded(ms: number): string {
  const grainMs = ms < 1_000 ? 1 : ms < 60_000 ? 100 : ms < 3_600_000 ? 1_000 : 60_000;
  return formatDuration(Math.round(ms / grainMs) * grainMs);
}

function hours(ms: number): string {
  return ms < 3_600_000 ? formatDuration(ms) : `${(ms / 3_600_000).toFixed(1)} hours`;
}
