import { dulyError } from '../../base/errors.ts';
import type { Due, JobPolicy, JobSlot, JobSpec } from '../../contract/engine.ts';

/** A job spec as functions of the schema read it: flat, and what is JSON itself as a text. */
export type WrittenSpec = Record<string, unknown>;

/** A due time in whole milliseconds. One caller's slip must not fail the groups of others that travel with it. */
export function checkedDue(due: Due): Due {
  const given = 'at' in due ? due.at : due.inMs;
  if (Number.isSafeInteger(given)) return due;
  throw dulyError('group_refused', {
    message: `Expected a due time in whole milliseconds, got ${given}.`,
    hint: 'Round instants and durations before they are handed to the store.',
  });
}

const policyTexts = new WeakMap<JobPolicy, string>();

/** Jobs that are created together share a policy as a rule, and it is written once. */
export function policyText(policy: JobPolicy): string {
  let text = policyTexts.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    policyTexts.set(policy, text);
  }
  return text;
}

/** Writes a spec for the store. */
export function writtenSpec(spec: JobSpec): WrittenSpec {
  const { slot, policy } = spec;
  const written: WrittenSpec = {
    // {{job.caller -serial | %field: spec.%field, | policy=policy: policyText(policy),}}
    id: spec.id,
    type: spec.type,
    version: spec.version,
    queue: spec.queue,
    tenant: spec.tenant,
    priority: spec.priority,
    input: spec.input,
    metadata: spec.metadata,
    policy: policyText(policy),
    origin: spec.origin,
    rankOffsetMs: spec.rankOffsetMs,
    copyOf: spec.copyOf,
    // {{/job}}
    ...checkedDue(spec.due),
    startDeadlineMs: spec.startDeadlineMs,
    maxAttempts: policy.maxAttempts,
    retentionMs: policy.retentionMs,
    deadRetentionMs: policy.deadRetentionMs,
  };
  if (slot !== null) {
    written.scheduleId = slot.scheduleId;
    written.slot = slotText(slot);
    written.slotAt = slot.slotAt;
    written.slotAllow = slot.allow === true;
    written.slotDetails = slot.details;
  }
  if (isPlain(spec)) return written;
  written.dedupe = spec.dedupe;
  written.serial = spec.serial;
  written.gates = spec.gates;
  written.parentId = spec.parent?.id ?? null;
  written.parentKey = spec.parent?.key ?? null;
  return written;
}

/** A slot as its job keeps it: without the details, which may still change. */
export function slotText({ details: _details, ...rest }: JobSlot): string {
  return JSON.stringify(rest);
}

/** Whether creating it touches no other job. */
export function isPlain(spec: JobSpec): boolean {
  return spec.dedupe === null && spec.parent === null && spec.gates.length === 0 && spec.serial === null;
}

/** Whether there are plain specs, and they differ only in id and input. */
export function isUniform(specs: readonly JobSpec[]): boolean {
  const [first] = specs;
  if (first === undefined || first.slot !== null) return false;
  for (const spec of specs) {
    // Policies are compared as objects, one for all jobs of a task with its own options: to compare their text would cost more than is won.
    // {{job.caller -id -input -serial | if (spec.%field !== first.%field) return false;}}
    if (spec.type !== first.type) return false;
    if (spec.version !== first.version) return false;
    if (spec.queue !== first.queue) return false;
    if (spec.tenant !== first.tenant) return false;
    if (spec.priority !== first.priority) return false;
    if (spec.metadata !== first.metadata) return false;
    if (spec.policy !== first.policy) return false;
    if (spec.origin !== first.origin) return false;
    if (spec.rankOffsetMs !== first.rankOffsetMs) return false;
    if (spec.copyOf !== first.copyOf) return false;
    // {{/job}}
    if (!isSameDue(spec.due, first.due) || spec.startDeadlineMs !== first.startDeadlineMs) return false;
    if (spec.slot !== null) return false;
  }
  return true;
}

function isSameDue(a: Due, b: Due): boolean {
  return 'at' in a ? 'at' in b && a.at === b.at : 'inMs' in b && a.inMs === b.inMs;
}

/** Plain specs by columns: a field that is the same for all of them stands in `shared`, once. */
export interface PlainColumns {
  columns: Record<string, unknown[]>;
  shared: WrittenSpec;
}

/** Turns plain specs into columns. Most fields of jobs that are created together are the same, and so are not read anew for each. */
export function plainColumns(specs: WrittenSpec[]): PlainColumns {
  const columns: PlainColumns['columns'] = { id: specs.map(({ id }) => id) };
  const shared: WrittenSpec = {};
  const fields = new Set(specs.flatMap((spec) => Object.keys(spec)));
  fields.delete('id');
  for (const field of fields) {
    const first = specs[0]?.[field] ?? null;
    if (specs.every((spec) => (spec[field] ?? null) === first)) shared[field] = first;
    else columns[field] = specs.map((spec) => spec[field] ?? null);
  }
  return { columns, shared };
}
