import type { Gate, JobRecord, JobSlot } from '../../contract/engine.ts';
import { type JobColumns, jobRecordOf } from '../shared/job-row.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** A row of `jobs` or `finished`; the columns that only one of them has are optional. */
export interface JobRow extends JobColumns {
  rank_offset: number;
  finished_at?: number;
  dead?: number;
  prune_at?: number;
  lease_until?: number | null;
  schedule_id: string | null;
}

/** A row as the contract has it. */
export function toJobRecord(work: Work, row: JobRow): JobRecord {
  return jobRecordOf(row, work.now, {
    // Leases run in steady time; a reader knows only the store's.
    leaseUntilAt: row.lease_until == null ? null : row.lease_until - work.steady + work.now,
    gates:
      row.status === 'BLOCKED'
        ? work.all<Gate>(statements.job.gatesOf, row.seq).map((gate) => ({ ...gate }))
        : [],
    slot: row.slot === null ? null : (JSON.parse(row.slot) as JobSlot),
    dead: row.dead === 1,
  });
}
