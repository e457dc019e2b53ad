import { readFileSync } from 'node:fs';
import { DulyError, isDulyError, preview, type SchedulePolicies, systemClock } from '@duly/core';
import { toComingSlotJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { didYouMean, readDuration, usageError } from '../cli/usage.ts';
import { type Client, withClient } from '../client/client.ts';
import { commandFor, shellWord } from '../client/store.ts';
import { type Imported, type ImportMode, importSchedule } from '../import/apply-import.ts';
import { type CronHistory, readCronHistory } from '../import/cron-history.ts';
import { type Hazard, hazardsOf, herdsOf } from '../import/crontab-hazards.ts';
import { type CrontabPlan, type PlannedSchedule, planCrontabs, ruleOf } from '../import/crontab-plan.ts';
import { readSources } from '../import/crontab-sources.ts';
import { type UserSwitch, userSwitches } from '../import/shell-command.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { withTypedOptions } from '../schedules/schedule-client.ts';
import { dayText } from '../schedules/schedule-times.ts';
import { readStdin } from './run.ts';

/** Options of the imports that begin paused, as a shadow or live. */
export interface ImportModeOptions extends CommonOptions {
  paused?: boolean;
  shadow?: boolean;
  live?: boolean;
}

interface ImportCrontabOptions extends ImportModeOptions {
  system?: boolean;
  root?: string;
  userColumn?: boolean;
  timezone?: string;
  switchUser?: string;
  perHost?: boolean;
  history?: string;
  missed?: string;
  overlap?: string;
  jitter?: string;
  skipUnreadable?: boolean;
}

const nextCount = 3;

/** `duly import crontab`: shows what would become of crontabs, and creates schedules of them if told how they begin. */
export async function importCrontab(
  context: CommandContext,
  options: ImportCrontabOptions,
  files: string[],
): Promise<undefined> {
  const mode = readMode(options);
  const userSwitch = readUserSwitch(options.switchUser);
  const policies = readPolicies(options);
  const machineZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const timezone = options.timezone ?? machineZone;
  const system = options.system || options.root !== undefined ? (options.root ?? '/') : null;
  const { sources, notRead } = await readSources({
    files,
    system,
    userColumn: options.userColumn === true,
    readStdin,
  });
  const now = systemClock.now();
  const plan = await withTypedOptions(() => {
    preview({ cron: '0 0 * * *', timezone }, { count: 1 });
    return planCrontabs(sources, { timezone, userSwitch, perHost: options.perHost === true, policies });
  });
  const history = options.history === undefined ? null : await readHistory(options.history, timezone, now);
  const hazards = new Map(plan.schedules.map((one) => [one, hazardsOf(one, now, history)]));
  const herds = herdsOf(plan, now);
  const zoneNote =
    options.timezone === undefined
      ? `Lines without CRON_TZ are read in ${timezone}, the zone of this machine; --timezone names another.`
      : `Lines without CRON_TZ are read in ${timezone}.`;
  const show = { plan, hazards, herds, zoneNote, notRead, now };
  if (mode === null) {
    if (context.json) printJson(context.out, toJson(show, null, null));
    else {
      printPlan(context, show);
      if (plan.schedules.length > 0) printHow(context);
      else context.out.sentence('There is nothing to import.');
    }
    return;
  }
  refuseUnreadable(plan, options.skipUnreadable === true);
  await withClient(
    context,
    options,
    async (client) => {
      const imported = await importAll(client, plan, mode);
      client.changed('/schedules');
      if (context.json) printJson(context.out, toJson(show, mode, imported));
      else printImported(context, client, show, mode, imported);
    },
    { creates: true },
  );
}

/** Reads how schedules begin; null: nothing is stored. */
export function readMode({ paused, shadow, live }: ImportModeOptions): ImportMode | null {
  const given = (['paused', 'shadow', 'live'] as const).filter((_, i) => [paused, shadow, live][i]);
  if (given.length <= 1) return given[0] ?? null;
  throw usageError(
    `Give one of --paused, --shadow and --live, not ${given.map((one) => `--${one}`).join(' and ')}.`,
  );
}

function readUserSwitch(word: string | undefined): UserSwitch {
  if (word === undefined) return 'runuser';
  if ((userSwitches as readonly string[]).includes(word)) return word as UserSwitch;
  throw usageError(
    `Expected --switch-user to be one of ${userSwitches.join(', ')}, got "${word.slice(0, 40)}".`,
    didYouMean(word, userSwitches).trim() || undefined,
  );
}

/** Cron makes up for nothing; two runs of one line at once are what people guard against by hand. */
function readPolicies({ missed = 'skip', overlap = 'skip', jitter }: ImportCrontabOptions): SchedulePolicies {
  const camel = (word: string): string => word.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
  return {
    missed: missed as NonNullable<SchedulePolicies['missed']>,
    overlap: camel(overlap) as NonNullable<SchedulePolicies['overlap']>,
    ...(jitter === undefined ? {} : { jitter: readDuration(jitter, '--jitter') }),
  };
}

/** Reads a log of cron from a file, or from stdin. */
export async function readHistory(path: string, timezone: string, now: number): Promise<CronHistory> {
  let text: string;
  try {
    text = path === '-' ? await readStdin() : readFileSync(path, 'utf8');
  } catch (cause) {
    if (isDulyError(cause)) throw cause;
    throw new DulyError('crontab_unreadable', {
      message: `The log "${path}" cannot be read: ${(cause as Error).message}.`,
      hint: 'Where there is no /var/log/syslog: journalctl -t CRON -o short-iso > cron.log',
      cause,
    });
  }
  const history = readCronHistory(text, { timezone, now });
  if (history.fromAt !== null) return history;
  throw new DulyError('crontab_unreadable', {
    message: `There is no line of cron in the log "${path}".`,
    hint: 'It should have lines like: Nov 16 02:00:01 web1 CRON[123]: (root) CMD (…). Or: journalctl -t CRON -o short-iso',
  });
}

function refuseUnreadable({ leftOut, schedules }: CrontabPlan, isSkipped: boolean): void {
  const unreadable = leftOut.filter(({ kind }) => kind === 'unreadable');
  const [first] = unreadable;
  if (first !== undefined && !isSkipped) {
    throw new DulyError('crontab_unreadable', {
      message: `${unreadable.length === 1 ? 'One line' : `${unreadable.length} lines`} cannot be read, the first at ${first.source}:${first.line}: ${first.reason}`,
      hint: 'Put it right, or import the others with --skip-unreadable. Nothing was stored.',
      details: {
        lines: unreadable.map(({ source, line, text, reason }) => ({ source, line, text, reason })),
      },
    });
  }
  if (schedules.length === 0) {
    throw new DulyError('crontab_unreadable', {
      message: 'There is nothing to import.',
      hint: 'See the plan without --paused, --shadow or --live.',
    });
  }
}

async function importAll(
  { duly }: Client,
  { schedules }: CrontabPlan,
  mode: ImportMode,
): Promise<Imported[]> {
  const imported: Imported[] = [];
  for (const { definition } of schedules) imported.push(await importSchedule(duly, definition, mode));
  return imported;
}

interface Shown {
  plan: CrontabPlan;
  hazards: ReadonlyMap<PlannedSchedule, Hazard[]>;
  herds: readonly Hazard[];
  zoneNote: string;
  notRead: readonly string[];
  now: number;
}

function printPlan({ out }: CommandContext, { plan, hazards, herds, zoneNote, notRead, now }: Shown): void {
  for (const one of plan.schedules) {
    const rule = ruleOf(one);
    out.line(out.paint('bold', oneLine(one.name)));
    for (const { source, line, text } of one.lines)
      out.line(`  ${out.paint('dim', `${source}:${line}`)}  ${oneLine(text)}`);
    const { queue } = one.definition;
    const who = one.user === null ? '' : ` As ${one.user}.`;
    // What the clock does is told below.
    out.sentence(
      `  ${one.words.replace(/(?<=\.) .*$/s, '')}${who}${queue === undefined ? '' : ` In queue ${queue}.`}`,
    );
    const next = preview(rule, { after: now, count: nextCount });
    out.line(
      nextText(
        next.map((slot) => dayText(slot, rule)),
        out.columns(),
      ),
    );
    for (const note of one.notes) out.sentence(out.paint('dim', `  - ${note}`));
    for (const { text } of hazards.get(one) ?? []) out.sentence(out.paint('yellow', `  ! ${text}`));
    out.line();
  }
  for (const { source, line, text, reason } of plan.leftOut) {
    out.line(out.paint('yellow', `Not imported: ${source}:${line}  ${oneLine(text)}`));
    out.sentence(`  ${reason}`);
    out.line();
  }
  for (const { text } of herds) out.sentence(out.paint('yellow', `! ${text}`));
  for (const file of notRead) out.sentence(out.paint('yellow', `! ${notReadText(file)}`));
  for (const address of plan.mailTo) out.sentence(mailText(address));
  out.sentence(zoneNote);
}

/** The next runs of a plan, as many as have room on a line. */
export function nextText(runs: readonly string[], columns: number): string {
  const shown = [...runs];
  const text = (): string => `  next: ${shown.join(' · ') || 'never again'}`;
  while (shown.length > 1 && text().length > columns) shown.pop();
  return text();
}

function notReadText(file: string): string {
  return `${oneLine(file)} is not read, because of its name, as in Debian; if the cron of this machine reads it (cronie does), name it too`;
}

function mailText(address: string): string {
  return `Cron mails what the lines print to ${oneLine(address)}; Duly stores it as the log of each job, and an alert can mail failures.`;
}

function printHow({ out }: CommandContext): void {
  const words = process.argv.slice(2).map(shellWord).join(' ');
  out.sentence('Nothing is stored yet. To go on:');
  for (const [mode, what] of [
    ['--shadow', 'records what it would do, beside the cron that still does it'],
    ['--paused', 'stored, and does nothing until "schedules resume"'],
    ['--live', 'runs; take the lines out of the crontab'],
  ]) {
    out.line(`  ${out.paint('cyan', `${invocation()} ${words} ${mode}`)}   ${what}`);
  }
}

function printImported(
  { out }: CommandContext,
  { store, command }: Client,
  { plan, herds, notRead }: Shown,
  mode: ImportMode,
  imported: readonly Imported[],
): void {
  const said = { created: 'created', edited: 'changed', unchanged: 'as before' };
  for (const { schedule, result } of imported) {
    out.line(`${oneLine(schedule.name)}  ${said[result]}  ${schedule.id}  ${schedule.words}`);
  }
  for (const { source, line, text } of plan.leftOut)
    out.line(out.paint('yellow', `Not imported: ${source}:${line}  ${oneLine(text)}`));
  for (const { text } of herds) out.sentence(out.paint('yellow', `! ${text}`));
  for (const file of notRead) out.sentence(out.paint('yellow', `! ${notReadText(file)}`));
  out.line();
  if (mode === 'paused') {
    out.sentence(
      `They are paused. One by one: ${command('schedules resume <name>')}; all: the same import with --live.`,
    );
    return;
  }
  if (mode === 'shadow') {
    out.sentence('They record what they would do, and run nothing. A node must run for that:');
    out.line(`  ${out.paint('cyan', commandFor(store, 'worker --allow-commands'))}`);
    out.sentence('After a day or so, compare with what cron did:');
    out.line(`  ${out.paint('cyan', command('import compare --history /var/log/syslog'))}`);
    return;
  }
  out.sentence('They are live. Take the lines out of the crontab now, and see to it that these run:');
  for (const { host, queues } of workersOf(plan)) {
    const only = queues === null ? '' : ` --queues ${shellWord(queues.join(','))}`;
    out.line(
      `  ${host === null ? '' : `on ${host}: `}${out.paint('cyan', commandFor(store, `worker --allow-commands${only}`))}`,
    );
  }
}

/** What runs on each host: it takes from the queues of the lines that it has. */
function workersOf({ hosts, schedules }: CrontabPlan): { host: string | null; queues: string[] | null }[] {
  if (hosts.length === 0) return [{ host: null, queues: null }];
  const queuesOf = (host: string): string[] => [
    ...new Set(
      schedules
        .filter((one) => one.hosts.includes(host))
        .map(({ definition }) => definition.queue ?? 'default'),
    ),
  ];
  return hosts.map((host) => ({ host, queues: queuesOf(host) }));
}

function toJson(
  { plan, hazards, herds, notRead, now }: Shown,
  mode: ImportMode | null,
  imported: readonly Imported[] | null,
): Record<string, unknown> {
  return {
    mode,
    schedules: plan.schedules.map((one, i) => {
      const rule = ruleOf(one);
      const { definition } = one;
      return {
        id: imported?.[i]?.schedule.id ?? null,
        result: imported?.[i]?.result ?? null,
        name: one.name,
        type: definition.type,
        cron: definition.cron ?? null,
        timezone: definition.timezone,
        words: one.words,
        command: one.command,
        user: one.user,
        queue: definition.queue ?? null,
        hosts: one.hosts,
        lines: one.lines,
        next_slots: preview(rule, { after: now, count: nextCount }).map((slot) =>
          toComingSlotJson(slot, rule),
        ),
        notes: one.notes,
        hazards: hazards.get(one) ?? [],
        input: definition.input ?? null,
      };
    }),
    left_out: plan.leftOut,
    not_read: notRead,
    mail_to: plan.mailTo,
    hazards: herds,
    workers: workersOf(plan),
  };
}
