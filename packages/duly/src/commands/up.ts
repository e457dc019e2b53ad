import { type Duly, internalQueue, type NodeView, type StartOptions } from '@duly/core';
import { builtInPrefix, commandTaskName, withoutPassword } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount, readList, usageError } from '../cli/usage.ts';
import { readVersion } from '../cli/version.ts';
import { publishServingPlace } from '../client/serving-place.ts';
import { commandFor, isSameStore, shellWord } from '../client/store.ts';
import { demoJobs } from '../demo/tasks.ts';
import type { JobLines } from '../node/job-lines.ts';
import { createNodeDuly, type NodeDuly } from '../node/node-duly.ts';
import { runNode } from '../node/run-node.ts';
import { type Served, type ServeOptions, serve } from '../node/serve.ts';
import { sharingProblem } from '../node/sharing.ts';
import { printError } from '../output/errors.ts';
import { oneLine, wrap } from '../output/terminal.ts';
import { beginGeneration, followModules } from '../project/followed-modules.ts';
import { watchProject } from '../project/watch-project.ts';

/** Options that `up` and `worker` share. */
export interface NodeCommandOptions extends CommonOptions {
  concurrency?: string;
  queues?: string[];
  quiet?: boolean;
}

/** Options of `up` alone. */
export interface UpOptions extends NodeCommandOptions {
  demo?: boolean;
  /** false: `--no-server`. */
  server?: boolean;
  host?: string;
  port?: string;
  allowHost?: string[];
  allowTargets?: string[];
  trustProxy?: boolean;
  rateLimit?: string;
  allowCommands?: boolean;
  /** false: `--no-tasks`. */
  tasks?: boolean;
  /** false: `--no-reload`. */
  reload?: boolean;
}

/** `duly up`: all roles and the server on one store, with a live line for each job. */
export async function up(context: CommandContext, options: UpOptions): Promise<number> {
  const serving = readServing(options, context.out.isTerminal);
  const start = readStart(options);
  // Whoever serves also delivers webhooks and alerts, whichever queues it was told to take from.
  if (serving !== null && start.queues !== undefined) start.queues = [...start.queues, internalQueue];
  let served: Served | null = null;
  let watching: { close(): void } | null = null;
  const { allowCommands, hasTasks, demo, reloads } = readMode(options);
  if (reloads) followModules();
  const load = (): Promise<NodeDuly> =>
    createNodeDuly(context, {
      ...options,
      demo,
      withTasks: hasTasks,
      withoutTasks: allowCommands || !hasTasks,
      allowCommands,
    });
  const node = await load();
  return runNode(node.duly, context, {
    start,
    quiet: options.quiet === true,
    close: async () => {
      watching?.close();
      await served?.close();
    },
    async onStarted({ node: id, lines, goOnWith }) {
      await greet(context, node, id, lines);
      const created = node.isDemo ? await createDemoJobs(node.duly) : null;
      if (serving !== null) {
        served = await serve(node.duly, serving);
        // Only commands that name the dashboard's page miss it.
        await publishServingPlace(node.duly, served.url).catch(() => {});
        lines.serving({ url: served.url, key: served.firstKey, key_file: served.firstKeyFile });
        if (!context.json) for (const line of servingText(context, served, node)) lines.print(line);
      }
      const problem = sharingProblem(node.store, await node.duly.open());
      if (reloads) {
        watching = watchForChanges({
          config: options.config,
          async reload() {
            if (problem !== null) {
              lines.print(
                'Files have changed. Start it again to use them: no second node can open this store.',
              );
              return;
            }
            beginGeneration();
            const next = await load();
            if (!isSameStore(next.store, node.store)) {
              await next.duly.stop();
              lines.print('The config names another store now. Start it again to use it.');
              return;
            }
            await goOnWith(next.duly);
            if (serving !== null && served !== null) {
              const { port } = served;
              await served.close();
              served = await serve(next.duly, { ...serving, port });
            }
            const tasks = ownTasks(next.duly).map(oneLine).join(', ');
            lines.print(`Reloaded: ${tasks} (${next.source}). What ran before may finish.`);
          },
          onError(error) {
            printError(context.err, error, context.json);
            lines.print('Not reloaded: it goes on with the tasks it had.');
          },
        });
      }
      if (context.json) return;
      const text =
        problem === null
          ? suggestions(context, node, created)
          : [...wrap(problem, context.out.columns() - 1), ''];
      for (const line of text) lines.print(line);
    },
  });
}

