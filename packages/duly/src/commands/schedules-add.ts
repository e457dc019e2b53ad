import {
  Duly,
  defaultStore,
  type NodeView,
  type Schedule,
  type ScheduleDefinition,
  type SchedulePolicies,
  systemClock,
} from '@duly/core';
import { toScheduleJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { type RuleOptions, readRule } from '../cli/rule-options.ts';
import { didYouMean, readCount } from '../cli/usage.ts';
import { type Client, clientDuly, useDuly, withServer } from '../client/client.ts';
import { givenStore, isNew, isSameStore, refuseMemory, refuseUnmakable } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import type { Project } from '../project/load.ts';
import { givenServer } from '../remote/server.ts';
import { adviceOn } from '../schedules/advice.ts';
import { ruleOf, withScheduleHints, withTypedOptions } from '../schedules/schedule-client.ts';
import { asIfNoTime } from '../schedules/schedule-slots.ts';
import { dayText, hazardText } from '../schedules/schedule-times.ts';
import { readInput, readMetadata, taskFor, tryProject } from './run.ts';

interface SchedulesAddOptions extends CommonOptions, RuleOptions {
  type: string;
  input?: string;
  missed?: string;
  catchUpWindow?: string;
  catchUpLimit?: string;
  overlap?: string;
  bufferLimit?: string;
  startDeadline?: string;
  finishDeadline?: string;
  jitter?: string;
  jitterMode?: string;
  onResume?: string;
  onEdit?: string;
  pauseAfterFailures?: string;
  flagAfterFailures?: string;
  maxRuns?: string;
  queue?: string;
  priority?: string;
  tenant?: string;
  serial?: string;
  metadata?: string[];
  note?: string;
}

const nextCount = 3;

/** `duly schedules add`: a dynamic schedule, created or changed. The task's code need not be here. */
export async function schedulesAdd(
  context: CommandContext,
  options: SchedulesAddOptions,
  name: string,
): Promise<undefined> {
  const definition = readDefinition(context, options, name);
  await withTypedOptions(() => refuseWrong(definition));
  const server = givenServer(options);
  if (server !== null) {
    // What is in this folder need not be what runs there.
    await withServer(context, server, (client) =>
      withScheduleHints(client, () => put(context, client, definition, { project: null, defined: [] })),
    );
    return;
  }
  const project = await tryProject(context, options);
  const store = givenStore(options.store) ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  refuseMemory(store);
  refuseUnmakable(store);
  const isCreated = isNew(store);
  if (isCreated) await withTypedOptions(() => refuseOver(definition));
  const defined = [
    ...(project?.tasks ?? []).map(({ definition }) => definition.name),
    ...(project?.duly?.tasks.keys() ?? []),
  ];
  const own = project?.duly != null && isSameStore(project.duly.store, store) ? project.duly : null;
  await useDuly(context, own ?? clientDuly(context, store), store, (client) =>
    withScheduleHints(client, async () => {
      const nodes = await client.duly.nodes();
      if (isCreated) context.warn(`There was no store at "${store}" yet; it was created.`);
      taskFor(client.duly, definition.type, project, nodes);
      await put(context, client, definition, { project, defined });
    }),
  );
}

/** Creates or changes it, and says what came of it and what a person should think about. */
async function put(
  context: CommandContext,
  client: Client,
  definition: ScheduleDefinition,
  { project, defined }: { project: Project | null; defined: readonly string[] },
): Promise<void> {
  const { duly } = client;
  const nodes = await duly.nodes();
  const before = await sameName(duly, definition);
  const schedule = await withTypedOptions(() => duly.schedules.put(definition));
  client.changed(`/schedules/${schedule.id}`);
  await printPut(context, duly, schedule, before);
  warnDeclared(context, before, schedule);
  warnIdle(context, client, definition.type, { nodes, defined });
  const tasks = project?.tasks.map((found) => found.definition) ?? [];
  for (const { message, hint } of await adviceOn(duly, { tasks, only: schedule }))
    context.warn(`${message} ${hint}`);
}

/** Refuses what is wrong before a store is made for it: a Duly checks what its tasks declare without opening its store. */
function refuseWrong({ type, ...every }: ScheduleDefinition): void {
  new Duly({ store: 'sqlite::memory:' }).task({ name: type, every, run: () => {} });
}

/** In a store that is not there yet every schedule is new, and one that would never fire is refused before the store is made. */
async function refuseOver(definition: ScheduleDefinition): Promise<void> {
  const duly = new Duly({ store: 'sqlite::memory:' });
  try {
    await duly.schedules.put(definition);
  } finally {
    await duly.stop();
  }
}

function readDefinition(
  context: CommandContext,
  options: SchedulesAddOptions,
  name: string,
): ScheduleDefinition {
  const rule = readRule(options);
  const input = readInput(context, options.input);
  const metadata = readMetadata(options.metadata);
  const priority = readCount(options.priority, '--priority');
  const { type, queue, tenant, serial, note } = options;
  return {
    type,
    name,
    ...rule,
    ...readPolicies(options),
    ...(input === undefined ? {} : { input }),
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(serial === undefined ? {} : { serial }),
    ...(metadata === null ? {} : { metadata }),
    ...(note === undefined ? {} : { note }),
  };
}

const words = ['missed', 'overlap', 'jitterMode', 'onResume', 'onEdit'] as const;
const durations = ['catchUpWindow', 'startDeadline', 'finishDeadline', 'jitter'] as const;
const counts = ['catchUpLimit', 'bufferLimit', 'pauseAfterFailures', 'flagAfterFailures', 'maxRuns'] as const;

function readPolicies(options: SchedulesAddOptions): SchedulePolicies {
  const policies: Record<string, unknown> = {};
  // `buffer-one`, as options are written, and `bufferOne`, as the library writes it, are the same.
  for (const field of words)
    policies[field] = options[field]?.replace(/-([a-z])/g, (_, a) => a.toUpperCase());
  for (const field of durations) policies[field] = options[field];
  for (const field of counts) policies[field] = readCount(options[field], optionOf(field));
  return Object.fromEntries(Object.entries(policies).filter(([, value]) => value !== undefined));
}

function optionOf(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The schedules that have this name and tenant already: the dynamic one, and declared ones. */
async function sameName(duly: Duly, { name, tenant = null }: ScheduleDefinition): Promise<Schedule[]> {
  return (await duly.schedules.list({ name: name as string, tenant })).schedules;
}

async function printPut(
  { out, json }: CommandContext,
  duly: Duly,
  schedule: Schedule,
  before: readonly Schedule[],
): Promise<void> {
  const old = before.find(({ id }) => id === schedule.id);
  const result =
    old === undefined
      ? 'created'
      : old.updatedAt.getTime() === schedule.updatedAt.getTime()
        ? 'unchanged'
        : 'edited';
  const slots = await duly.schedules.preview({ id: schedule.id }, { count: nextCount });
  if (json) {
    printJson(out, { ...toScheduleJson(schedule), result, next_slots: slots });
    return;
  }
  const said = { created: 'is created', edited: 'is changed', unchanged: 'was so already' }[result];
  out.line(`Schedule "${oneLine(schedule.name)}" ${said} (${schedule.id}).`);
  out.sentence(schedule.words);
  const rule = ruleOf(schedule);
  const now = systemClock.now();
  for (const slot of slots) {
    const hazard = hazardText(slot, rule);
    out.line(`  ${dayText(slot, rule)}  ${relative(slot, now)}${hazard === '' ? '' : `  (${hazard})`}`);
  }
  if (slots.length === 0) out.line('  It has no more slots.');
  else if (schedule.kind === 'delay') out.line(`  ${asIfNoTime}`);
}

function warnDeclared(context: CommandContext, before: readonly Schedule[], { id, name }: Schedule): void {
  const declared = before.find(({ app }) => app !== null);
  if (declared === undefined) return;
  context.warn(
    `The code of "${declared.app}" declares a schedule "${name}" too; from now on name this one by its id, ${id}.`,
  );
}

function warnIdle(
  context: CommandContext,
  { command, isServer }: Client,
  type: string,
  { nodes, defined }: { nodes: readonly NodeView[]; defined: readonly string[] },
): void {
  const hasScheduler = nodes.some(({ roles }) => roles.includes('scheduler'));
  if (!hasScheduler) {
    const start = isServer ? `${invocation()} worker --store <its store>` : command('up');
    context.warn(`No scheduler runs on this store; slots wait for one. Start one: ${start}`);
  }
  const types = new Set(
    nodes
      .filter(({ roles }) => roles.includes('worker'))
      .flatMap(({ tasks }) => tasks.map(({ type }) => type)),
  );
  // Where nothing runs, what is defined here is what will.
  if (!hasScheduler) for (const name of defined) types.add(name);
  if (!types.has(type) && !hasScheduler) {
    context.warn(
      `No task "${type}" is defined here; its jobs wait for a node that has it.${didYouMean(type, types)}`,
    );
  } else if (!types.has(type)) {
    context.warn(`No live node handles "${type}"; its jobs wait for one.${didYouMean(type, types)}`);
  }
}
