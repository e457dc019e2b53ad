import type { NodeInfo, NodesInput, NodesReply } from '../../../contract/engine.ts';
import { audit } from '../audit.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** Whether a call only lists. */
export function isLook({ heartbeat, leave, drain }: NodesInput): boolean {
  return heartbeat === null && leave === null && drain === null;
}

/** See the contract. */
export function nodes(work: Work, input: NodesInput): Omit<NodesReply, 'now'> {
  if (input.heartbeat !== null) {
    const { id } = input.heartbeat;
    work.run(statements.node.heartbeat, {
      id,
      info: JSON.stringify(input.heartbeat),
      now: work.now,
      steady: work.steady,
    });
  }
  if (input.leave !== null) work.run(statements.node.leave, input.leave);
  if (input.drain !== null) {
    const { id, actor } = input.drain;
    if (work.run(statements.node.drain, work.now, id) > 0) {
      audit(work, { actor, action: 'drain', subject: `node:${id}`, before: null, after: null, note: null });
    }
  }
  const since = work.steady - input.forgetAfterMs;
  const rows = work.all<NodeRow>(statements.node.list);
  const [live, silent] = [
    rows.filter(({ steady }) => steady >= since),
    rows.filter(({ steady }) => steady < since),
  ];
  // Whoever only looks does not write, and so waits for nobody.
  if (silent.length > 0 && !isLook(input)) work.run(statements.node.forget, since);
  return {
    nodes: live.map(({ info, steady: _, ...times }) => ({ ...(JSON.parse(info) as NodeInfo), ...times })),
  };
}

interface NodeRow {
  info: string;
  heartbeatAt: number;
  steady: number;
  drainRequestedAt: number | null;
}
