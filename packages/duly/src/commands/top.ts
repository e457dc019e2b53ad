import { type Duly, type Job, jobStatuses, type NodeView, type QueueList, systemClock } from '@duly/core';
import { toJobJson, toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readDuration } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { createLiveArea } from '../output/live-area.ts';
import { percentText, progressBar, stepText } from '../output/progress-bar.ts';
import { statusStyles } from '../output/status.ts';
import { cut, cutPainted, oneLine, pad, type Terminal } from '../output/terminal.ts';
import { rough } from '../output/times.ts';

/** What one look sees. */
interface Look {
  queues: QueueList;
  nodes: NodeView[];
  running: Job[];
  hasMore: boolean;
}

// As many as a tall terminal shows.
const runningMax = 100;

/** `duly top`: queues, nodes and what runs, looked at again and again; off a terminal once. */
export async function top(
  context: CommandContext,
  options: CommonOptions & { every?: string },
): Promise<undefined> {
  const everyMs = readDuration(options.every ?? '1s', '--every', { minMs: 100 });
  await withClient(context, options, async ({ duly, store }) => {
    if (context.json || !context.out.isTerminal) {
      const seen = await look(duly);
      if (context.json) printJson(context.out, jsonOf(seen));
      else for (const line of frame(context.out, seen)) context.out.line(line);
      return;
    }
    await follow(context, duly, everyMs, store);
  });
}

/** Draws a frame at a time until Ctrl-C. A look that fails is told, and the next one may not. */
async function follow({ out }: CommandContext, duly: Duly, everyMs: number, store: string): Promise<void> {
  const area = createLiveArea(out);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    while (!ended.signal.aborted) {
      const lines = await look(duly).then(
        (seen) => frame(out, seen),
        (error: unknown) => [out.paint('red', oneLine((error as Error).message))],
      );
      const head = out.paint('dim', `${oneLine(store)}  every ${rough(everyMs)}, Ctrl-C ends it`);
      area.set(() =>
        [head, ...lines]
          .slice(0, Math.max(1, out.rows() - 1))
          .map((line) => cutPainted(line, out.columns() - 1)),
      );
      await systemClock.sleep(everyMs, ended.signal);
    }
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    area.close();
  }
}

async function look(duly: Duly): Promise<Look> {
  const [queues, nodes, page] = await Promise.all([
    duly.queues(),
    duly.nodes(),
    duly.jobs({ status: 'RUNNING' }).page({ limit: runningMax }),
  ]);
  return { queues, nodes, running: page.jobs, hasMore: page.nextCursor !== null };
}

function frame(out: Terminal, { queues, nodes, running, hasMore }: Look): string[] {
  const now = systemClock.now();
  const counts = jobStatuses
    .filter((name) => queues.status[name].count > 0)
    .map(
      (name) =>
        `${queues.status[name].count}${queues.status[name].capped ? '+' : ''} ${out.paint(statusStyles[name], name)}`,
    );
  const busy = (id: string): number => running.filter(({ node }) => node === id).length;
  return [
    counts.length === 0 ? 'There are no jobs.' : counts.join(', '),
    '',
    out.paint('bold', `${pad('QUEUE', 20)}  ${pad('READY', 8, 'right')}  OLDEST`),
    ...queues.queues.map(({ queue, pause, lanes }) => {
      const ready = lanes.reduce((sum, lane) => sum + lane.ready.count, 0);
      const oldest = Math.min(
        ...lanes.map(({ oldestDueAt }) => oldestDueAt?.getTime() ?? Number.POSITIVE_INFINITY),
      );
      const since = Number.isFinite(oldest) ? rough(Math.max(0, now - oldest)) : '';
      return `${pad(cut(oneLine(queue), 20), 20)}  ${pad(String(ready), 8, 'right')}  ${since}${pause === null ? '' : out.paint('yellow', '  paused')}`;
    }),
    '',
    out.paint('bold', `${pad('NODE', 32)}  ${pad('RUNS', 8, 'right')}  HOST:PID`),
    ...nodes.map(
      ({ id, host, pid, concurrency, notReady }) =>
        `${pad(id, 32)}  ${pad(`${hasMore ? '' : busy(id)}/${concurrency}`, 8, 'right')}  ${oneLine(host)}:${pid}${notReady === null ? '' : out.paint('yellow', `  ${oneLine(notReady)}`)}`,
    ),
    '',
    out.paint('bold', `RUNNING${hasMore ? ` (the newest ${runningMax})` : ''}`),
    ...running.map(({ id, type, progress, startedAt }) => {
      const since = startedAt === null ? '' : rough(now - startedAt.getTime());
      return `${pad(since, 8, 'right')}  ${out.paint('yellow', progressBar(progress.percent, 20))} ${percentText(progress.percent)}  ${out.paint('bold', oneLine(type))}  ${stepText(progress)}  ${out.paint('dim', id)}`;
    }),
    ...(running.length === 0 ? ['nothing'] : []),
  ];
}

function jsonOf({ queues, nodes, running, hasMore }: Look): object {
  return {
    status: queues.status,
    queues: queues.queues.map(({ queue, pause, lanes }) => ({
      queue,
      paused: pause !== null,
      ready: lanes.reduce((sum, lane) => sum + lane.ready.count, 0),
    })),
    nodes: toSnakeCase(nodes),
    running: running.map((job) => toJobJson(job)),
    more_running: hasMore,
  };
}
