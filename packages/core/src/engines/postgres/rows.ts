import type { Gate, JobRecord, JobSlot } from '../../contract/engine.ts';
import { type JobColumns, jobRecordOf } from '../shared/job-row.ts';

/** A row of the views of live and ended jobs. */
export interface JobRow extends JobColumns {
  dead: boolean;
  lease_until: number | null;
  slot_details: string | null;
  gates: Gate[] | null;
}

/** A row as the contract has it. */
export function toJobRecord(row: JobRow, now: number): JobRecord {
  return jobRecordOf(row, now, {
    leaseUntilAt: row.lease_until,
    gates: row.gates ?? [],
    slot: toSlot(row.slot, row.slot_details),
    dead: row.dead,
  });
}

/** A slot from its two columns: its details can be told anew and so stand apart. */
export function toSlot(slot: string | null, details: string | null): JobSlot | null {
  return slot === null ? null : { ...(JSON.parse(slot) as Omit<JobSlot, 'details'>), details };
}
