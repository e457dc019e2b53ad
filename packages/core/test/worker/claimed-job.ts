import type { ClaimedJob, JobPolicy } from '../../src/contract/engine.ts';
import { defaultRetry } from '../../src/lifecycle/retry.ts';

/** A job as a claim gives it, for tests of what is decided about one. */
export function claimedJob({
  policy = {},
  ...fields
}: Partial<Omit<ClaimedJob, 'policy'>> & { policy?: Partial<JobPolicy> } = {}): ClaimedJob {
  return {
    id: 'job_1',
    type: 'mail',
    version: 1,
    queue: 'default',
    tenant: null,
    priority: 0,
    input: 'null',
    metadata: null,
    fence: 7,
    attempt: 1,
    spent: 0,
    maxAttempts: 3,
    losses: 0,
    begunLosses: 0,
    begun: false,
    createdAt: 1_000,
    dueAt: 2_000,
    claimedAt: 2_500,
    origin: 'event',
    slot: null,
    parent: null,
    cancelRequestedAt: null,
    // {{job.passive +claim | %field: null,}}
    // {{/job}}
    ...fields,
    policy: {
      maxAttempts: 3,
      retry: { ...defaultRetry.toStored(), jitter: 0 },
      timeoutMs: 3_600_000,
      graceMs: 30_000,
      delivery: 'at-least-once',
      retentionMs: 7 * 86_400_000,
      deadRetentionMs: 90 * 86_400_000,
      ...policy,
    },
  };
}
