import { systemClock } from '@duly/core';
import { withClient } from '../client.ts';
import { printJson, toSnakeCase } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly pause ls`. */
export async function pauseLs(shell: Shell, options: CommonOptions): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const pauses = await duly.pauses();
    if (shell.json) {
      printJson(shell.out, { data: toSnakeCase(pauses) });
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
        { title: 'NAME' },
        { title: 'SINCE', align: 'right' },
        { title: 'ENDS', align: 'right' },
        { title: 'BY' },
        { title: 'NOTE', flexible: true },
      ],
      pauses.map((pause) => [
        pause.scope,
        oneLine(pause.name ?? ''),
        relative(pause.since, now),
        pause.until === null ? 'by hand' : relative(pause.until, now),
        oneLine(pause.by),
        oneLine(pause.note ?? ''),
      ]),
    );
  });
}
