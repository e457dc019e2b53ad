import { systemClock } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';

/** `duly pause ls`. */
export async function pauseLs(context: CommandContext, options: CommonOptions): Promise<undefined> {
  await withClient(context, options, async ({ duly }) => {
    const pauses = await duly.pauses();
    if (context.json) {
      printJson(context.out, listJson(toSnakeCase(pauses) as unknown[]));
      return;
    }
    if (pauses.length === 0) {
      context.err.line('Nothing is paused.');
      return;
    }
    const now = systemClock.now();
    printTable(
      context.out,
      [
        { title: 'SCOPE' },
        { title: 'NAME', widthMin: 12 },
        { title: 'SINCE', align: 'right', leaveOut: 1 },
        { title: 'ENDS', align: 'right' },
        { title: 'BY', widthMin: 8, leaveOut: 2 },
        { title: 'NOTE', widthMin: 12 },
      ],
      pauses.map((pause) => [
        pause.scope,
        oneLine(pause.name ?? ''),
        relative(pause.since, now),
        pause.until === null ? 'when resumed' : relative(pause.until, now),
        oneLine(pause.by),
        oneLine(pause.note ?? ''),
      ]),
    );
  });
}
