import { type Count, type Duly, jobStatuses, type Pause, systemClock, toSnakeCase } from '@duly/core';
import { withClient } from '../client.ts';
import { listJson, printJson } from '../output/json.ts';
import { statusStyles } from '../output/status.ts';
import { type Cell, printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import type { CommonOptions, Shell } from '../shell.ts';

interface Lane {
  type: string;
  version: number;
  ready: Count;
  oldestDueAt: Date | null;
}

/** A queue as it is listed: known because something is ready in it, a node takes from it, or it is paused. */
interface Queue {
  queue: string;
  paused: boolean;
  lanes: Lane[];
}

/** `duly queues`. */
export async function queues(shell: Shell, options: CommonOptions): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const [{ status, lanes }, nodes, pauses] = await Promise.all([
      duly.counts(),
      duly.nodes(),
      duly.pauses(),
    ]);
    const names = new Set([
      ...lanes.map((lane) => lane.queue),
      ...nodes.flatMap((node) => node.queues ?? []),
      ...pauses.flatMap(({ scope, name }) => (scope === 'queue' ? [name as string] : [])),
    ]);
    const list = [...names].sort().map(
      (queue): Queue => ({
        queue,
        paused: isPaused(pauses, queue),
        lanes: lanes
          .filter((lane) => lane.queue === queue)
          .map(({ type, version, ready, oldestDueAt }) => ({
            type,
            version,
            ready,
            oldestDueAt: oldestDueAt === null ? null : new Date(oldestDueAt),
          })),
      }),
    );
    if (shell.json) {
      const data = toSnakeCase(list) as unknown[];
      printJson(shell.out, { ...listJson(data), status });
      return;
    }
    printStatuses(shell, status);
    if (list.length > 0) printQueues(shell, list, pauses);
  });
}

function printQueues({ out }: Shell, list: readonly Queue[], pauses: readonly Pause[]): void {
  const now = systemClock.now();
  const paused = (is: boolean): Cell => (is ? { text: 'paused', style: 'yellow' } : '');
  out.line();
  printTable(
    out,
    [
      { title: 'QUEUE', widthMin: 12 },
      { title: 'TYPE', widthMin: 12 },
      { title: 'READY', align: 'right' },
      { title: 'OLDEST', align: 'right', leaveOut: 1 },
      { title: 'PAUSED' },
    ],
    list.flatMap(({ queue, lanes }): Cell[][] =>
      lanes.length === 0
        ? [[oneLine(queue), '', '0', '', paused(isPaused(pauses, queue))]]
        : lanes.map((lane) => [
            oneLine(queue),
            oneLine(lane.version === 1 ? lane.type : `${lane.type} v${lane.version}`),
            countText(lane.ready),
            lane.oldestDueAt === null ? '' : relative(lane.oldestDueAt, now),
            paused(isPaused(pauses, queue, lane.type)),
          ]),
    ),
  );
}

function isPaused(pauses: readonly Pause[], queue: string, type?: string): boolean {
  return pauses.some(
    ({ scope, name }) =>
      scope === 'all' || (scope === 'queue' && name === queue) || (scope === 'task' && name === type),
  );
}

function printStatuses({ out }: Shell, status: Awaited<ReturnType<Duly['counts']>>['status']): void {
  const parts = jobStatuses
    .filter((name) => status[name].count > 0)
    .map((name) => `${countText(status[name])} ${out.paint(statusStyles[name], name)}`);
  out.line(parts.length === 0 ? 'There are no jobs.' : parts.join(', '));
}

function countText({ count, capped }: Count): string {
  return capped ? `${count}+` : String(count);
}
