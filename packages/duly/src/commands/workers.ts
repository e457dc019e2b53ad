import { systemClock } from '@duly/core';
import { withClient } from '../client.ts';
import { invocation } from '../invocation.ts';
import { printJson, toSnakeCase } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly workers`. */
export async function workers(shell: Shell, options: CommonOptions): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const nodes = await duly.nodes();
    if (shell.json) {
      printJson(shell.out, { data: toSnakeCase(nodes) });
      return;
    }
    if (nodes.length === 0) {
      shell.err.line(`No node is live. Start one: ${invocation()} up`);
      return;
    }
    const now = systemClock.now();
    printTable(
      shell.out,
      [
        { title: 'NODE' },
        { title: 'APP' },
        { title: 'HOST:PID' },
        { title: 'RUNNING', align: 'right' },
        { title: 'UP SINCE', align: 'right' },
        { title: 'BEAT', align: 'right' },
        { title: 'TAKES', flexible: true },
      ],
      nodes.map((node) => [
        node.id,
        oneLine(node.app),
        `${oneLine(node.host)}:${node.pid}`,
        `${node.running}/${node.concurrency}`,
        relative(node.startedAt, now),
        relative(node.beatAt, now),
        takes(node),
      ]),
    );
  });
}

function takes(node: {
  roles: string[];
  tasks: { type: string }[];
  queues: string[] | null;
  notReady: string | null;
  drainRequestedAt: Date | null;
}): string {
  if (node.drainRequestedAt !== null) return 'nothing: it drains';
  if (node.notReady !== null) return `nothing: ${oneLine(node.notReady)}`;
  const queues = node.queues === null ? '' : ` from ${node.queues.join(', ')}`;
  return oneLine(`${node.tasks.map((task) => task.type).join(', ')}${queues}`);
}
