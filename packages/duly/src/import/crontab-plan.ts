import {
  explain,
  isDulyError,
  type RuleInput,
  resolveRule,
  type ScheduleDefinition,
  type SchedulePolicies,
} from '@duly/core';
import { commandTaskName } from '@duly/core/internal';
import { type CrontabEntry, parseCrontab } from './crontab-parse.ts';
import { readWhen } from './crontab-when.ts';
import { dulyRunOf } from './duly-run.ts';
import { nameOfCommand } from './schedule-name.ts';
import { argvOf, type CommandInput, cronShell, type UserSwitch } from './shell-command.ts';

/** One crontab. */
export interface CrontabSource {
  /** How it is named in the plan. */
  name: string;
  text: string;
  /** Whose it is; null: nobody said, and then there is but one host. */
  host: string | null;
  /** Whether lines name a user, as in system files. */
  hasUser: boolean;
  /** Whose crontab it is, where the file's place says so; null: of whoever runs it. */
  owner: string | null;
}

/** Where a schedule comes from. */
export interface PlannedLine {
  source: string;
  line: number;
  text: string;
  host: string | null;
}

/** A schedule that would be created. */
export interface PlannedSchedule {
  name: string;
  lines: PlannedLine[];
  definition: ScheduleDefinition & { name: string; timezone: string };
  /** The command as cron knows it; null: it is a task of Duly's. */
  command: string | null;
  user: string | null;
  /** Hosts that have it, in order; empty: no host was named. */
  hosts: string[];
  words: string;
  /** What a reader should know of how it was read. */
  notes: string[];
}

/** A line of which no schedule is created, and why. */
export interface LeftOut extends PlannedLine {
  /** `unreadable` lines stop an import unless it is told to go on. */
  kind: 'reboot' | 'unreadable';
  reason: string;
}

/** What an import would do. */
export interface CrontabPlan {
  schedules: PlannedSchedule[];
  leftOut: LeftOut[];
  /** Hosts that were named, in order. */
  hosts: string[];
  /** Whom cron mailed what the lines print. */
  mailTo: string[];
}

/** What is said for all lines. */
export interface PlanOptions {
  /** Of lines without CRON_TZ. */
  timezone: string;
  userSwitch: UserSwitch;
  /** Do not create one schedule of lines that several hosts share. */
  perHost: boolean;
  policies: SchedulePolicies;
}

// Read by cron itself, and not meant for the command.
const cronVariables = new Set([
  'MAILTO',
  'MAILFROM',
  'CRON_TZ',
  'RANDOM_DELAY',
  'SHELL',
  'CONTENT_TYPE',
  'CONTENT_TRANSFER_ENCODING',
]);

/** Plans schedules from the lines of crontabs. The same line of several hosts becomes one, in a queue that those hosts take from. */
export function planCrontabs(sources: readonly CrontabSource[], options: PlanOptions): CrontabPlan {
  const leftOut: LeftOut[] = [];
  const groups = new Map<string, { entry: CrontabEntry; source: CrontabSource; lines: PlannedLine[] }>();
  for (const source of sources) {
    const { entries, problems } = parseCrontab(source.text, { hasUser: source.hasUser });
    const placeOf = ({ line, text }: { line: number; text: string }): PlannedLine => ({
      source: source.name,
      line,
      text,
      host: source.host,
    });
    for (const problem of problems)
      leftOut.push({ ...placeOf(problem), kind: 'unreadable', reason: problem.message });
    for (const entry of entries) {
      if (entry.when === '@reboot') {
        leftOut.push({ ...placeOf(entry), kind: 'reboot', reason: rebootReason });
        continue;
      }
      const problem = problemOf(entry, options);
      if (problem !== null) {
        leftOut.push({ ...placeOf(entry), kind: 'unreadable', reason: problem });
        continue;
      }
      const key = keyOf(entry, source, options);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { entry, source, lines: [placeOf(entry)] });
      else group.lines.push(placeOf(entry));
    }
  }
  const hosts = [...new Set(sources.flatMap(({ host }) => host ?? []))];
  const schedules = [...groups.values()].map((group) => schedule(group, hosts, options));
  nameApart(schedules);
  const mailTo = [...groups.values()].flatMap(({ entry }) => entry.env.MAILTO?.trim() || []);
  leftOut.sort((a, b) => (a.source === b.source ? a.line - b.line : 0));
  return { schedules, leftOut, hosts, mailTo: [...new Set(mailTo)] };
}

const rebootReason =
  'It runs when its machine starts, which is no time that a scheduler can know. Make it a service of the system (systemd: WantedBy=multi-user.target), or leave this line in the crontab.';

function problemOf({ when, env, annotation }: CrontabEntry, options: PlanOptions): string | null {
  const timezone = zoneOf(env, options);
  if (annotation !== null && typeof (annotation.name ?? '') !== 'string')
    return 'The name in the comment "# duly:" above it is no text.';
  try {
    const { cron } = readWhen(when, timezone, env);
    if (annotation !== null) ruleIn({ cron, timezone, ...annotation });
    return null;
  } catch (error) {
    if (!isDulyError(error)) throw error;
    return [error.message, error.hint ?? ''].join(' ').trim();
  }
}

/** An empty CRON_TZ takes back what was said above it, as in cronie. */
function zoneOf(env: Readonly<Record<string, string>>, { timezone }: PlanOptions): string {
  return env.CRON_TZ?.trim() || timezone;
}

