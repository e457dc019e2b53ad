import type { EnqueuedItem, JobRecord, JobSpec } from '../contract/engine.ts';

/**
 * A job as the store keeps it at the moment it was made, put together from what was asked and answered instead of read again; null where the
 * answer does not tell everything: another job holds its key, or it waits behind a gate.
 */
export function createdRecord(spec: JobSpec, item: EnqueuedItem, now: number): JobRecord | null {
  if (item.deduped || item.id !== spec.id) return null;
  if (item.status !== 'PENDING' && item.status !== 'SCHEDULED') return null;
  return {
    // {{job.caller -rankOffsetMs | %field: spec.%field,}}
    id: spec.id,
    type: spec.type,
    version: spec.version,
    queue: spec.queue,
    tenant: spec.tenant,
    priority: spec.priority,
    input: spec.input,
    metadata: spec.metadata,
    policy: spec.policy,
    origin: spec.origin,
    serial: spec.serial,
    copyOf: spec.copyOf,
    // {{/job}}
    status: item.status,
    reason: null,
    result: null,
    error: null,
    progress: { percent: 0, message: null, step: null, of: null },
    createdAt: now,
    dueAt: item.dueAt,
    startedAt: null,
    latenessMs: null,
    updatedAt: now,
    finishedAt: null,
    expireAt: spec.startDeadlineMs === null ? null : item.dueAt + spec.startDeadlineMs,
    attempt: 0,
    spent: 0,
    maxAttempts: spec.policy.maxAttempts,
    losses: 0,
    begunLosses: 0,
    attempts: [],
    fence: 0,
    node: null,
    leaseUntilAt: null,
    gates: [],
    dedupeKey: spec.dedupe?.key ?? null,
    parent: spec.parent,
    slot: spec.slot,
    cancelRequestedAt: null,
    cancelledBy: null,
    dead: false,
  };
}
