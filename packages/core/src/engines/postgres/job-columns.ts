import { dulyError } from '../../base/errors.ts';
import type { Due, JobPolicy, JobSlot, JobSpec } from '../../contract/engine.ts';
import { isPlain } from '../../lifecycle/is-plain.ts';

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
