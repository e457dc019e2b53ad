import { type Duly, type NodeView, systemClock } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { type Cell, printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative, rough } from '../output/times.ts';

// A node sends a heartbeat every 10 s. One that has missed a heartbeat and half of the next may be gone; after 40 s it is no longer listed.
const silentMs = 15_000;
// More running jobs than this are not counted one by one; then each node's own number, as old as its last heartbeat, has to do.
const countMax = 1_000;

/** `duly nodes`. */
export async function nodes(context: CommandContext, options: CommonOptions): Promise<undefined> {
  await withClient(context, options, async ({ duly, command }) => {
    const live = await countRunning(duly, await duly.nodes());
    const now = systemClock.now();
    if (context.json) {
      const data = live.map((node) => ({
        ...(toSnakeCase(node) as object),
        silent: now - node.heartbeatAt.getTime() > silentMs,
      }));
      printJson(context.out, listJson(data));
      return;
    }
    if (live.length === 0) {
      context.err.line(`No node is live. Start one: ${command('up')}`);
      return;
    }
    printTable(
      context.out,
      [
        { title: 'NODE' },
        { title: 'APP', widthMin: 8, leaveOut: 2 },
        { title: 'HOST:PID', widthMin: 10, leaveOut: 3 },
        { title: 'RUNNING', align: 'right' },
        { title: 'UP SINCE', align: 'right', leaveOut: 1 },
        { title: 'HEARTBEAT', align: 'right', leaveOut: 4 },
        { title: 'TAKES', widthMin: 12 },
      ],
      live.map((node) => [
        node.id,
        oneLine(node.app),
        `${oneLine(node.host)}:${node.pid}`,
        `${node.running}/${node.concurrency}`,
        relative(node.startedAt, now),
        relative(node.heartbeatAt, now),
        takes(node, now),
      ]),
    );
  });
}

/** The nodes with what they run now by the store; what a node says of itself is as old as its last heartbeat. */
async function countRunning(duly: Duly, nodes: NodeView[]): Promise<NodeView[]> {
  const { jobs, nextCursor } = await duly.jobs({ status: 'RUNNING' }).page({ limit: countMax });
  if (nextCursor !== null) return nodes;
  return nodes.map((node) => ({ ...node, running: jobs.filter((job) => job.node === node.id).length }));
}

function takes(node: NodeView, now: number): Cell {
  const silence = now - node.heartbeatAt.getTime();
  if (silence > silentMs) return { text: `silent for ${rough(silence)}`, style: 'red' };
  if (node.drainRequestedAt !== null) return { text: 'nothing: it drains', style: 'yellow' };
  if (!node.roles.includes('worker')) return `nothing: it plays ${node.roles.join(', ')}`;
  if (node.notReady !== null) return { text: `nothing: ${oneLine(node.notReady)}`, style: 'yellow' };
  const queues = node.queues === null ? '' : ` from ${node.queues.join(', ')}`;
  return oneLine(`${node.tasks.map((task) => task.type).join(', ')}${queues}`);
}
