import { type Count, type Duly, jobStatuses, type Pause, type QueueView, systemClock } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { statusStyles } from '../output/status.ts';
import { type Cell, printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';

/** `duly queues`. */
export async function queues(context: CommandContext, options: CommonOptions): Promise<undefined> {
  await withClient(context, options, async ({ duly }) => {
    const { queues: list, status } = await duly.queues();
    if (context.json) {
      const data = list.map(({ queue, pause, lanes }) => ({
        queue,
        paused: pause !== null,
        lanes: toSnakeCase(lanes.map(({ pause: _, ...lane }) => lane)),
      }));
      printJson(context.out, { ...listJson(data), status });
      return;
    }
    printStatuses(context, status);
    if (list.length > 0) printQueues(context, list);
  });
}

function printQueues({ out }: CommandContext, list: readonly QueueView[]): void {
  const now = systemClock.now();
  const paused = (pause: Pause | null): Cell => (pause === null ? '' : { text: 'paused', style: 'yellow' });
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
    list.flatMap(({ queue, pause, lanes }): Cell[][] =>
      lanes.length === 0
        ? [[oneLine(queue), '', '0', '', paused(pause)]]
        : lanes.map((lane) => [
            oneLine(queue),
            oneLine(lane.version === 1 ? lane.type : `${lane.type} v${lane.version}`),
            countText(lane.ready),
            lane.oldestDueAt === null ? '' : relative(lane.oldestDueAt, now),
            paused(lane.pause),
          ]),
    ),
  );
}

function printStatuses({ out }: CommandContext, status: Awaited<ReturnType<Duly['counts']>>['status']): void {
  const parts = jobStatuses
    .filter((name) => status[name].count > 0)
    .map((name) => `${countText(status[name])} ${out.paint(statusStyles[name], name)}`);
  out.line(parts.length === 0 ? 'There are no jobs.' : parts.join(', '));
}

function countText({ count, capped }: Count): string {
  return capped ? `${count}+` : String(count);
}
