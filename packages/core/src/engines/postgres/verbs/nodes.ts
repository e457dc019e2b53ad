import type { NodeInfo, NodesInput, NodesReply } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export async function nodes(
  work: Work,
  { now: stamp, heartbeat, leave, drain, forgetAfterMs }: NodesInput,
): Promise<NodesReply> {
  const reply = await work.call<{
    nodes: { info: string; heartbeatAt: number; drainRequestedAt: number | null }[];
  }>(statements.call.nodes, [
    stamp ?? null,
    heartbeat?.id ?? null,
    heartbeat === null ? null : JSON.stringify(heartbeat),
    leave,
    drain?.id ?? null,
    drain?.actor ?? null,
    forgetAfterMs,
  ]);
  return {
    now: reply.now,
    nodes: reply.nodes.map(({ info, ...times }) => ({ ...(JSON.parse(info) as NodeInfo), ...times })),
  };
}
