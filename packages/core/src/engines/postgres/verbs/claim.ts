import type { ClaimedJob, JobFieldName, JobFieldValue, JobSpec } from '../../../contract/engine.ts';
import type { LaneScan } from '../claim-scan-hints.ts';
import { policyText } from '../job-columns.ts';
import { toSlot } from '../rows.ts';
import type { Work } from '../work.ts';

/** One value for all jobs, or a list with the value of each. Missing: null for all of them. */
type Column<Value> = Value | Value[];
type FieldColumn<Name extends JobFieldName> = Column<JobFieldValue<Name>>;

/** The fields of jobs under lease as the store lists them. */
interface ClaimedFields {
  // {{job.claim | %field?: FieldColumn<'%field'>; | id=id: JobFieldValue<'id'>[]; | policy=policy?: Column<string>;
  //   | begunAt=begun?: Column<boolean>; | claimedAt=claimedAt?: Column<number>;
  //   | slot=slot?: FieldColumn<'slot'>;\nslotDetails?: FieldColumn<'slot'>;}}
  id: JobFieldValue<'id'>[];
  type?: FieldColumn<'type'>;
  version?: FieldColumn<'version'>;
  queue?: FieldColumn<'queue'>;
  tenant?: FieldColumn<'tenant'>;
  priority?: FieldColumn<'priority'>;
  input?: FieldColumn<'input'>;
  metadata?: FieldColumn<'metadata'>;
  policy?: Column<string>;
  fence?: FieldColumn<'fence'>;
  attempt?: FieldColumn<'attempt'>;
  spent?: FieldColumn<'spent'>;
  maxAttempts?: FieldColumn<'maxAttempts'>;
  losses?: FieldColumn<'losses'>;
  begunLosses?: FieldColumn<'begunLosses'>;
  begun?: Column<boolean>;
  createdAt?: FieldColumn<'createdAt'>;
  dueAt?: FieldColumn<'dueAt'>;
  claimedAt?: Column<number>;
  origin?: FieldColumn<'origin'>;
  slot?: FieldColumn<'slot'>;
  slotDetails?: FieldColumn<'slot'>;
  parentId?: FieldColumn<'parentId'>;
  parentKey?: FieldColumn<'parentKey'>;
  cancelRequestedAt?: FieldColumn<'cancelRequestedAt'>;
  // {{/job}}
}

/** Jobs under lease: what they share once, the rest in `columns`; [] is none. */
export type ClaimedJobColumns =
  | []
  | (Partial<ClaimedFields> & { columns: Partial<ClaimedFields> & Pick<ClaimedFields, 'id'> });

/** Jobs under lease as the contract has them. */
export function toClaimedJobs(work: Work, claimed: ClaimedJobColumns): ClaimedJob[] {
  if (Array.isArray(claimed)) return [];
  const fields: ClaimedFields = { ...claimed, ...claimed.columns };
  noteLanes(work, fields);
  return fields.id.map((id, i) => ({
    // {{job.claim | %field: valueAt(fields.%field, i), | id=id, | policy=policy: work.policy(valueAt(fields.policy, i)),
    //   | begunAt=begun: valueAt(fields.begun, i) === true, | slot=slot: toSlot(valueAt(fields.slot, i), valueAt(fields.slotDetails, i)),
    //   | parentId=parent: parentOf(valueAt(fields.parentId, i), valueAt(fields.parentKey, i)), | parentKey=}}
    id,
    type: valueAt(fields.type, i),
    version: valueAt(fields.version, i),
    queue: valueAt(fields.queue, i),
    tenant: valueAt(fields.tenant, i),
    priority: valueAt(fields.priority, i),
    input: valueAt(fields.input, i),
    metadata: valueAt(fields.metadata, i),
    policy: work.policy(valueAt(fields.policy, i)),
    fence: valueAt(fields.fence, i),
    attempt: valueAt(fields.attempt, i),
    spent: valueAt(fields.spent, i),
    maxAttempts: valueAt(fields.maxAttempts, i),
    losses: valueAt(fields.losses, i),
    begunLosses: valueAt(fields.begunLosses, i),
    begun: valueAt(fields.begun, i) === true,
    createdAt: valueAt(fields.createdAt, i),
    dueAt: valueAt(fields.dueAt, i),
    claimedAt: valueAt(fields.claimedAt, i),
    origin: valueAt(fields.origin, i),
    slot: toSlot(valueAt(fields.slot, i), valueAt(fields.slotDetails, i)),
    parent: parentOf(valueAt(fields.parentId, i), valueAt(fields.parentKey, i)),
    cancelRequestedAt: valueAt(fields.cancelRequestedAt, i),
    // {{/job}}
  }));
}

/** The fences of jobs that were inserted as RUNNING, in the order in which they were sent. */
export interface CreatedRunning {
  fences: number[];
  scan: LaneScan | null;
}

/** Jobs that were inserted as RUNNING, as the contract has them. The caller has their specs. */
export function toRunningJobs(
  work: Work,
  jobs: readonly JobSpec[],
  { fences }: CreatedRunning,
  now: number,
): ClaimedJob[] {
  const [{ policy }] = jobs as [JobSpec];
  const columns = {
    // {{job.claim +caller | %field: jobs.map(({ %field }) => %field), | policy=policy: policyText(policy),}}
    id: jobs.map(({ id }) => id),
    type: jobs.map(({ type }) => type),
    version: jobs.map(({ version }) => version),
    queue: jobs.map(({ queue }) => queue),
    tenant: jobs.map(({ tenant }) => tenant),
    priority: jobs.map(({ priority }) => priority),
    input: jobs.map(({ input }) => input),
    metadata: jobs.map(({ metadata }) => metadata),
    policy: policyText(policy),
    origin: jobs.map(({ origin }) => origin),
    // {{/job}}
    ...{ fence: fences, attempt: 1, spent: 0, maxAttempts: policy.maxAttempts, losses: 0, begunLosses: 0 },
    ...{ createdAt: now, claimedAt: now },
    dueAt: jobs.map(({ due }) => ('at' in due ? due.at : now + due.inMs)),
  };
  const claimed = toClaimedJobs(work, { columns });
  for (const [i, { slot }] of jobs.entries()) (claimed[i] as ClaimedJob).slot = slot;
  return claimed;
}

function valueAt<Value>(column: Column<Value> | undefined, i: number): Value {
  return (Array.isArray(column) ? column[i] : (column ?? null)) as Value;
}

function noteLanes({ scanHints }: Work, { id, type, version, queue }: ClaimedFields): void {
  if (scanHints === null) return;
  const isOneLane = !(Array.isArray(type) || Array.isArray(version) || Array.isArray(queue));
  for (let i = 0; i < (isOneLane ? 1 : id.length); i++) {
    scanHints.noteLane({ type: valueAt(type, i), version: valueAt(version, i), queue: valueAt(queue, i) });
  }
}

function parentOf(id: string | null, key: string | null): ClaimedJob['parent'] {
  return id === null ? null : { id, key };
}
