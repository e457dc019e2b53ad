import {
  type Duly,
  DulyError,
  defaultStore,
  type JobHandle,
  type JobOptions,
  type NodeView,
  type Task,
} from '@duly/core';
import { commandTaskName, httpTaskName, toJobJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import {
  didYouMean,
  readCount,
  readDuration,
  readInstant,
  readPairs,
  readValue,
  usageError,
} from '../cli/usage.ts';
import { type Client, clientDuly, useDuly, withServer } from '../client/client.ts';
import { givenStore, isNew, isSameStore, refuseMemory, refuseUnmakable } from '../client/store.ts';
import { demoApp, demoTasks } from '../demo/tasks.ts';
import { watchJob } from '../jobs/watch.ts';
import { sentenceOf } from '../output/errors.ts';
import { printJson } from '../output/json.ts';
import { defineTasks, loadProject, type Project } from '../project/load.ts';
import { givenServer } from '../remote/server.ts';

interface RunOptions extends CommonOptions {
  in?: string;
  at?: string;
  queue?: string;
  priority?: string;
  tenant?: string;
  key?: string;
  serial?: string;
  metadata?: string[];
  watch?: boolean;
}

/** `duly run`: creates a job. The task's code need not be here. */
export async function run(
  context: CommandContext,
  options: RunOptions,
  name: string,
  inputText: string | undefined,
): Promise<number | undefined> {
  if (options.in !== undefined && options.at !== undefined) {
    throw usageError('Give --in or --at, not both.');
  }
  const due = readDue(options);
  const jobOptions = readJobOptions(options);
  const input = inputText === '-' ? readPiped(context, await readStdin()) : readInput(context, inputText);
  const server = givenServer(options);
  if (server !== null) {
    return withServer(context, server, async (client) => {
      const job = await createRemotely(client, name, input, due, jobOptions);
      if (!context.json || !options.watch) await printCreated(context, client, name, job, options);
      return options.watch ? watchJob(client, job.id, context) : undefined;
    });
  }
  const project = await tryProject(context, options);
  const given = givenStore(options.store);
  const store = given ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  refuseMemory(store);
  refuseUnmakable(store);
  const isCreated = isNew(store);
  const own = project?.duly != null && isSameStore(project.duly.store, store) ? project.duly : null;

  return useDuly(context, own ?? clientDuly(context, store), store, async (client) => {
    const { duly } = client;
    const nodes = await duly.nodes();
    if (isCreated) context.warn(`There was no store at "${store}" yet; it was created.`);
    const task = taskFor(duly, name, project, nodes);
    const job = await create(task, input, due, jobOptions);
    client.changed(`/jobs/${job.id}`);
    if (!context.json || !options.watch) await printCreated(context, client, name, job, options);
    warnUnhandled(context, client, name, nodes);
    return options.watch ? watchJob(client, job.id, context) : undefined;
  });
}

/** A server creates the job; it knows the tasks of live nodes and their defaults. */
function createRemotely(
  { duly }: Client,
  name: string,
  input: unknown,
  due: Due,
  options: JobOptions,
): Promise<JobHandle> {
  const task = duly.task({ name, run: () => undefined }) as Task;
  return create(task, input, due, options);
}

/** Tasks that cannot be loaded are no reason to refuse a job: it is for others to run. */
export async function tryProject(context: CommandContext, options: CommonOptions): Promise<Project | null> {
  try {
    return await loadProject({ config: options.config, withTasks: true });
  } catch (error) {
    // Without the config it is not known which store is meant.
    const isNeeded = options.config !== undefined || givenStore(options.store) === undefined;
    const project = isNeeded ? await loadProject({ config: options.config, withTasks: false }) : null;
    context.warn(`${sentenceOf((error as Error).message)} The input is not checked here.`);
    return project;
  }
}

/** The task with its own defaults and schema if its code is here; else one that knows only the name. */
export function taskFor(duly: Duly, name: string, project: Project | null, nodes: NodeView[]): Task {
  const defined = duly.tasks.get(name);
  if (defined !== undefined) return defined as Task;
  const found = project?.tasks.find((task) => task.definition.name === name);
  if (found !== undefined) {
    defineTasks(duly, [found]);
    return duly.tasks.get(name) as Task;
  }
  // Targets are run by name, too; other names with the prefix are refused below.
  if (name === httpTaskName || name === commandTaskName) return duly.taskNamed(name);
  // Only where the demo runs: elsewhere a task of the same name is somebody's own.
  const isDemo = nodes.some((node) => node.app === demoApp);
  const demo = isDemo ? demoTasks.find((task) => task.name === name) : undefined;
  return duly.task(demo ?? { name, run: () => undefined }) as Task;
}

/** When the job is to be due, in milliseconds. */
type Due = { inMs: number } | { at: number } | null;

function readDue({ in: delay, at }: RunOptions): Due {
  if (delay !== undefined) return { inMs: readDuration(delay, '--in') };
  return at === undefined ? null : { at: readInstant(at, '--at') };
}

function create(task: Task, input: unknown, due: Due, options: JobOptions): Promise<JobHandle> {
  if (due === null) return task.now(input, options);
  return 'at' in due ? task.at(due.at, input, options) : task.in(due.inMs, input, options);
}

/** Reads what was piped in. The line end that `echo` and editors put behind a text is not a part of it. */
function readPiped(context: CommandContext, text: string): unknown {
  return readInput(context, text.replace(/\r?\n$/, ''));
}

/** Reads an input: JSON, or else a text. */
export function readInput(context: CommandContext, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = readValue(text);
  if (typeof value === 'string' && value === text && /^\s*[[{"]/.test(text)) {
    context.warn('The input begins like JSON but is not JSON; it is taken as a text.');
  }
  return value;
}

// Far above what a job may hold, with all blanks of indented JSON; whoever pipes in a disk image hears of it soon.
const stdinBytesMax = 16 * 1024 * 1024;

/** Reads all of stdin. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > stdinBytesMax) {
      throw new DulyError('input_too_large', {
        message: `The input on stdin is larger than ${stdinBytesMax} bytes.`,
        hint: 'Store large data elsewhere, and give the job its URL.',
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readJobOptions(options: RunOptions): JobOptions {
  const priority = readCount(options.priority, '--priority');
  const metadata = readMetadata(options.metadata);
  return {
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
    ...(options.key === undefined ? {} : { dedupe: { key: options.key } }),
    ...(options.serial === undefined ? {} : { serial: options.serial }),
    ...(metadata === null ? {} : { metadata }),
  };
}

/** Reads `--metadata`: objects and name=value pairs, put together; null: none was given. */
export function readMetadata(texts: readonly string[] | undefined): Record<string, unknown> | null {
  if (texts === undefined || texts.length === 0) return null;
  const result: Record<string, unknown> = {};
  for (const text of texts) {
    const isObject = text.trimStart().startsWith('{');
    const value = isObject ? readValue(text) : readPairs([text], '--metadata', ' or a JSON object');
    if (typeof value !== 'object') {
      throw usageError(
        `Expected --metadata to be name=value or a JSON object, got "${text.slice(0, 40)}", which is no JSON.`,
      );
    }
    Object.assign(result, value);
  }
  return result;
}

/** The id alone on stdout, for scripts; what a person wants to know on stderr. */
async function printCreated(
  { out, err, json }: CommandContext,
  { command }: Client,
  name: string,
  job: JobHandle,
  { watch }: RunOptions,
): Promise<void> {
  if (json) {
    printJson(out, { ...toJobJson(await job.get()), deduped: job.deduped });
    return;
  }
  out.line(job.id);
  if (job.deduped) err.line(`No new job: this one holds the key (${job.status}).`);
  else if (job.status === 'SCHEDULED') err.line(`${name} is SCHEDULED for ${job.dueAt?.toISOString()}.`);
  else if (!watch) err.line(`${name} is ${job.status}. Watch it: ${command(`watch ${job.id}`)}`);
}

function warnUnhandled(context: CommandContext, { command }: Client, name: string, nodes: NodeView[]): void {
  const workers = nodes.filter((node) => node.roles.includes('worker'));
  if (workers.length === 0) {
    context.warn(`No worker runs on this store; the job waits for one. Start one: ${command('up')}`);
    return;
  }
  const types = new Set(workers.flatMap((node) => node.tasks.map((task) => task.type)));
  if (!types.has(name)) {
    context.warn(`No live node handles "${name}"; the job waits for one.${didYouMean(name, types)}`);
  }
}
