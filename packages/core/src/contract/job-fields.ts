import type { JobStatus } from './job-status.ts';
import type { JobError, JobPolicy } from './jobs.ts';
import type { JsonText, Origin } from './shared.ts';

/**
 * The stored fields of a job. The types of the contract derive from this table; `npm run generate` writes the lists of fields in SQL, in
 * TypeScript and in the reference from it, where a placeholder asks for one (scripts/job-lists.ts, docs/internals/changing.md).
 */

/** One stored field of a job. */
export interface JobField {
  /** Its column in both SQL engines. */
  column: string;
  /** `long` is an integer beyond 32 bits; `instant` is epoch milliseconds, shown as a date; `json` is JSON text. */
  type: 'text' | 'integer' | 'long' | 'number' | 'instant' | 'json';
  nullable: boolean;
  /** `caller`: part of `JobSpec`, stored as it is there, and carried along until the job is pruned. */
  setBy: 'caller' | 'engine';
  /** Part of `JobRecord`. Other fields are parts of a computed one, or internal. */
  inRecord: boolean;
  /** Part of `ClaimedJob`, or needed for a computed part of it. */
  inClaim: boolean;
  /** Usually equal within a batch of jobs, and therefore sent once per batch. */
  shared: boolean;
  /** Its name in HTTP and `-o json`; null: not shown, or only as part of a computed field. */
  json: string | null;
  /** What it means: description in OpenAPI, in the reference and in the types that users see. */
  doc: string;
}

