import { fromJson } from '../../base/json.ts';
import type { ClaimedJob } from '../../contract/engine.ts';
import type { RemoteJob } from './remote-protocol.ts';

/** A claimed job as a remote worker gets it. */
export function toRemoteJob(job: ClaimedJob): RemoteJob {
  return {
    id: job.id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    input: fromJson(job.input),
    metadata: job.metadata === null ? {} : (fromJson(job.metadata, 'metadata') as Record<string, unknown>),
    fence: job.fence,
    attempt: job.attempt,
    attempts: job.spent + 1,
    maxAttempts: job.maxAttempts,
    createdAt: new Date(job.createdAt),
    dueAt: new Date(job.dueAt),
    claimedAt: new Date(job.claimedAt),
    timeoutMs: job.policy.timeoutMs,
    origin: job.origin,
    schedule: job.slot?.scheduleName ?? null,
    slot: date(job.slot?.slotAt ?? null),
    fireId: job.slot?.fireId ?? null,
    parentId: job.parent?.id ?? null,
    // {{job.passive +claim +json | %field: %shown(job.%field),}}
    // {{/job}}
  };
}

function date(instant: number | null): Date | null {
  return instant === null ? null : new Date(instant);
}
