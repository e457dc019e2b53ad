import { systemClock, toSnakeCase } from '@duly/core';
import type { CommonOptions, Shell } from '../cli/shell.ts';
import { withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';

/** `duly pause ls`. */
export async function pauseLs(shell: Shell, options: CommonOptions): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const pauses = await duly.pauses();
    if (shell.json) {
      printJson(shell.out, listJson(toSnakeCase(pauses) as unknown[]));
      return;
    }
    if (pauses.length === 0) {
      shell.err.line('Nothing is paused.');
      return;
    }
    const now = systemClock.now();
    printTable(
      shell.out,
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
