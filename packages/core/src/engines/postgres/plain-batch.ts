import type { Due, JobSpec } from '../../contract/engine.ts';
import { checkedDue, policyText, slotText, type WrittenSpec, writtenSpec } from './job-columns.ts';

/**
 * Plain jobs as `insert_jobs` reads them. What jobs share is a kind, sent once; each list holds one field of all jobs. A list that is null
 * says that the kinds hold the field. Most jobs that are created together are of one kind and differ in their input only.
 */
export interface PlainBatch {
  /** The kinds, as JSON. */
  specs: string;
  /** The first job of each kind. */
  firsts: JobSpec[];
  ids: string[];
  inputs: (string | null)[];
  /** The number of each job's kind, from 1; null: there is one kind. */
  kind: number[] | null;
  dues: (number | null)[] | null;
  rankOffsets: number[] | null;
  tenants: (string | null)[] | null;
  metadata: (string | null)[] | null;
  slots: JobSlots | null;
}

/** The slots that jobs run for, by columns. */
export interface JobSlots {
  scheduleIds: (string | null)[];
  slotAts: (number | null)[];
  slots: (string | null)[];
  details: (string | null)[];
}

/** What else the jobs of one kind share, for a verb that writes more than jobs. */
export interface KindExtras {
  isSame(i: number, other: number): boolean;
  written(i: number): object;
}

const noExtras: KindExtras = { isSame: () => true, written: () => ({}) };

/** Writes plain jobs as a batch. `extras` is given the places of two jobs. */
export function plainBatch(jobs: readonly JobSpec[], extras: KindExtras = noExtras): PlainBatch {
  const differ = differingFields(jobs);
  const { kinds, kindOf } = findKinds(jobs, extras);
  const specs = kinds.map((i, n) => ({
    ...sharedSpec(jobs[i] as JobSpec, differ),
    ...extras.written(i),
    n: n + 1,
  }));
  const dueAt = ({ due }: JobSpec) => ('at' in checkedDue(due) ? (due as { at: number }).at : null);
  return {
    specs: JSON.stringify(specs),
    firsts: kinds.map((i) => jobs[i] as JobSpec),
    ids: jobs.map(({ id }) => id),
    inputs: jobs.map(({ input }) => input),
    kind: kinds.length > 1 ? kindOf : null,
    dues: differ.due ? jobs.map(dueAt) : null,
    rankOffsets: differ.rankOffset ? jobs.map(({ rankOffsetMs }) => rankOffsetMs) : null,
    tenants: differ.tenant ? jobs.map(({ tenant }) => tenant) : null,
    metadata: differ.metadata ? jobs.map(({ metadata }) => metadata) : null,
    slots: differ.slot ? slotsOf(jobs) : null,
  };
}

function slotsOf(jobs: readonly JobSpec[]): JobSlots {
  return {
    scheduleIds: jobs.map(({ slot }) => slot?.scheduleId ?? null),
    slotAts: jobs.map(({ slot }) => slot?.slotAt ?? null),
    slots: jobs.map(({ slot }) => (slot === null ? null : slotText(slot))),
    details: jobs.map(({ slot }) => slot?.details ?? null),
  };
}

/** The fields that have a list, because jobs of one kind may differ in them. */
interface DifferingFields {
  due: boolean;
  rankOffset: boolean;
  tenant: boolean;
  metadata: boolean;
  slot: boolean;
}

function differingFields(jobs: readonly JobSpec[]): DifferingFields {
  const [first] = jobs;
  const differ = { due: false, rankOffset: false, tenant: false, metadata: false, slot: false };
  if (first === undefined) return differ;
  for (const { due, rankOffsetMs, tenant, metadata, slot } of jobs) {
    differ.due ||= !isSameDue(due, first.due);
    differ.rankOffset ||= rankOffsetMs !== first.rankOffsetMs;
    differ.tenant ||= tenant !== first.tenant;
    differ.metadata ||= metadata !== first.metadata;
    differ.slot ||= slot !== first.slot;
  }
  return differ;
}

function isSameDue(a: Due, b: Due): boolean {
  return 'at' in a ? 'at' in b && a.at === b.at : 'inMs' in b && a.inMs === b.inMs;
}

/** The place of the first job of each kind, and the kind of each job, from 1. */
function findKinds(jobs: readonly JobSpec[], extras: KindExtras): { kinds: number[]; kindOf: number[] } {
  const kinds: number[] = [];
  const byText = new Map<string, number>();
  let last = 0;
  const kindOf = jobs.map((job, i) => {
    const first = kinds[last - 1];
    if (first !== undefined && isSameKind(jobs[first] as JobSpec, job) && extras.isSame(first, i))
      return last;
    // Jobs with options of their own have policies of their own, most of them with one content.
    const text = kindText(job, extras.written(i));
    last = byText.get(text) ?? kinds.push(i);
    byText.set(text, last);
    return last;
  });
  return { kinds, kindOf };
}

/** What jobs of one kind share, as text. */
function kindText(job: JobSpec, extra: object): string {
  const delayMs = 'at' in job.due ? null : job.due.inMs;
  return JSON.stringify([
    // {{job.kind -metadata | job.%field, | policy=policyText(job.policy),}}
    job.type,
    job.version,
    job.queue,
    job.priority,
    policyText(job.policy),
    job.origin,
    job.copyOf,
    // {{/job}}
    ...[delayMs, job.startDeadlineMs, job.slot?.allow === true, extra],
  ]);
}

function isSameKind(job: JobSpec, other: JobSpec): boolean {
  // Policies are compared as objects first: all jobs of a task without options of their own have one.
  // {{job.kind -metadata | if (job.%field !== other.%field) return false;}}
  if (job.type !== other.type) return false;
  if (job.version !== other.version) return false;
  if (job.queue !== other.queue) return false;
  if (job.priority !== other.priority) return false;
  if (job.policy !== other.policy) return false;
  if (job.origin !== other.origin) return false;
  if (job.copyOf !== other.copyOf) return false;
  // {{/job}}
  // A job that is due in so many milliseconds has no place in the list of instants.
  const isSameDelay = 'at' in job.due ? 'at' in other.due : isSameDue(job.due, other.due);
  return (
    isSameDelay &&
    job.startDeadlineMs === other.startDeadlineMs &&
    (job.slot?.allow === true) === (other.slot?.allow === true)
  );
}

/** What the jobs of a kind share, of the first of them. */
function sharedSpec(job: JobSpec, differ: DifferingFields): WrittenSpec {
  const { id: _id, input: _input, ...shared } = writtenSpec(job);
  if (differ.due) delete shared.at;
  if (differ.rankOffset) delete shared.rankOffsetMs;
  if (differ.tenant) delete shared.tenant;
  if (differ.metadata) delete shared.metadata;
  if (differ.slot) for (const field of ['scheduleId', 'slot', 'slotAt', 'slotDetails']) delete shared[field];
  return shared;
}
