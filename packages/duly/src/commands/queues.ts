import { type Count, type Duly, jobStatuses, systemClock } from '@duly/core';
import { withClient } from '../client.ts';
import { printJson, toSnakeCase } from '../output/json.ts';
import { statusStyles } from '../output/status.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly queues`. */
export async function queues(shell: Shell, options: CommonOptions): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const [counts, pauses] = await Promise.all([duly.counts(), duly.pauses()]);
    const lanes = counts.lanes.map((lane) => ({
      ...lane,
      oldestDueAt: lane.oldestDueAt === null ? null : new Date(lane.oldestDueAt),
    }));
    if (shell.json) {
      printJson(shell.out, toSnakeCase({ status: counts.status, lanes, pauses }));
      return;
    }
    printStatuses(shell, counts.status);
    if (lanes.length === 0) return;
    const isPaused = (queue: string, type: string): boolean =>
      pauses.some(
        ({ scope, name }) =>
          scope === 'all' || (scope === 'queue' && name === queue) || (scope === 'task' && name === type),
      );
    const now = systemClock.now();
    shell.out.line();
    printTable(
      shell.out,
      [
        { title: 'QUEUE' },
        { title: 'TYPE' },
        { title: 'READY', align: 'right' },
        { title: 'OLDEST', align: 'right' },
        { title: 'PAUSED' },
      ],
      lanes.map((lane) => [
        oneLine(lane.queue),
        oneLine(lane.version === 1 ? lane.type : `${lane.type} v${lane.version}`),
        countText(lane.ready),
        lane.oldestDueAt === null ? '' : relative(lane.oldestDueAt, now),
        isPaused(lane.queue, lane.type) ? { text: 'paused', style: 'yellow' } : '',
      ]),
    );
  });
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
