import {
  type ApplyOptions,
  type DeclaredSet,
  Duly,
  DulyError,
  defaultStore,
  explain,
  type RuleInput,
  type Schedule,
  type ScheduleDefinition,
  type ScheduleDiff,
} from '@duly/core';
import { snakeName } from '@duly/core/internal';
import { confirm } from '../cli/confirm.ts';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { terminalActor, useDuly, withServer } from '../client/client.ts';
import {
  givenStore,
  inline,
  isNew,
  isSameStore,
  refuseMemory,
  refuseMissing,
  refuseUnmakable,
} from '../client/store.ts';
import { listJson, printJson } from '../output/json.ts';
import { harmless, type Style } from '../output/terminal.ts';
import { defineTasks, loadProject, type Project } from '../project/load.ts';
import { givenServer } from '../remote/server.ts';
import { withScheduleHints } from '../schedules/schedule-client.ts';
import { valueText } from './schedules-show.ts';

interface DeclaredOptions extends CommonOptions {
  prune?: boolean;
}

/** `duly schedules diff`: what `apply` would do. */
export async function schedulesDiff(context: CommandContext, options: DeclaredOptions): Promise<undefined> {
  await withDeclared(context, options, { isCreated: false }, async ({ duly, project, set, how }) => {
    const plan = await duly.schedules.diff(set, how);
    await printPlan(context, duly, project, plan, 'plan');
  });
}

/** `duly schedules apply`. */
export async function schedulesApply(
  context: CommandContext,
  options: DeclaredOptions & { yes?: boolean },
): Promise<number | undefined> {
  return withDeclared(context, options, { isCreated: true }, async ({ duly, project, set, how }) => {
    const plan = await duly.schedules.diff(set, how);
    const removed = plan.filter(({ action }) => action === 'remove');
    if (removed.length > 0 && !options.yes) {
      const names = removed.map(({ name }) => `"${harmless(name)}"`).join(', ');
      const answer = await confirm(context, `Remove ${names}?`, 'To remove schedules');
      if (answer !== 'yes') {
        context.err.line('Nothing was done.');
        return answer === 'interrupted' ? exitCodes.interrupted : exitCodes.failure;
      }
    }
    await printPlan(context, duly, project, await duly.schedules.apply(set, how), 'done');
    return undefined;
  });
}

/** What is compared and applied, and by whom. */
interface Declared {
  duly: Duly;
  project: Project;
  /** Given to `diff` and `apply`; undefined: what the Duly's own tasks declare. */
  set: readonly ScheduleDefinition[] | undefined;
  how: ApplyOptions;
}

/** Makes a Duly of what this folder declares, strictly: what does not load could look like what is no longer declared. */
async function withDeclared<Value>(
  context: CommandContext,
  options: DeclaredOptions,
  { isCreated }: { isCreated: boolean },
  use: (declared: Declared) => Promise<Value>,
): Promise<Value> {
  const project = await loadProject({ config: options.config, withTasks: true });
  if (project.config === null && !project.hasTaskFiles) {
    throw new DulyError('config_invalid', {
      message: 'Nothing can be declared here: there is neither duly.config.ts nor a folder tasks/.',
      hint: 'Go to the folder of your project, or name its config with --config.',
    });
  }
  const prune = options.prune ? { prune: true } : {};
  const server = givenServer(options);
  if (server !== null) {
    const { app, release, schedules: set, tasks } = await declaredHere(project);
    const how = { app, ...(release === null ? {} : { release }), tasks, ...prune };
    return withServer(context, server, (client) =>
      withScheduleHints(client, () => use({ duly: client.duly, project, set, how })),
    );
  }
  const given = givenStore(options.store);
  if (project.duly !== null && given !== undefined && !isSameStore(given, project.duly.store)) {
    throw new DulyError('config_invalid', {
      message: 'The config exports a Duly with a store of its own, and --store or DULY_STORE names another.',
      hint: 'Leave the other out, or write in the config: new Duly({ store: process.env.DULY_STORE ?? … }).',
    });
  }
  const store = given ?? project.duly?.store ?? project.options.store ?? defaultStore;
  // What apply would make is told without making it.
  const isMissing = !isCreated && project.duly === null && isNew(store);
  if (isCreated || isMissing) refuseUnmakable(store);
  else refuseMissing(store);
  refuseMemory(store);
  if (isMissing) context.warn(`There is no store at "${store}" yet; "schedules apply" creates it.`);
  const say = (_fields: object, message: string): void => context.warn(message);
  const duly =
    project.duly ??
    new Duly({
      ...project.options,
      store: isMissing ? 'sqlite::memory:' : inline(store),
      actor: terminalActor(),
      logger: { debug() {}, info() {}, warn: say, error: say },
    });
  return useDuly(context, duly, store, (client) =>
    withScheduleHints(client, async () => {
      defineTasks(duly, project.tasks);
      if (isCreated) client.changed('/schedules');
      return use({ duly, project, set: undefined, how: prune });
    }),
  );
}

