import { isTerminal, type Job, type TerminalStatus } from '@duly/core';
import { builtInPrefix, callbackField, commandTaskName, httpTaskName } from '@duly/core/internal';
import type { Endpoint } from './endpoints.ts';

/**
 * Somebody who is to be told of the end of a job, and whose the telling is. That of the store's own subscription is not the tenant's whose job
 * ended: it names an address that is none of its business, and the tenant could cancel it.
 */
export type Receiver = ({ endpoint: string } | { url: string }) & { tenant: string | null };

/** Whether anybody could want to hear of a job of this type that ended so; what the change alone tells. */
export function mayMatch(
  change: { type: string; status: Job['status'] },
  endpoints: readonly Endpoint[],
  hasCallbacks: boolean,
): boolean {
  if (!isTerminal(change.status) || isOwn(change.type)) return false;
  return hasCallbacks || endpoints.some((one) => one.isEnabled && wants(one, change));
}

/** Who is to be told of the end of this job. Each address once for each reason to tell it. */
export function receiversOf(job: Job, endpoints: readonly Endpoint[]): Receiver[] {
  if (!isTerminal(job.status) || isOwn(job.type)) return [];
  const callback = job.metadata[callbackField];
  return [
    ...(typeof callback === 'string' ? [{ url: callback, tenant: job.tenant }] : []),
    ...endpoints
      .filter(
        (one) =>
          one.isEnabled &&
          wants(one, job) &&
          (one.tenant === null || one.tenant === job.tenant) &&
          (one.schedules === null || (job.schedule !== null && one.schedules.includes(job.schedule))),
      )
      .map(({ id, tenant }) => ({ endpoint: id, tenant })),
  ];
}

/** Whether jobs of this type are the server's own, of which nobody is told: a delivery that was itself delivered would never end. Those of targets are their makers'. */
function isOwn(type: string): boolean {
  return type.startsWith(builtInPrefix) && type !== httpTaskName && type !== commandTaskName;
}

function wants(
  { types, statuses }: Endpoint,
  { type, status }: { type: string; status: Job['status'] },
): boolean {
  return (
    (types === null || types.includes(type)) &&
    (statuses === null || statuses.includes(status as TerminalStatus))
  );
}
