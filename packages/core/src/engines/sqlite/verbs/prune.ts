import type { PruneInput, PruneReply } from '../../../contract/engine.ts';
import { compactLedger } from '../compact-ledger.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

type PrunedJob = [seq: number, id: string, createdAt: number];

/** See the contract. */
export function prune(work: Work, input: PruneInput): Omit<PruneReply, 'now'> {
  const { now, steady } = work;
  const { limit } = input;
  const jobs = work.tuples<PrunedJob>(statements.prune.jobs, now, limit);
  if (jobs.length > 0) removeJobs(work, jobs);
  const keys = work.run(statements.dedupe.prune, now, limit);
  const values = work.run(statements.value.prune, now, limit);
  const rows = [
    work.run(statements.value.pruneJournal, now, limit),
    compactLedger(work, { before: now - input.ledgerMs, starts: input.compactStarts ?? [], limit }),
    work.run(statements.audit.prune, { before: now - input.auditMs, limit }),
    work.run(statements.changes.prune, { before: now - input.changesMs, limit }),
    // A lock that ended a day ago tells nobody anything any more; its fence lives on in the store's counter.
    work.run(statements.lock.prune, steady - 86_400_000, limit),
  ];
  const counts = [jobs.length, keys, values, ...rows];
  return {
    jobs: jobs.length,
    keys,
    values,
    rows: rows.reduce((sum, count) => sum + count, 0),
    more: counts.some((count) => count >= limit),
  };
}

function removeJobs(work: Work, jobs: PrunedJob[]): void {
  work.run(statements.prune.removeJobs, JSON.stringify(jobs.map(([seq]) => seq)));
  // So that a reader can tell an id that is past its retention from one that never was.
  work.run(statements.prune.remember, Math.max(...jobs.map(([, , createdAt]) => createdAt)));
  const ids = JSON.stringify(jobs.map(([, id]) => id));
  work.run(statements.prune.removeLogs, ids);
  work.run(statements.prune.removeChildren, ids);
  work.run(statements.prune.removeJournal, ids);
}
