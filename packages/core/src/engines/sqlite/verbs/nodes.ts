import type { NodeInfo, NodesInput, NodesReply } from '../../../engine.ts';
import { audit } from '../audit.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export function nodes(work: Work, input: NodesInput): Omit<NodesReply, 'now'> {
  if (input.beat !== null) {
    const { id } = input.beat;
    work.run(statements.node.beat, {
      id,
      info: JSON.stringify(input.beat),
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
  work.run(statements.node.forget, work.steady - input.forgetAfterMs);
  const rows = work.all<{ info: string; beatAt: number; drainRequestedAt: number | null }>(
    statements.node.list,
  );
  return { nodes: rows.map(({ info, ...times }) => ({ ...(JSON.parse(info) as NodeInfo), ...times })) };
}