/** The same for lines that are the same run. */
function keyOf(entry: CrontabEntry, source: CrontabSource, options: PlanOptions): string {
  const { when, command, stdin, env, annotation } = entry;
  return JSON.stringify([
    when,
    zoneOf(env, options),
    entry.user ?? source.owner,
    command,
    stdin,
    environmentOf(env),
    env.SHELL ?? cronShell,
    env.RANDOM_DELAY ?? null,
    annotation,
    options.perHost ? source.host : null,
  ]);
}

function environmentOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !cronVariables.has(name)));
}

function schedule(
  { entry, source, lines }: { entry: CrontabEntry; source: CrontabSource; lines: PlannedLine[] },
  allHosts: readonly string[],
  options: PlanOptions,
): PlannedSchedule {
  const { env, command, stdin, annotation } = entry;
  const timezone = zoneOf(env, options);
  const { cron, jitterMs, note } = readWhen(entry.when, timezone, env);
  const user = entry.user ?? source.owner;
  const hosts = [...new Set(lines.flatMap(({ host }) => host ?? []))];
  const isShared = hosts.length === allHosts.length;
  const queue = isShared && !options.perHost ? null : hosts.join('+');
  const task = dulyRunOf(command);
  const rule: RuleInput & { timezone: string } = { cron, timezone };
  const name = `${queue === null || hosts.length !== 1 ? '' : `${hosts[0]}-`}${nameOfCommand(command)}`;
  const how =
    task === null
      ? asCron(entry, { user, hosts, env: environmentOf(env), userSwitch: options.userSwitch })
      : { type: task.name, input: task.input };
  // An export of ours says above the line what the line cannot; nothing is to be guessed then.
  const definition = (
    annotation === null
      ? {
          ...how,
          ...rule,
          ...options.policies,
          ...(jitterMs === 0 ? {} : { jitter: jitterMs }),
          ...(queue === null ? {} : { queue }),
          ...(entry.comment === '' ? {} : { note: entry.comment.slice(0, 1_000) }),
          name,
        }
      : { type: how.type, input: how.input, ...rule, name, ...annotation }
  ) as PlannedSchedule['definition'];
  const notes = [
    ...(note === null ? [] : [note]),
    ...(task === null
      ? notesOf(entry, command)
      : ['it becomes a schedule of the task itself, without a program between']),
    ...(stdin === null ? [] : ['what stands behind "%" is its input']),
  ];
  return {
    name: definition.name,
    lines,
    definition,
    command: task === null ? command : null,
    user,
    hosts,
    words: explain(rule),
    notes,
  };
}

/** A run as cron has it: one start, whatever comes of it, without an end to how long it takes. */
function asCron(
  { command, stdin, env: all, when }: CrontabEntry,
  {
    user,
    hosts,
    env,
    userSwitch,
  }: { user: string | null; hosts: string[]; env: Record<string, string>; userSwitch: UserSwitch },
): Omit<ScheduleDefinition, 'name'> {
  const argv = argvOf({ line: command, shell: all.SHELL ?? cronShell, user }, userSwitch);
  const hasEnv = Object.keys(env).length > 0;
  const input: CommandInput = {
    command: { argv, placeholders: false, stdin: stdin ?? '', ...(hasEnv ? { env } : {}) },
  };
  const crontab = {
    line: command,
    when,
    ...(user === null ? {} : { user }),
    ...(hosts.length === 0 ? {} : { hosts }),
  };
  return {
    type: commandTaskName,
    input,
    retry: 1,
    timeout: 'none',
    delivery: 'at-most-once',
    metadata: { crontab },
  };
}

function notesOf({ flags, isUnlogged }: CrontabEntry, command: string): string[] {
  return [
    ...(isUnlogged ? ['the "-" before it keeps it out of the log of cron; Duly records every run'] : []),
    ...(/>\s*\/dev\/null\s+2>&1|&>\s*\/dev\/null/.test(command)
      ? ['the line throws its output away; without that Duly would store it as the log']
      : []),
    ...(/(^|\s|\/)flock\s/.test(command) ? ['it needs flock no longer: its runs do not overlap'] : []),
    ...(/&\s*$/.test(command) && !/&&\s*$/.test(command)
      ? ['it leaves a program in the background, which is ended when the line itself ends']
      : []),
    ...(flags.includes('q') || flags.includes('n')
      ? [`the flags -${flags} are left out: they say what cron mails and logs`]
      : []),
  ];
}

/** Names are made of commands, and two lines may run the same one. */
function nameApart(schedules: PlannedSchedule[]): void {
  const taken = new Set<string>();
  for (const one of schedules) {
    let name = one.name;
    for (let n = 2; taken.has(name); n++) name = `${one.name}-${n}`;
    taken.add(name);
    one.name = name;
    one.definition.name = name;
  }
}

/** The rule of a planned schedule. */
export function ruleOf({ definition }: PlannedSchedule): ReturnType<typeof resolveRule> {
  return ruleIn(definition);
}

function ruleIn({
  cron,
  timezone,
  rate,
  delay,
  rrule,
}: Pick<PlannedSchedule['definition'], 'cron' | 'timezone' | 'rate' | 'delay' | 'rrule'>): ReturnType<
  typeof resolveRule
> {
  if (cron !== undefined) return resolveRule({ cron, timezone });
  return resolveRule({
    ...(rate === undefined ? {} : { rate }),
    ...(delay === undefined ? {} : { delay }),
    ...(rrule === undefined ? {} : { rrule }),
    timezone,
  });
}