/** What runs here, and whether it is loaded again when files change. */
function readMode(options: UpOptions) {
  const allowCommands = options.allowCommands === true;
  // Whoever wants commands to be run has jobs of their own, with or without tasks in code: a demo would be in the way.
  const hasTasks = options.tasks !== false;
  if (!hasTasks && options.demo) throw usageError('Give --demo or --no-tasks, not both.');
  const demo: 'always' | 'never' | 'if-empty' = options.demo
    ? 'always'
    : allowCommands || !hasTasks
      ? 'never'
      : 'if-empty';
  const reloads = options.reload !== false && demo !== 'always' && hasTasks;
  return { allowCommands, hasTasks, demo, reloads };
}

/** Reloads when files have changed, one change after the other. */
function watchForChanges(options: {
  config: string | undefined;
  reload(): Promise<void>;
  onError(error: unknown): void;
}): { close(): void } {
  let done = Promise.resolve();
  let isWaiting = false;
  return watchProject(options.config, () => {
    // One that waits its turn will see this change too.
    if (isWaiting) return;
    isWaiting = true;
    done = done
      .then(() => {
        isWaiting = false;
        return options.reload();
      })
      .catch(options.onError);
  });
}

/** Reads what a node is started with from the command line. */
export function readStart(options: NodeCommandOptions): StartOptions {
  const concurrency = readCount(options.concurrency, '--concurrency');
  const queues = readList(options.queues, '--queues');
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(queues === undefined ? {} : { queues }),
  };
}

function readServing(options: UpOptions, mayPrintKey: boolean): ServeOptions | null {
  if (options.server === false) return null;
  const port = readCount(options.port, '--port');
  if (port !== undefined && (port < 0 || port > 65_535)) {
    throw usageError(`Expected --port to be 0 to 65535, got "${options.port}".`);
  }
  const rateLimit = readCount(options.rateLimit, '--rate-limit');
  if (rateLimit !== undefined && rateLimit < 0) {
    throw usageError(
      `Expected --rate-limit to be a number of requests per second, or 0 for no limit, got "${options.rateLimit}".`,
    );
  }
  return {
    host: options.host ?? '127.0.0.1',
    port: port ?? null,
    allowHosts: readList(options.allowHost, '--allow-host') ?? [],
    trustProxy: options.trustProxy === true,
    rateLimit: rateLimit ?? null,
    allowTargets: readList(options.allowTargets, '--allow-targets') ?? [],
    allowCommands: options.allowCommands === true,
    mayPrintKey,
  };
}

/** Where the server is, the first key, and a call that creates a first job. */
function servingText(
  { out }: CommandContext,
  { url, firstKey, firstKeyFile, movedFrom }: Served,
  { duly, store, isDemo }: NodeDuly,
): string[] {
  const tasks = ownTasks(duly);
  const body = isDemo
    ? { type: 'video_transcode', input: 's3://uploads/video_789.mp4' }
    : tasks[0] === undefined && duly.tasks.has(commandTaskName)
      ? { target: { command: { argv: ['echo', 'hello'] } } }
      : { type: tasks[0] ?? 'hello', input: { any: 'json' } };
  const bearer =
    firstKey === null ? '"Authorization: Bearer $DULY_KEY"' : `'Authorization: Bearer ${firstKey}'`;
  const call = `curl -s ${url}/api/jobs -H ${bearer} -H 'Content-Type: application/json' -d ${shellWord(JSON.stringify(body))}`;
  return [
    ...(movedFrom === null
      ? []
      : [out.paint('yellow', `Port ${movedFrom} is taken, so it listens on another.`)]),
    `Dashboard: ${out.paint('cyan', firstKey === null ? url : `${url}/signin?key=${firstKey}`)}`,
    firstKeyFile !== null
      ? `It asks for a key. The first one, which may do everything, is in ${firstKeyFile}: store it and delete the file.`
      : firstKey === null
        ? `It asks for your key. Another one: ${commandFor(store, 'keys add --scope admin')}`
        : 'The key in it is shown only this once: store it safely, it may do everything.',
    'A first job over HTTP:',
    `  ${out.paint('cyan', call)}`,
    '',
  ];
}

