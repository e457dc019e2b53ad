// A new job like an earlier one.

import type { JobRecord, JobSpec } from '../contract/engine.ts';
import { rankOffsetMs } from '../lifecycle/rank.ts';

/** The same promise once more, as a job of its own, due now: it shares no key and no parent with the first. */
export function copyOf(job: JobRecord, id: string): JobSpec {
  return {
    // {{job.caller | %field: job.%field, | id=id, | origin=origin: 'event', | copyOf=copyOf: job.id,
    //   | rankOffsetMs=rankOffsetMs: rankOffsetMs(job.priority),}}
    id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    input: job.input,
    metadata: job.metadata,
    policy: job.policy,
    origin: 'event',
    rankOffsetMs: rankOffsetMs(job.priority),
    serial: job.serial,
    copyOf: job.id,
    // {{/job}}
    due: { inMs: 0 },
    startDeadlineMs: startDeadlineOf(job),
    dedupe: null,
    gates: [],
    parent: null,
    slot: null,
  };
}

/** How late the job was allowed to start. Retries move its due instant, but not the one from which its deadline was counted. */
function startDeadlineOf({ expireAt, startedAt, latenessMs, dueAt }: JobRecord): number | null {
  if (expireAt === null) return null;
  const firstDueAt = startedAt === null || latenessMs === null ? dueAt : startedAt - latenessMs;
  return Math.max(0, expireAt - firstDueAt);
}
