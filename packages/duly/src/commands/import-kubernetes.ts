import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DulyError, preview, resolveRule, systemClock } from '@duly/core';
import { toComingSlotJson } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { didYouMean, usageError } from '../cli/usage.ts';
import { type Client, withClient } from '../client/client.ts';
import { commandFor, shellWord } from '../client/store.ts';
import { type Imported, type ImportMode, importSchedule } from '../import/apply-import.ts';
import { type ContainerRun, containerRuns } from '../import/kubernetes-command.ts';
import { type KubernetesPlan, type PlannedCronJob, planManifests } from '../import/kubernetes-plan.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { dayText } from '../schedules/schedule-times.ts';
import { type ImportModeOptions, nextText, readMode } from './import-crontab.ts';
import { readStdin } from './run.ts';

interface ImportKubernetesOptions extends ImportModeOptions {
  run?: string;
  skipUnreadable?: boolean;
}

const nextCount = 3;

/** `duly import kubernetes`: shows what would become of CronJobs, field by field, and creates schedules of them if told how they begin. */
export async function importKubernetes(
  context: CommandContext,
  options: ImportKubernetesOptions,
  paths: string[],
): Promise<undefined> {
  const mode = readMode(options);
  const plan = planManifests(await readManifests(paths), readRun(options.run));
  if (mode === null) {
    if (context.json) printJson(context.out, toJson(plan, null, null));
    else printPlan(context, plan);
    return;
  }
  refuseUnreadable(plan, options.skipUnreadable === true);
  await withClient(
    context,
    options,
    async (client) => {
      client.changed('/schedules');
      const imported: Imported[] = [];
      for (const { definition, suspended } of plan.schedules) {
        imported.push(await importSchedule(client.duly, definition, suspended ? 'paused' : mode));
      }
      if (context.json) printJson(context.out, toJson(plan, mode, imported));
      else printImported(context, client, mode, imported);
    },
    { creates: true },
  );
}

function readRun(word: string | undefined): ContainerRun {
  if (word === undefined) return 'command';
  if ((containerRuns as readonly string[]).includes(word)) return word as ContainerRun;
  throw usageError(
    `Expected --run to be one of ${containerRuns.join(', ')}, got "${word.slice(0, 40)}".`,
    didYouMean(word, containerRuns).trim() || undefined,
  );
}

/** Reads manifests: files, folders of `.yaml`, `.yml` and `.json` files, and stdin. */
async function readManifests(paths: readonly string[]): Promise<{ name: string; text: string }[]> {
  const files: { name: string; text: string }[] = [];
  for (const path of paths) {
    if (path === '-') {
      files.push({ name: 'stdin', text: await readStdin() });
      continue;
    }
    try {
      const names = statSync(path).isDirectory()
        ? readdirSync(path)
            .filter((name) => /\.(ya?ml|json)$/.test(name))
            .sort()
            .map((name) => join(path, name))
        : [path];
      for (const name of names) files.push({ name, text: readFileSync(name, 'utf8') });
    } catch (cause) {
      throw new DulyError('crontab_unreadable', {
        message: `"${path}" cannot be read: ${(cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message}.`,
        hint: 'From a cluster: kubectl get cronjobs -A -o yaml | duly import kubernetes -',
        details: { path },
        cause,
      });
    }
  }
  return files;
}

function refuseUnreadable({ schedules, leftOut }: KubernetesPlan, isSkipped: boolean): void {
  const unreadable = leftOut.filter(({ kind }) => kind === 'unreadable');
  const [first] = unreadable;
  if (first !== undefined && !isSkipped) {
    throw new DulyError('crontab_unreadable', {
      message: `${unreadable.length === 1 ? 'One manifest' : `${unreadable.length} manifests`} cannot be imported, the first "${first.name}" of ${first.source}: ${first.reason}`,
      hint: 'Put it right, or import the others with --skip-unreadable. Nothing was stored.',
      details: { manifests: unreadable },
    });
  }
  if (schedules.length === 0) {
    throw new DulyError('crontab_unreadable', {
      message: 'There is no CronJob in what was given.',
      hint: 'See what was found without --paused, --shadow or --live.',
    });
  }
}

const fromWidthMax = 44;