/** The names of the tasks that Duly did not bring along itself. */
function ownTasks(duly: Duly): string[] {
  return [...duly.tasks.keys()].filter((name) => !name.startsWith(builtInPrefix));
}

/** What a node says when it runs: what it is, and which jobs wait that nobody handles. */
export async function greet(
  { out, json }: CommandContext,
  { duly, store, source }: NodeDuly,
  id: string,
  lines: JobLines,
): Promise<void> {
  const nodes = await duly.nodes();
  const self = nodes.find((node) => node.id === id) as NodeView;
  const tasks = ownTasks(duly);
  const { roles, queues, concurrency } = self;
  const shownStore = withoutPassword(store);
  lines.started({ node: id, store: shownStore, tasks, roles, queues, concurrency });
  if (json) return;
  const isWorker = roles.includes('worker');
  const shown = duly.tasks.has(commandTaskName) ? [...tasks, 'commands'] : tasks;
  const facts: [string, string][] = [
    ['store', shownStore],
    ['node', id],
    ['roles', roles.join(', ')],
    ...(isWorker
      ? ([
          ['tasks', `${shown.map(oneLine).join(', ') || 'none'}${source === '' ? '' : ` (${source})`}`],
          ['queues', queues === null ? 'all' : oneLine(queues.join(', '))],
          ['runs', `${concurrency} at a time`],
        ] as [string, string][])
      : []),
  ];
  lines.print(`${out.paint('bold', `Duly ${readVersion()}`)} is up. Ctrl-C stops it, after what runs.`);
  for (const [name, value] of facts) lines.print(`  ${name.padEnd(6)} ${value}`);
  for (const line of await unhandled(duly, nodes)) lines.print(out.paint('yellow', line));
  lines.print('');
}

/** Which jobs are due and wait for a task that no live node handles. */
async function unhandled(duly: Duly, nodes: readonly NodeView[]): Promise<string[]> {
  const handled = new Set(nodes.flatMap((node) => node.tasks.map((task) => task.type)));
  const waiting = new Map<string, { count: number; capped: boolean }>();
  for (const { type, ready } of (await duly.counts()).lanes) {
    if (handled.has(type) || ready.count === 0) continue;
    const { count = 0, capped = false } = waiting.get(type) ?? {};
    waiting.set(type, { count: count + ready.count, capped: capped || ready.capped });
  }
  return [...waiting].map(
    ([type, { count, capped }]) =>
      `  ${count}${capped ? ' or more' : ''} ${count === 1 ? 'job of' : 'jobs of'} "${oneLine(type)}" ${count === 1 ? 'waits' : 'wait'}: no live node handles it`,
  );
}

/**
 * Creates the jobs of the demo in a store that has none of them, before the server is loaded: the first of them runs while it is. The ids, by type; null: they are there
 * already. The schedule may have created a job by now, if this is a full minute.
 */
async function createDemoJobs(duly: Duly): Promise<Map<string, string> | null> {
  if ((await duly.jobs({ type: demoJobs.map(({ type }) => type) }).first()) !== null) return null;
  const ids = new Map<string, string>();
  for (const { type, input } of demoJobs) {
    const job = await duly.tasks.get(type)?.now(input);
    if (job !== undefined) ids.set(type, job.id);
  }
  return ids;
}

function suggestions(
  { out }: CommandContext,
  { duly, store, isDemo }: NodeDuly,
  created: Map<string, string> | null,
): string[] {
  const [task] = ownTasks(duly);
  const first = isDemo
    ? 'run video_transcode uploads/holiday.mp4 --watch'
    : task === undefined
      ? 'init'
      : `run ${shellWord(task)} '{"any": "json"}' --watch`;
  const id = created?.get('video_transcode');
  const lines = [
    first,
    'jobs ls',
    ...(id === undefined ? [] : [`why ${id}`]),
    'dead ls',
    ...(isDemo ? ['dead retry --all'] : []),
    'schedules ls',
  ].map((words) => commandFor(store, words));
  return ['In another terminal, in this folder:', ...lines.map((line) => `  ${out.paint('cyan', line)}`), ''];
}
