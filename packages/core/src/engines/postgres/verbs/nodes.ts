import type { NodeInfo, NodesInput, NodesReply } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export async function nodes(
  work: Work,
  { now: stamp, beat, leave, drain, forgetAfterMs }: NodesInput,
): Promise<NodesReply> {
  const reply = await work.call<{
    nodes: { info: string; beatAt: number; drainRequestedAt: number | null }[];
  }>(statements.call.nodes, [
    stamp ?? null,
    beat?.id ?? null,
    beat === null ? null : JSON.stringify(beat),
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
