import type { JobFieldValue } from '../../contract/engine.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** The columns of a live job that transitions need. */
export interface JobStateRow {
  seq: number;
  // {{job.state | %column: JobFieldValue<'%field'>; | policy=policy: string;}}
  id: JobFieldValue<'id'>;
  type: JobFieldValue<'type'>;
  tenant: JobFieldValue<'tenant'>;
  status: JobFieldValue<'status'>;
  reason: JobFieldValue<'reason'>;
  rank_offset: JobFieldValue<'rankOffsetMs'>;
  due_at: JobFieldValue<'dueAt'>;
  expire_at: JobFieldValue<'expireAt'>;
  created_at: JobFieldValue<'createdAt'>;
  started_at: JobFieldValue<'startedAt'>;
  claimed_at: JobFieldValue<'claimedAt'>;
  begun_at: JobFieldValue<'begunAt'>;
  fence: JobFieldValue<'fence'>;
  node: JobFieldValue<'node'>;
  attempt: JobFieldValue<'attempt'>;
  spent: JobFieldValue<'spent'>;
  max_attempts: JobFieldValue<'maxAttempts'>;
  losses: JobFieldValue<'losses'>;
  begun_losses: JobFieldValue<'begunLosses'>;
  percent: JobFieldValue<'percent'>;
  dedupe_key: JobFieldValue<'dedupeKey'>;
  serial: JobFieldValue<'serial'>;
  schedule_id: JobFieldValue<'scheduleId'>;
  parent_id: JobFieldValue<'parentId'>;
  cancel_requested_at: JobFieldValue<'cancelRequestedAt'>;
  policy: string;
  // {{/job}}
}

/** The same columns, in the order of the statements. */
type JobStateTuple = [
  seq: number,
  // {{job.state | %column: JobFieldValue<'%field'>, | policy=policy: string,}}
  id: JobFieldValue<'id'>,
  type: JobFieldValue<'type'>,
  tenant: JobFieldValue<'tenant'>,
  status: JobFieldValue<'status'>,
  reason: JobFieldValue<'reason'>,
  rank_offset: JobFieldValue<'rankOffsetMs'>,
  due_at: JobFieldValue<'dueAt'>,
  expire_at: JobFieldValue<'expireAt'>,
  created_at: JobFieldValue<'createdAt'>,
  started_at: JobFieldValue<'startedAt'>,
  claimed_at: JobFieldValue<'claimedAt'>,
  begun_at: JobFieldValue<'begunAt'>,
  fence: JobFieldValue<'fence'>,
  node: JobFieldValue<'node'>,
  attempt: JobFieldValue<'attempt'>,
  spent: JobFieldValue<'spent'>,
  max_attempts: JobFieldValue<'maxAttempts'>,
  losses: JobFieldValue<'losses'>,
  begun_losses: JobFieldValue<'begunLosses'>,
  percent: JobFieldValue<'percent'>,
  dedupe_key: JobFieldValue<'dedupeKey'>,
  serial: JobFieldValue<'serial'>,
  schedule_id: JobFieldValue<'scheduleId'>,
  parent_id: JobFieldValue<'parentId'>,
  cancel_requested_at: JobFieldValue<'cancelRequestedAt'>,
  policy: string,
  // {{/job}}
];

function toJobState(row: JobStateTuple | undefined): JobStateRow | undefined {
  if (row === undefined) return undefined;
  return {
    // {{job.state | %column: row[%n], | id*2=seq: row[%n],\nid: row[%next],}}
    seq: row[0],
    id: row[1],
    type: row[2],
    tenant: row[3],
    status: row[4],
    reason: row[5],
    rank_offset: row[6],
    due_at: row[7],
    expire_at: row[8],
    created_at: row[9],
    started_at: row[10],
    claimed_at: row[11],
    begun_at: row[12],
    fence: row[13],
    node: row[14],
    attempt: row[15],
    spent: row[16],
    max_attempts: row[17],
    losses: row[18],
    begun_losses: row[19],
    percent: row[20],
    dedupe_key: row[21],
    serial: row[22],
    schedule_id: row[23],
    parent_id: row[24],
    cancel_requested_at: row[25],
    policy: row[26],
    // {{/job}}
  };
}

/** Reads a live job by id. */
export function readJobState(work: Work, id: string): JobStateRow | undefined {
  return toJobState(work.tuple<JobStateTuple>(statements.job.state, id));
}

/** Reads a live job by its number in the table. */
export function readJobStateBySeq(work: Work, seq: number): JobStateRow | undefined {
  return toJobState(work.tuple<JobStateTuple>(statements.job.stateBySeq, seq));
}
