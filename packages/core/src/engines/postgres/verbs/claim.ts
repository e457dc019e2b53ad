import type { ClaimedJob, Origin } from '../../../engine.ts';
import { toSlot } from '../rows.ts';
import type { Work } from '../work.ts';

/** A job under lease as the store lists it. */
export type LeasedRow = [
  id: string,
  type: string,
  version: number,
  queue: string,
  tenant: string | null,
  priority: number,
  input: string,
  metadata: string | null,
  policy: string,
  fence: number,
  attempt: number,
  spent: number,
  max_attempts: number,
  losses: number,
  begun_losses: number,
  begun: boolean,
  created_at: number,
  due_at: number,
  claimed_at: number,
  origin: Origin,
  slot: string | null,
  slot_details: string | null,
  parent_id: string | null,
  parent_key: string | null,
  cancel_requested_at: number | null,
];

/** Leased rows as the contract has them. */
export function toClaimedJobs(work: Work, rows: LeasedRow[]): ClaimedJob[] {
  return rows.map((row) => ({
    id: row[0],
    type: row[1],
    version: row[2],
    queue: row[3],
    tenant: row[4],
    priority: row[5],
    input: row[6],
    metadata: row[7],
    policy: work.policy(row[8]),
    fence: row[9],
    attempt: row[10],
    spent: row[11],
    maxAttempts: row[12],
    losses: row[13],
    begunLosses: row[14],
    begun: row[15],
    createdAt: row[16],
    dueAt: row[17],
    claimedAt: row[18],
    origin: row[19],
    slot: toSlot(row[20], row[21]),
    parent: row[22] === null ? null : { id: row[22], key: row[23] },
    cancelRequestedAt: row[24],
  }));
}