/** What this folder declares, for a server to apply. No store is opened. */
async function declaredHere(project: Project): Promise<DeclaredSet> {
  const duly = project.duly ?? new Duly({ ...project.options, store: 'sqlite::memory:' });
  try {
    defineTasks(duly, project.tasks);
    return await duly.schedules.declared();
  } finally {
    await duly.stop();
  }
}

type Action = ScheduleDiff['action'];

const marks: Record<Action, { mark: string; style: Style; plan: string; done: string }> = {
  add: { mark: '+', style: 'green', plan: 'to add', done: 'added' },
  edit: { mark: '~', style: 'yellow', plan: 'to edit', done: 'edited' },
  enable: { mark: '~', style: 'yellow', plan: 'to enable again', done: 'enabled again' },
  disable: { mark: '-', style: 'red', plan: 'to disable', done: 'disabled' },
  remove: { mark: '-', style: 'red', plan: 'to remove', done: 'removed' },
  drift: { mark: '=', style: 'magenta', plan: 'to mark as drift', done: 'marked as drift' },
  keep: { mark: '=', style: 'magenta', plan: 'left to its release', done: 'left to its release' },
  none: { mark: ' ', style: 'dim', plan: 'as declared', done: 'as declared' },
};

async function printPlan(
  { out, json }: CommandContext,
  duly: Duly,
  project: Project,
  plan: readonly ScheduleDiff[],
  tense: 'plan' | 'done',
): Promise<void> {
  const stored = new Map<string, Schedule>();
  for await (const schedule of duly.schedules.each()) stored.set(schedule.id, schedule);
  const drifts = (diff: ScheduleDiff): Schedule['drift'] => stored.get(diff.id)?.drift ?? null;
  if (json) {
    printJson(out, {
      applied: tense === 'done',
      ...listJson(
        plan.map((diff) => ({
          ...diff,
          fields: diff.fields.map((one) => ({ ...one, field: snakeName(one.field) })),
          drift: drifts(diff),
        })),
      ),
    });
    return;
  }
  if (plan.length === 0) {
    out.line('Nothing is declared here, and nothing is stored for this app.');
    return;
  }
  const words = declaredWords(project);
  for (const diff of plan) {
    const drift = drifts(diff);
    // What a person changed is shown although nothing is to be done about it.
    if (diff.action === 'none' && drift === null && diff.note === null) continue;
    const { mark, style } = diff.action === 'none' ? marks.drift : marks[diff.action];
    const about = diff.note ?? (diff.action === 'add' ? (words.get(diff.name) ?? '') : '');
    out.line(
      `${out.paint(style, `${mark} ${harmless(nameText(diff))}`)}${about === '' ? '' : `  ${harmless(about)}`}`,
    );
    for (const line of fieldLines(diff, drift)) out.line(`    ${harmless(line)}`);
  }
  out.line(summary(plan, tense));
}

function nameText({ name, tenant }: ScheduleDiff): string {
  return tenant === null ? name : `${name} (${tenant})`;
}

function fieldLines({ action, fields }: ScheduleDiff, drift: Schedule['drift']): string[] {
  const lines = fields.map(
    ({ field, stored, declared }) => `${field}: ${valueText(stored)} → ${valueText(declared)}`,
  );
  if (action === 'add' || action === 'remove' || drift?.kind !== 'overridden') return lines;
  const by = drift.by ?? 'somebody';
  const changes = drift.fields.map(
    ({ field, declared, stands }) =>
      `${field}: ${valueText(stands)} stands, set by ${by}; the code says ${valueText(declared)}`,
  );
  return [...lines, ...changes];
}

function summary(plan: readonly ScheduleDiff[], tense: 'plan' | 'done'): string {
  const counts = new Map<Action, number>();
  for (const { action } of plan) counts.set(action, (counts.get(action) ?? 0) + 1);
  const parts = [...counts].map(([action, count]) => `${count} ${marks[action][tense]}`);
  const isIdle = [...counts.keys()].every((action) => action === 'none' || action === 'keep');
  return `${isIdle ? 'Nothing to do' : tense === 'plan' ? 'Plan' : 'Done'}: ${parts.join(', ')}.`;
}

const ruleFields = [
  'cron',
  'rate',
  'delay',
  'rrule',
  'timezone',
  'dst',
  'exclude',
  'startAt',
  'endAt',
  'anchor',
];

/** What the definitions of this folder declare, in words, by the schedule's name; a Duly of the user's own keeps its to itself. */
function declaredWords({ tasks }: Project): Map<string, string> {
  const words = new Map<string, string>();
  for (const { definition } of tasks) {
    const { every } = definition;
    if (every === undefined) continue;
    for (const one of (Array.isArray(every) ? every : [every]) as (
      | string
      | (RuleInput & { name?: string })
    )[]) {
      const rule = typeof one === 'string' ? { cron: one } : one;
      const picked = Object.entries(rule).filter(([field]) => ruleFields.includes(field));
      words.set(
        (typeof one === 'string' ? undefined : one.name) ?? definition.name,
        explain(Object.fromEntries(picked) as RuleInput),
      );
    }
  }
  return words;
}