function printPlan({ out }: CommandContext, { schedules, leftOut }: KubernetesPlan): void {
  const now = systemClock.now();
  for (const one of schedules) {
    const rule = ruleOf(one);
    out.line(`${out.paint('bold', oneLine(one.name))}  ${out.paint('dim', one.source)}`);
    out.sentence(`  ${one.words.replace(/(?<=\.) .*$/s, '')}`);
    const next = nextOf(one, now);
    if (next !== null) {
      const runs = next.map((slot) => dayText(slot, rule));
      out.line(nextText(runs, out.columns()));
    }
    // One that is long does not push the others off a terminal.
    const width = Math.max(...one.mappings.map(({ from }) => (from.length > fromWidthMax ? 0 : from.length)));
    for (const { from, to } of one.mappings) out.line(`  ${oneLine(from).padEnd(width)}  →  ${oneLine(to)}`);
    out.line(`  runs: ${one.argv === null ? one.definition.type : one.argv.map(shellWord).join(' ')}`);
    for (const hazard of one.hazards) out.sentence(out.paint('yellow', `  ! ${oneLine(hazard)}`));
    out.line();
  }
  for (const { source, name, reason } of leftOut) {
    out.line(out.paint('yellow', `Not imported: ${source}  ${oneLine(name)}`));
    out.sentence(`  ${oneLine(reason)}`);
  }
  if (schedules.length === 0) {
    out.sentence(
      leftOut.length === 0 ? 'There is no CronJob in what was given.' : 'Nothing of it can be imported.',
    );
    return;
  }
  const words = process.argv.slice(2).map(shellWord).join(' ');
  out.sentence('Nothing is stored yet. To go on, the same with --shadow, --paused or --live:');
  out.line(`  ${out.paint('cyan', `${invocation()} ${words} --paused`)}`);
}

function printImported(
  { out }: CommandContext,
  { store, command }: Client,
  mode: ImportMode,
  imported: readonly Imported[],
): void {
  const said = { created: 'created', edited: 'changed', unchanged: 'as before' };
  for (const { schedule, result } of imported) {
    const how = schedule.paused === null ? '' : '  paused';
    out.line(`${oneLine(schedule.name)}  ${said[result]}  ${schedule.id}${how}  ${schedule.words}`);
  }
  out.line();
  if (mode === 'paused')
    out.sentence(`One by one: ${command('schedules resume <name>')}; all: the same import with --live.`);
  else if (mode === 'shadow') out.sentence('They record what they would do, and run nothing.');
  else
    out.sentence(
      'They are live. Suspend the CronJobs now: kubectl patch cronjob <name> -p \'{"spec":{"suspend":true}}\'',
    );
  out.line(`  ${out.paint('cyan', commandFor(store, 'worker --allow-commands'))}`);
}

function ruleOf({
  definition: { cron = '', rate, timezone },
}: PlannedCronJob): ReturnType<typeof resolveRule> {
  return resolveRule(rate === undefined ? { cron, timezone } : { rate, timezone });
}

/** The next slots; null: they are counted from when it is created. */
function nextOf(one: PlannedCronJob, now: number): ReturnType<typeof preview> | null {
  return one.definition.rate === undefined ? preview(ruleOf(one), { after: now, count: nextCount }) : null;
}

function toJson(
  { schedules, leftOut }: KubernetesPlan,
  mode: ImportMode | null,
  imported: readonly Imported[] | null,
): Record<string, unknown> {
  const now = systemClock.now();
  return {
    mode,
    schedules: schedules.map((one, i) => {
      const rule = ruleOf(one);
      return {
        id: imported?.[i]?.schedule.id ?? null,
        result: imported?.[i]?.result ?? null,
        name: one.name,
        namespace: one.namespace,
        source: one.source,
        type: one.definition.type,
        cron: one.definition.cron ?? null,
        rate: one.definition.rate ?? null,
        timezone: one.definition.timezone,
        words: one.words,
        paused: one.suspended || mode === 'paused',
        argv: one.argv,
        mappings: one.mappings,
        hazards: one.hazards,
        next_slots: (nextOf(one, now) ?? []).map((slot) => toComingSlotJson(slot, rule)),
      };
    }),
    left_out: leftOut,
  };
}
