import type { Duly, StartOptions } from '@duly/core';
import { demoJobs } from '../demo/tasks.ts';
import { invocation } from '../invocation.ts';
import type { JobLines } from '../node/job-lines.ts';
import { createNodeDuly, type NodeDuly } from '../node/node-duly.ts';
import { runNode } from '../node/run-node.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { storeArgument } from '../store.ts';
import { readCount, readList } from '../usage.ts';
import { readVersion } from '../version.ts';

/** Options that `up` and `worker` share. */
export interface NodeCommandOptions extends CommonOptions {
  concurrency?: string;
  queues?: string;
  quiet?: boolean;
}

/** `duly up`: all roles on one store, with a live line for each job. */
export async function up(shell: Shell, options: NodeCommandOptions & { demo?: boolean }): Promise<number> {
  const start = readStart(options);
  const node = await createNodeDuly(shell, { ...options, demo: options.demo ? 'always' : 'if-empty' });
  return runNode(node.duly, shell, {
    start,
    quiet: options.quiet === true,
    async onStarted({ node: id, lines }) {
      greet(shell, node, id, lines);
      const made =
        node.isDemo && (await node.duly.jobs().first()) === null ? await makeDemoJobs(node.duly) : null;
      if (!shell.json) for (const line of suggestions(shell, node, made)) lines.print(line);
    },
  });
}

/** Reads what a node is started with from the command line. */
export function readStart(options: NodeCommandOptions): StartOptions {
  const concurrency = readCount(options.concurrency, '--concurrency');
  const queues = readList(options.queues);
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(queues === undefined ? {} : { queues }),
  };
}

/** What a node says when it runs. */
export function greet(
  { out, json }: Shell,
  { duly, store, source }: NodeDuly,
  id: string,
  lines: JobLines,
): void {
  const tasks = [...duly.tasks.keys()];
  lines.started({ node: id, store, tasks });
  if (json) return;
  lines.print(`${out.paint('bold', `Duly ${readVersion()}`)} is up. Ctrl-C stops it, after what runs.`);
  lines.print(`  store  ${store}`);
  lines.print(`  node   ${id}`);
  lines.print(`  tasks  ${tasks.join(', ') || 'none'}${source === '' ? '' : ` (${source})`}`);
  lines.print('');
}

/** The ids of the jobs it made, by task. */
async function makeDemoJobs(duly: Duly): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const { task, input } of demoJobs) {
    const job = await duly.tasks.get(task)?.now(input);
    if (job !== undefined) ids.set(task, job.id);
  }
  return ids;
}

function suggestions(
  { out }: Shell,
  { duly, store, isDemo }: NodeDuly,
  made: Map<string, string> | null,
): string[] {
  const command = invocation();
  const end = storeArgument(store);
  const task = isDemo
    ? 'video_transcode uploads/holiday.mp4'
    : `${[...duly.tasks.keys()][0]} '{"any": "json"}'`;
  const id = made?.get('video_transcode');
  const lines = [
    `${command} run ${task} --watch${end}`,
    `${command} jobs ls${end}`,
    ...(id === undefined ? [] : [`${command} why ${id}${end}`]),
    `${command} dead ls${end}`,
    ...(isDemo ? [`${command} dead replay --all${end}`] : []),
  ];
  return ['In another terminal, in this folder:', ...lines.map((line) => `  ${out.paint('cyan', line)}`), ''];
}
