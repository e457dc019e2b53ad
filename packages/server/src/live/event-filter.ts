import type { FeedChange, JobStatus } from '@duly/core';

/** What of a job does not change while it lives, and is not in the feed. */
export interface JobFacts {
  tenant: string | null;
  queue: string | null;
  schedule: string | null;
}

/** Which changes. Every field that is given must match; lists match any of theirs. */
export interface EventFilter {
  job?: readonly string[];
  type?: readonly string[];
  status?: readonly JobStatus[];
  event?: readonly string[];
  tenant?: string;
  queue?: readonly string[];
  schedule?: readonly string[];
}

/** Whether a change may match, as far as it tells by itself. */
export function mayMatch({ job, type, status, event }: EventFilter, change: FeedChange): boolean {
  return (
    (job === undefined || job.includes(change.id)) &&
    (type === undefined || type.includes(change.type)) &&
    (status === undefined || status.includes(change.status)) &&
    (event === undefined || event.includes(change.event))
  );
}

/** Whether the job of a change matches; null: nothing is known of it any more. */
export function matchesFacts({ tenant, queue, schedule }: EventFilter, facts: JobFacts | null): boolean {
  if (facts === null) return tenant === undefined && queue === undefined && schedule === undefined;
  return (
    (tenant === undefined || facts.tenant === tenant) &&
    (queue === undefined || (facts.queue !== null && queue.includes(facts.queue))) &&
    (schedule === undefined || (facts.schedule !== null && schedule.includes(facts.schedule)))
  );
}
