import { rough } from '../output/times.ts';
import type { CronHistory, CronRun } from './cron-history.ts';
import { type CrontabPlan, type PlannedSchedule, ruleOf } from './crontab-plan.ts';

/** Something that is worth a look before a schedule goes live. */
export interface Hazard {
  kind: 'dst-gap' | 'dst-repeat' | 'herd' | 'overlap' | 'slow' | 'shared' | 'twice' | 'command';
  /** A sentence without its full stop. */
  text: string;
}

const dayMs = 86_400_000;
const yearMs = 366 * dayMs;
// Fewer lines at one instant are no herd.
const herdMin = 4;
// Of a schedule that fires every second a day has 86,400 instants; a herd shows long before.
const slotsMax = 1_500;

/** What changes of the clock, and the runs of the past, say about one schedule. */
export function hazardsOf(schedule: PlannedSchedule, now: number, history: CronHistory | null): Hazard[] {
  const rule = ruleOf(schedule);
  const changes = rule.clockChanges(now, now + yearMs);
  const gap = changes.find(({ kind }) => kind === 'gap');
  const repeat = changes.find(({ kind }) => kind === 'repeat');
  return [
    ...(gap === undefined
      ? []
      : [
          {
            kind: 'dst-gap' as const,
            text: `on ${gap.date} there is no ${gap.time} in ${rule.timezone}: it runs once, at the first instant after the gap`,
          },
        ]),
    ...(repeat === undefined
      ? []
      : [
          {
            kind: 'dst-repeat' as const,
            text: `on ${repeat.date} ${repeat.time} comes twice in ${rule.timezone}: it runs the first time`,
          },
        ]),
    ...commandOf(schedule),
    ...sharedOf(schedule),
    ...twiceOf(schedule),
    ...(history === null ? [] : overlapsOf(schedule, history)),
  ];
}

// Users that system crontabs of distributions name; none of them is a program.
const systemUsers =
  /^(root|daemon|nobody|mail|www-data|apache|nginx|httpd|http|postgres|mysql|redis|munin|smmsp|list|news|uucp|backup|logcheck|amavis|ubuntu|debian|ec2-user|admin)$/;

/** A line of five fields whose command begins with what can only be a sixth. */
function commandOf({ command, user }: PlannedSchedule): Hazard[] {
  const [first = '', ...rest] = command?.split(/\s+/) ?? [];
  if (rest.length === 0) return [];
  if (user === null && systemUsers.test(first)) {
    const text = `its command begins with "${first}", which looks like the user that lines of system crontabs name: then use --user-column`;
    return [{ kind: 'command', text }];
  }
  if (!/^[\d*][\d*/,-]*$/.test(first)) return [];
  const text = `its command begins with "${first}", which looks like a sixth field: cron has five, and runs the rest`;
  return [{ kind: 'command', text }];
}

/** A line that several hosts have may be meant for each of them. */
function sharedOf({ hosts, command }: PlannedSchedule): Hazard[] {
  if (hosts.length < 2 || command === null) return [];
  const isOfHost =
    /(logrotate|apt|dnf|yum|certbot|tmpreaper|fstrim|\/tmp\b|\/var\/log\b|updatedb|anacron|backup|cleanup)/i.test(
      command,
    );
  const text = `${hosts.length} hosts have this line, and one of them will run it`;
  return [
    {
      kind: 'shared',
      text: isOfHost ? `${text}; it looks as if it were for each host itself: then use --per-host` : text,
    },
  ];
}

/** A line that stands twice in one crontab is run twice by cron, which is seldom meant. */
function twiceOf({ lines }: PlannedSchedule): Hazard[] {
  const counts = new Map<string, number>();
  for (const { source } of lines) counts.set(source, (counts.get(source) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([source, count]) => ({
      kind: 'twice',
      text: `it stands ${count} times in ${source}, and cron runs it as often; here it is one schedule`,
    }));
}

/** The runs of a schedule in a log. */
export function runsOf({ command, user, hosts }: PlannedSchedule, { runs }: CronHistory): CronRun[] {
  if (command === null) return [];
  const withoutInput = command.replace(/%.*$/, '').trim();
  return runs.filter(
    (run) =>
      (run.command === command || run.command === withoutInput) &&
      (user === null || run.user === user) &&
      (hosts.length === 0 || hosts.includes(run.host)),
  );
}

function overlapsOf(schedule: PlannedSchedule, history: CronHistory): Hazard[] {
  const byHost = new Map<string, CronRun[]>();
  for (const run of runsOf(schedule, history)) byHost.set(run.host, [...(byHost.get(run.host) ?? []), run]);
  let overlapCount = 0;
  let longestMs = 0;
  let runCount = 0;
  for (const runs of byHost.values()) {
    runs.sort((a, b) => a.startedAt - b.startedAt);
    runCount += runs.length;
    for (const [i, { startedAt, endedAt }] of runs.entries()) {
      if (endedAt === null) continue;
      longestMs = Math.max(longestMs, endedAt - startedAt);
      const next = runs[i + 1];
      if (next !== undefined && next.startedAt < endedAt) overlapCount++;
    }
  }
  if (overlapCount === 0) return [];
  const overlap = schedule.definition.overlap ?? 'skip';
  const then = overlap === 'skip' ? 'such starts will be skipped, and recorded' : `overlap is "${overlap}"`;
  return [
    {
      kind: 'overlap',
      text: `${overlapCount} of ${runCount} runs in the log began before the last one had ended (the longest took ${rough(longestMs)}); ${then}`,
    },
  ];
}

/** Instants of the coming day at which many schedules fall due together. */
export function herdsOf({ schedules }: Pick<CrontabPlan, 'schedules'>, now: number): Hazard[] {
  const at = new Map<number, number>();
  for (const schedule of schedules) {
    if (schedule.definition.jitter !== undefined && schedule.definition.jitter !== 0) continue;
    const rule = ruleOf(schedule);
    let count = 0;
    for (
      let slot = rule.next(now);
      slot !== null && slot < now + dayMs && count < slotsMax;
      slot = rule.next(slot), count++
    ) {
      at.set(slot, (at.get(slot) ?? 0) + 1);
    }
  }
  const herds = [...at].filter(([, count]) => count >= herdMin).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const [largest] = herds;
  if (largest === undefined) return [];
  const [slot, count] = largest;
  return [
    {
      kind: 'herd',
      text: `${count} of ${schedules.length} fall due together at ${new Date(slot).toISOString()}, and ${herds.length === 1 ? 'never else' : `${herds.length} such herds come`} in a day; --jitter 5m spreads them`,
    },
  ];
}
