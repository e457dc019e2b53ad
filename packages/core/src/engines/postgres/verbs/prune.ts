import type { PruneInput, PruneReply } from '../../../engine.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export async function prune(work: Work, input: PruneInput): Promise<PruneReply> {
  const { now, jobs, keys, values, rows, more } = await work.call<PruneReply>(statements.call.prune, [
    input.now ?? null,
    input.limit,
    input.ledgerMs,
    JSON.stringify(input.foldStarts ?? []),
    input.auditMs,
    input.changesMs,
  ]);
  return { now, jobs, keys, values, rows, more };
}
