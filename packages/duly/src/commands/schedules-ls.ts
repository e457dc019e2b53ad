import { formatDuration, type Schedule, type SchedulesFilter, systemClock } from '@duly/core';
import { toScheduleJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount } from '../cli/usage.ts';
import { listJson, printJson } from '../output/json.ts';
import { statusStyles } from '../output/status.ts';
import { type Cell, type Column, printTable } from '../output/table.ts';
import { oneLine, type Style } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import { withSchedules } from '../schedules/schedule-client.ts';

interface SchedulesLsOptions extends CommonOptions {
  type?: string;
  app?: string;
  tenant?: string;
  status?: string;
  limit?: string;
  cursor?: string;
}

/** `duly schedules ls`. */
export async function schedulesLs(context: CommandContext, options: SchedulesLsOptions): Promise<undefined> {
  const { type, app, tenant, status, cursor } = options;
  const filter: SchedulesFilter = {
    ...(type === undefined ? {} : { type }),
    ...(app === undefined ? {} : { app }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(status === undefined ? {} : { status: status as NonNullable<SchedulesFilter['status']> }),
  };
  const limit = readCount(options.limit, '--limit') ?? 100;
  await withSchedules(context, options, async ({ duly }) => {
    const { schedules, nextCursor } = await duly.schedules.list({
      ...filter,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (context.json) {
      printJson(context.out, listJson(schedules.map(toScheduleJson), nextCursor));
      return;
    }
    if (schedules.length === 0) {
      const isAll = Object.keys(filter).length === 0;
      context.err.line(isAll ? 'There are no schedules.' : 'No schedule matches.');
      return;
    }
    printSchedules(context, schedules);
    if (nextCursor !== null) {
      context.err.line(
        context.err.paint('dim', `There are more: the same command with --cursor ${nextCursor}`),
      );
    }
  });
}

function printSchedules({ out }: CommandContext, schedules: readonly Schedule[]): void {
  const now = systemClock.now();
  const isShown = {
    tenant: schedules.some(({ tenant }) => tenant !== null),
    // A name that several have says nothing; their ids do.
    id: new Set(schedules.map(({ name }) => name)).size < schedules.length,
  };
  const columns: (Column & { cell(schedule: Schedule): Cell })[] = [
    ...(isShown.id ? [{ title: 'ID', cell: (one: Schedule) => one.id }] : []),
    { title: 'NAME', widthMin: 8, cell: ({ name }) => oneLine(name) },
    ...(isShown.tenant ? [{ title: 'TENANT', cell: ({ tenant }: Schedule) => oneLine(tenant ?? '') }] : []),
    { title: 'TYPE', widthMin: 8, leaveOut: 2, cell: ({ type }) => oneLine(type) },
    { title: 'RULE', widthMin: 12, cell: ruleText },
    { title: 'ZONE', leaveOut: 3, cell: zoneText },
    { title: 'NEXT', cell: (one) => nextText(one, now) },
    { title: 'STATE', cell: stateCell },
    { title: 'LAST RUN', widthMin: 12, leaveOut: 1, cell: (one) => lastRunCell(one, now) },
  ];
  printTable(
    out,
    columns,
    schedules.map((schedule) => columns.map(({ cell }) => cell(schedule))),
  );
}

/** The rule as briefly as it can be said: a cron as it is written, durations in words. */
export function ruleText({ rule }: Pick<Schedule, 'rule'>): string {
  if (rule.cron !== undefined) return rule.cron;
  if (rule.rate !== undefined) return `every ${formatDuration(rule.rate)}`;
  if (rule.delay !== undefined) return `${formatDuration(rule.delay)} after each run`;
  return oneLine(rule.rrule ?? '');
}

function nextText({ nextRunAt, unreadable }: Schedule, now: number): string {
  if (unreadable !== null) return 'unknown';
  return nextRunAt === null ? '' : relative(nextRunAt, now);
}

function zoneText({ kind, timezone }: Schedule): string {
  return kind === 'rate' || kind === 'delay' ? '' : timezone;
}

const stateStyles: Record<Schedule['status'], Style> = {
  active: 'green',
  paused: 'yellow',
  disabled: 'red',
  ended: 'dim',
  deleted: 'dim',
};

/** `active`, `paused, drift`: how it stands, and what is special about it. */
export function stateCell({ status, drift, flagged, unreadable }: Schedule): Cell {
  const marks = [
    status,
    ...(flagged === null ? [] : ['flagged']),
    ...(unreadable === null ? [] : ['unreadable here']),
    ...(drift === null ? [] : [drift.kind === 'undeclared' ? 'undeclared' : 'drift']),
  ];
  return { text: marks.join(', '), style: flagged === null ? stateStyles[status] : 'red' };
}

function lastRunCell({ lastRun }: Schedule, now: number): Cell {
  if (lastRun === null) return '';
  const { status, startedAt, slot, latenessMs } = lastRun;
  const late = latenessMs === null ? '' : `, ${formatDuration(Math.max(0, latenessMs))} late`;
  const text = `${status ?? 'no longer stored'} ${relative(startedAt ?? slot, now)}${late}`;
  return status === null ? text : { text, style: statusStyles[status] };
}