/** The table. The order of the fields in a claim is that of the answers of PostgreSQL's functions: new fields go to the end. */
export const jobFields = {
  id: {
    column: 'id',
    type: 'text',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'id',
    doc: 'ID of the job, created by the client; it orders jobs by creation.',
  },
  type: {
    column: 'type',
    type: 'text',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'type',
    doc: 'Name of its task.',
  },
  version: {
    column: 'version',
    type: 'integer',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'version',
    doc: 'Version of its task; a worker runs jobs up to its own version.',
  },
  queue: {
    column: 'queue',
    type: 'text',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'queue',
    doc: 'Its queue.',
  },
  tenant: {
    column: 'tenant',
    type: 'text',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'tenant',
    doc: 'Its tenant.',
  },
  priority: {
    column: 'priority',
    type: 'integer',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'priority',
    doc: 'Higher runs earlier.',
  },
  input: {
    column: 'input',
    type: 'json',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'input',
    doc: 'Any JSON.',
  },
  metadata: {
    column: 'metadata',
    type: 'json',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'metadata',
    doc: "The caller's own fields.",
  },
  policy: {
    column: 'policy',
    type: 'json',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: null,
    doc: 'Resolved options for attempts, time limits and retention.',
  },
  fence: {
    column: 'fence',
    type: 'long',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: null,
    doc: 'Number of its latest lease.',
  },
  attempt: {
    column: 'attempt',
    type: 'integer',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: null,
    doc: 'Number of the last attempt; 0 before the first.',
  },
  spent: {
    column: 'spent',
    type: 'integer',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: null,
    doc: 'Attempts spent by failures, timeouts and success; losses and releases spend none.',
  },
  maxAttempts: {
    column: 'max_attempts',
    type: 'integer',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'max_attempts',
    doc: 'Attempts that it may spend; every retry by hand adds those of the policy.',
  },
  losses: {
    column: 'losses',
    type: 'integer',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'losses',
    doc: 'How often its node was lost; a loss spends no attempt.',
  },
  begunLosses: {
    column: 'begun_losses',
    type: 'integer',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: null,
    doc: 'Losses after a recorded beginning; the third ends the job.',
  },
  begunAt: {
    column: 'begun_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: true,
    shared: false,
    json: null,
    doc: 'Recorded beginning of the last attempt; part of `attempts`.',
  },
  createdAt: {
    column: 'created_at',
    type: 'instant',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'created_at',
    doc: 'When it was created.',
  },
  dueAt: {
    column: 'due_at',
    type: 'instant',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'due_at',
    doc: 'When it was, or is, to start (again).',
  },
  claimedAt: {
    column: 'claimed_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: true,
    shared: true,
    json: null,
    doc: 'Start of the last attempt; part of `attempts`.',
  },
  origin: {
    column: 'origin',
    type: 'text',
    nullable: false,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: true,
    json: 'origin',
    doc: 'What created it.',
  },
  slot: {
    column: 'slot',
    type: 'json',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: true,
    shared: false,
    json: null,
    doc: 'Slot of the schedule that created it; computed into `slot`.',
  },
  parentId: {
    column: 'parent_id',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: true,
    shared: false,
    json: null,
    doc: 'Job in whose handler it was created; part of `parent`.',
  },
  parentKey: {
    column: 'parent_key',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: true,
    shared: false,
    json: null,
    doc: 'Its key among the children of that job; part of `parent`.',
  },
  cancelRequestedAt: {
    column: 'cancel_requested_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'cancel_requested_at',
    doc: 'When it was asked to cancel.',
  },
  status: {
    column: 'status',
    type: 'text',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: true,
    json: 'status',
    doc: 'Its status.',
  },
  reason: {
    column: 'reason',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: true,
    json: 'reason',
    doc: 'Why it has this status, where the status alone does not say.',
  },
  rankOffsetMs: {
    column: 'rank_offset',
    type: 'long',
    nullable: false,
    setBy: 'caller',
    inRecord: false,
    inClaim: false,
    shared: true,
    json: null,
    doc: 'Added to the due instant, it gives the rank by which PENDING jobs are claimed: −priority × a step, plus a penalty for catch-up runs.',
  },
  serial: {
    column: 'serial',
    type: 'text',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'serial',
    doc: 'Jobs with the same serial key (per tenant) run one at a time, in due order.',
  },
  copyOf: {
    column: 'copy_of',
    type: 'text',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: false,
    shared: true,
    json: 'copy_of',
    doc: 'ID of the job that this job repeats.',
  },
  dedupeKey: {
    column: 'dedupe_key',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'key',
    doc: 'Its dedupe key.',
  },
  scheduleId: {
    column: 'schedule_id',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Schedule that created it; part of `slot`.',
  },
  startedAt: {
    column: 'started_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'started_at',
    doc: 'The first start.',
  },
  latenessMs: {
    column: 'lateness_ms',
    type: 'long',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'lateness_ms',
    doc: 'How long after its due instant it first started; null before.',
  },
  updatedAt: {
    column: 'updated_at',
    type: 'instant',
    nullable: false,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'updated_at',
    doc: 'The last change.',
  },
  finishedAt: {
    column: 'finished_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'completed_at',
    doc: 'When it finished, with whatever outcome.',
  },
  expireAt: {
    column: 'expire_at',
    type: 'instant',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'expire_at',
    doc: 'The instant after which it can no longer start for the first time.',
  },
  node: {
    column: 'node',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'node',
    doc: 'The node that runs it, or ran it last.',
  },
  percent: {
    column: 'percent',
    type: 'number',
    nullable: false,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Part of `progress`.',
  },
  message: {
    column: 'message',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Part of `progress`.',
  },
  step: {
    column: 'step',
    type: 'number',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Part of `progress`.',
  },
  stepOf: {
    column: 'step_of',
    type: 'number',
    nullable: true,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Part of `progress`: `of`.',
  },
  cancelledBy: {
    column: 'cancelled_by',
    type: 'text',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'cancelled_by',
    doc: 'Who asked to cancel.',
  },
  error: {
    column: 'error',
    type: 'json',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'error',
    doc: 'Error of the last failed attempt.',
  },
  result: {
    column: 'result',
    type: 'json',
    nullable: true,
    setBy: 'engine',
    inRecord: true,
    inClaim: false,
    shared: false,
    json: 'result',
    doc: 'What the handler returned; null before that.',
  },
  attempts: {
    column: 'attempts',
    type: 'json',
    nullable: false,
    setBy: 'engine',
    inRecord: false,
    inClaim: false,
    shared: false,
    json: null,
    doc: 'Earlier attempts; completed by the last one, they become `attempts`.',
  },
} as const satisfies Record<string, JobField>;

type Table = typeof jobFields;

/** Name of a stored field of a job. */
export type JobFieldName = keyof Table;

/** Values whose type the table does not know. */
interface KnownTypes {
  status: JobStatus;
  origin: Origin;
  policy: JobPolicy;
  error: JobError;
}

interface PlainTypes {
  text: string;
  integer: number;
  long: number;
  number: number;
  instant: number;
  json: JsonText;
}

type Filled<Name extends JobFieldName> = Name extends keyof KnownTypes
  ? KnownTypes[Name]
  : PlainTypes[Table[Name]['type']];

/** The value of a field in the contract. */
export type JobFieldValue<Name extends JobFieldName> =
  | Filled<Name>
  | (Table[Name]['nullable'] extends true ? null : never);

type Named<Flags> = { [Name in JobFieldName]: Table[Name] extends Flags ? Name : never }[JobFieldName];

/** The fields that are part of `JobSpec` as they are. */
export type CallerFields = { [Name in Named<{ setBy: 'caller' }>]: JobFieldValue<Name> };

/** The fields that are part of `JobRecord` as they are. */
export type RecordFields = { [Name in Named<{ inRecord: true }>]: JobFieldValue<Name> };

/** The fields of a claimed job, some of which are parts of computed ones. */
export type ClaimFields = { [Name in Named<{ inClaim: true }>]: JobFieldValue<Name> };
