import { type Duly, type Schedule, systemClock } from '@duly/core';
import { shadowTaskName } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readDuration } from '../cli/usage.ts';
import { type Compared, compareShadow, type Difference } from '../import/compare-shadow.ts';
import type { CronHistory } from '../import/cron-history.ts';
import { printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { withSchedules } from '../schedules/schedule-client.ts';
import { readHistory } from './import-crontab.ts';

interface CompareOptions extends CommonOptions {
  history: string;
  timezone?: string;
  tolerance?: string;
}

const toleranceMsDefault = 60_000;

/** `duly import compare`: what a shadow recorded beside what cron did. The exit code is 1 if they differ, or if there is nothing yet that could agree. */
export async function importCompare(
  context: CommandContext,
  options: CompareOptions,
  names: string[],
): Promise<number> {
  const now = systemClock.now();
  const timezone = options.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const toleranceMs =
    options.tolerance === undefined ? toleranceMsDefault : readDuration(options.tolerance, '--tolerance');
  const history = await readHistory(options.history, timezone, now);
  return withSchedules(context, options, async ({ duly }) => {
    const schedules = await shadowsOf(duly, names);
    const compared = await Promise.all(
      schedules.map((one) => compareShadow(duly, one, { history, toleranceMs, now })),
    );
    if (context.json) printJson(context.out, { data: compared.map(toJson) });
    else print(context, compared, history);
    return isNothing(compared) || compared.some(({ differences }) => differences.length > 0) ? 1 : 0;
  });
}

async function shadowsOf(duly: Duly, names: readonly string[]): Promise<Schedule[]> {
  if (names.length > 0) return Promise.all(names.map((name) => duly.schedules.get(name)));
  const schedules: Schedule[] = [];
  for await (const schedule of duly.schedules.each({ type: shadowTaskName })) schedules.push(schedule);
  return schedules;
}

function print({ out }: CommandContext, compared: readonly Compared[], history: CronHistory): void {
  if (compared.length === 0) {
    out.line('There is no schedule that was imported as a shadow.');
    return;
  }
  printTable(
    out,
    [
      { title: 'SCHEDULE', flexible: true },
      { title: 'BOTH', align: 'right' },
      { title: 'ONLY CRON', align: 'right' },
      { title: 'ONLY DULY', align: 'right' },
      { title: 'CRON LATER BY', align: 'right' },
      { title: 'SINCE' },
    ],
    compared.map(({ schedule, both, differences, laterMs, fromAt }) => [
      oneLine(schedule.name),
      String(both),
      countOf(differences, 'only-cron'),
      countOf(differences, 'only-duly'),
      laterMs === null ? '' : `${(laterMs.median / 1_000).toFixed(1)} s`,
      new Date(fromAt).toISOString(),
    ]),
  );
  for (const { schedule, differences } of compared) {
    for (const { kind, at, host, decision } of differences.slice(0, 20)) {
      const who =
        kind === 'only-cron' ? `cron ran it${host === null ? '' : ` on ${host}`}` : 'Duly would have run it';
      const other =
        kind === 'only-duly'
          ? 'cron did not'
          : decision === null
            ? 'Duly has no slot there'
            : `Duly would not have: ${decision}`;
      out.line(`  ${oneLine(schedule.name)}  ${at.toISOString()}  ${who}; ${other}`);
    }
    if (differences.length > 20)
      out.line(`  ${oneLine(schedule.name)}  … and ${differences.length - 20} more`);
  }
  const span =
    history.fromAt === null || history.toAt === null
      ? ''
      : ` The log is from ${new Date(history.fromAt).toISOString()} to ${new Date(history.toAt).toISOString()}.`;
  const differ = compared.filter(({ differences }) => differences.length > 0).length;
  const verdict = isNothing(compared)
    ? 'There is nothing to compare yet: neither has a start since these schedules were imported that the log covers.'
    : differ === 0
      ? 'They agree.'
      : `${differ} of ${compared.length} differ.`;
  out.sentence(`${verdict}${span}`);
}

/** Whether neither side has a single start. */
function isNothing(compared: readonly Compared[]): boolean {
  return compared.every(({ both, differences }) => both === 0 && differences.length === 0);
}

function countOf(differences: readonly Difference[], kind: Difference['kind']): string {
  return String(differences.filter((one) => one.kind === kind).length);
}

function toJson({ schedule, fromAt, toAt, both, differences, laterMs }: Compared): Record<string, unknown> {
  return {
    id: schedule.id,
    name: schedule.name,
    from_at: new Date(fromAt),
    to_at: new Date(toAt),
    both,
    cron_later_ms: laterMs,
    differences,
  };
}
