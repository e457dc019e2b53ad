import { type Duly, type Schedule, snakeName, systemClock } from '@duly/core';
import { listJson, printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { withSchedules } from '../schedule-client.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly schedules export`: what would make the same schedules elsewhere. */
export async function schedulesExport(
  shell: Shell,
  options: CommonOptions & { crontab?: boolean },
  names: string[],
): Promise<undefined> {
  await withSchedules(shell, options, async ({ duly }) => {
    const schedules = await collect(duly, names);
    if (options.crontab) for (const line of crontabOf(schedules)) shell.out.line(line);
    else printJson(shell.out, listJson(schedules.map(toExport)));
  });
}

async function collect(duly: Duly, names: readonly string[]): Promise<Schedule[]> {
  if (names.length > 0) return Promise.all(names.map((name) => duly.schedules.get(name)));
  const schedules: Schedule[] = [];
  for await (const schedule of duly.schedules.each()) schedules.push(schedule);
  return schedules;
}

/** What a schedule is made from, and the app that declares it. */
function toExport({ app, definition }: Schedule): Record<string, unknown> {
  const { task, name, ...rest } = definition;
  const fields = Object.entries(rest).map(([field, value]) => [snakeName(field), value]);
  return { name, type: task, ...Object.fromEntries(fields), ...(app === null ? {} : { app }) };
}

/** Lines that make a job of each run, in the order of zones: `CRON_TZ` holds for the lines below it. */
function crontabOf(schedules: readonly Schedule[]): string[] {
  const lines: string[] = [];
  let zone: string | null = null;
  const sorted = [...schedules].sort((a, b) =>
    a.timezone < b.timezone ? -1 : a.timezone > b.timezone ? 1 : 0,
  );
  for (const schedule of sorted) {
    const name = oneLine(schedule.name);
    const reason = unsayable(schedule);
    if (reason !== null) {
      lines.push(`# ${name}: ${oneLine(schedule.words)} (${reason})`);
      continue;
    }
    if (schedule.timezone !== zone) {
      zone = schedule.timezone;
      lines.push(`CRON_TZ=${zone}`);
    }
    const input = schedule.input === null ? '' : ` ${quote(JSON.stringify(schedule.input))}`;
    const off = schedule.paused === null ? '' : '# ';
    lines.push(`# ${name}: ${oneLine(schedule.words)}`);
    // A percent sign ends the command in a crontab.
    lines.push(`${off}${schedule.rule.cron} duly run ${quote(schedule.task)}${input}`.replaceAll('%', '\\%'));
  }
  return lines;
}

// What a line of a crontab says: the rest of a definition it does not.
const sayable = ['task', 'name', 'cron', 'timezone', 'input', 'note', 'dst', 'exclude', 'startAt'];

/** Why a crontab cannot say it; null: it can. */
function unsayable({ rule, kind, status, definition, policies, unreadable }: Schedule): string | null {
  if (unreadable !== null) return unreadable.code;
  if (kind !== 'cron' || rule.cron === undefined) return `a crontab has no ${kind}`;
  if (status === 'ended') return 'it is over';
  if (rule.exclude.length > 0) return 'a crontab leaves nothing out';
  const { startAt } = policies;
  const fields = [
    // A start that is past says nothing any more.
    ...(startAt !== null && startAt.getTime() > systemClock.now() ? ['startAt'] : []),
    ...(rule.dst?.gap === 'skip' || (rule.dst?.repeat ?? 'first') !== 'first' ? ['dst'] : []),
    ...Object.keys(definition).filter((field) => !sayable.includes(field)),
  ];
  if (fields.length > 0) return `a crontab has no ${fields.join(', ')}`;
  if (rule.cron.startsWith('@')) return null;
  const times = rule.cron.split(/\s+/);
  if (times.length !== 5) return 'a crontab has five fields';
  return /[LW#?]/i.test(times.join(' ').replace(/[A-Z]{3}/gi, '')) ? 'a crontab has no L, W, # and ?' : null;
}

function quote(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
