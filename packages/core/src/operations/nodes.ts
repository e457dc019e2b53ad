import { dulyError } from '../base/errors.ts';
import { readName } from '../base/option-reader.ts';
import type { CountsReply, Engine, NodeInfo, NodesReply } from '../contract/engine.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import { countCap } from '../jobs/count-cap.ts';

/** A node as `duly.nodes()` lists it. */
export interface NodeView extends Omit<NodeInfo, 'startedAt'> {
  startedAt: Date;
  heartbeatAt: Date;
  drainRequestedAt: Date | null;
}

/** Jobs counted at an instant of the store. A count that was stopped at 10,000 says so. */
export interface Counts extends Pick<CountsReply, 'status' | 'lanes' | 'running'> {
  now: Date;
}

/** Gives the engine, once the store is open. What is wrong with options is told before it is opened. */
export type OpenEngine = () => Promise<Engine>;

/** See `Duly.counts`. */
export async function readCounts(open: OpenEngine): Promise<Counts> {
  const engine = await open();
  const { now, status, lanes, running } = await engine.counts({ cap: countCap });
  return { now: new Date(now), status, lanes, running };
}

/** See `Duly.nodes`. */
export async function readNodes(open: OpenEngine): Promise<NodeView[]> {
  const engine = await open();
  const { nodes } = await engine.nodes({
    heartbeat: null,
    leave: null,
    drain: null,
    forgetAfterMs: nodeSilentMs,
  });
  return nodes.map(toNodeView);
}

/** See `Duly.drainNode`. */
export async function drainNode(open: OpenEngine, id: string, actor: string): Promise<void> {
  const drain = { id: readName(id, 'id'), actor };
  const engine = await open();
  const { nodes } = await engine.nodes({ heartbeat: null, leave: null, drain, forgetAfterMs: nodeSilentMs });
  if (nodes.some((node) => node.id === id)) return;
  throw dulyError('node_not_found', {
    message: `No node has the id "${id}".`,
    hint: 'Nodes that left, or were silent for 40 s, are not known any more.',
    details: { id },
  });
}

function toNodeView(node: NodesReply['nodes'][number]): NodeView {
  return {
    ...node,
    startedAt: new Date(node.startedAt),
    heartbeatAt: new Date(node.heartbeatAt),
    drainRequestedAt: node.drainRequestedAt === null ? null : new Date(node.drainRequestedAt),
  };
}
