import type { JobFieldValue } from '../../contract/engine.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** The columns of a live job that transitions need. */
export interface JobStateRow {
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
  seq: number;
  solo: number;
}

/** The same columns, in the order of the statements. */
type JobStateTuple = [
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
  seq: number,
  solo: number,
];

function toJobState(row: JobStateTuple | undefined): JobStateRow | undefined {
  if (row === undefined) return undefined;
  return {
    // {{job.state | %column: row[%n],}}
    id: row[0],
    type: row[1],
    tenant: row[2],
    status: row[3],
    reason: row[4],
    rank_offset: row[5],
    due_at: row[6],
    expire_at: row[7],
    created_at: row[8],
    started_at: row[9],
    claimed_at: row[10],
    begun_at: row[11],
    fence: row[12],
    node: row[13],
    attempt: row[14],
    spent: row[15],
    max_attempts: row[16],
    losses: row[17],
    begun_losses: row[18],
    percent: row[19],
    dedupe_key: row[20],
    serial: row[21],
    schedule_id: row[22],
    parent_id: row[23],
    cancel_requested_at: row[24],
    policy: row[25],
    // {{/job}}
    seq: row[26],
    solo: row[27],
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
