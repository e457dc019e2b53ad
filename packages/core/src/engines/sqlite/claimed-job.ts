import type { ClaimedJob, JobFieldValue, JobSlot, JobSpec } from '../../contract/engine.ts';
import type { Work } from './work.ts';

/** The columns of a job under lease, in the order of the statements that read one. */
export type LeasedRow = [
  // {{job.claim | %field: JobFieldValue<'%field'>, | policy=policy: string, | claimedAt=claimedAt: number,}}
  id: JobFieldValue<'id'>,
  type: JobFieldValue<'type'>,
  version: JobFieldValue<'version'>,
  queue: JobFieldValue<'queue'>,
  tenant: JobFieldValue<'tenant'>,
  priority: JobFieldValue<'priority'>,
  input: JobFieldValue<'input'>,
  metadata: JobFieldValue<'metadata'>,
  policy: string,
  fence: JobFieldValue<'fence'>,
  attempt: JobFieldValue<'attempt'>,
  spent: JobFieldValue<'spent'>,
  maxAttempts: JobFieldValue<'maxAttempts'>,
  losses: JobFieldValue<'losses'>,
  begunLosses: JobFieldValue<'begunLosses'>,
  begunAt: JobFieldValue<'begunAt'>,
  createdAt: JobFieldValue<'createdAt'>,
  dueAt: JobFieldValue<'dueAt'>,
  claimedAt: number,
  origin: JobFieldValue<'origin'>,
  slot: JobFieldValue<'slot'>,
  parentId: JobFieldValue<'parentId'>,
  parentKey: JobFieldValue<'parentKey'>,
  cancelRequestedAt: JobFieldValue<'cancelRequestedAt'>,
  // {{/job}}
];

/** A leased row as the contract has it. */
export function toClaimedJob(work: Work, row: LeasedRow): ClaimedJob {
  return {
    // {{job.claim | %field: row[%n], | policy=policy: work.policy(row[%n]), | begunAt=begun: row[%n] !== null,
    //   | slot=slot: row[%n] === null ? null : (JSON.parse(row[%n]) as JobSlot),
    //   | parentId=parent: row[%n] === null ? null : { id: row[%n], key: row[%next] }, | parentKey=}}
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
    begun: row[15] !== null,
    createdAt: row[16],
    dueAt: row[17],
    claimedAt: row[18],
    origin: row[19],
    slot: row[20] === null ? null : (JSON.parse(row[20]) as JobSlot),
    parent: row[21] === null ? null : { id: row[21], key: row[22] },
    cancelRequestedAt: row[23],
    // {{/job}}
  };
}

/** The same of a plain job that is inserted under its first lease, which need not be read back. */
export function toFirstClaim({ now }: Work, spec: JobSpec, dueAt: number, fence: number): ClaimedJob {
  return {
    // {{job.claim | %field: spec.%field, | fence=fence, | attempt=attempt: 1, | spent=spent: 0,
    //   | maxAttempts=maxAttempts: spec.policy.maxAttempts, | losses=losses: 0, | begunLosses=begunLosses: 0,
    //   | begunAt=begun: false, | createdAt=createdAt: now, | dueAt=dueAt, | claimedAt=claimedAt: now,
    //   | parentId=parent: null, | parentKey= | cancelRequestedAt=cancelRequestedAt: null,}}
    id: spec.id,
    type: spec.type,
    version: spec.version,
    queue: spec.queue,
    tenant: spec.tenant,
    priority: spec.priority,
    input: spec.input,
    metadata: spec.metadata,
    policy: spec.policy,
    fence,
    attempt: 1,
    spent: 0,
    maxAttempts: spec.policy.maxAttempts,
    losses: 0,
    begunLosses: 0,
    begun: false,
    createdAt: now,
    dueAt,
    claimedAt: now,
    origin: spec.origin,
    slot: spec.slot,
    parent: null,
    cancelRequestedAt: null,
    // {{/job}}
  };
}
