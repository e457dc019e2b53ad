import { type Duly, DulyError, type Job } from '@duly/core';
import type { Caller } from './caller.ts';

/** The tenant for which a caller creates something: the one of their key, or the one that they name. Throws `forbidden`. */
export function tenantFor(caller: Caller, given: string | null | undefined): string | null {
  if (caller.tenant === null) return given ?? null;
  if (given === undefined || given === caller.tenant) return caller.tenant;
  throw new DulyError('forbidden', {
    message: 'The key is bound to another tenant than the one that the request names.',
    hint: 'Leave "tenant" out: the tenant of the key is taken.',
  });
}

/** Whether a caller sees what is this tenant's. */
export function sees(caller: Caller, tenant: string | null): boolean {
  return caller.tenant === null || caller.tenant === tenant;
}

/** Reads a job for a caller. The store checks the tenant, so that nothing of another tenant's job is read. */
export async function readOwn(duly: Duly, caller: Caller, id: string): Promise<Job> {
  return duly.job(id).get(caller.tenant === null ? {} : { tenant: caller.tenant });
}

/** The job, if the caller sees it. To others it does not exist: the error is that of an id that was never there. */
export function own(caller: Caller, job: Job): Job {
  if (sees(caller, job.tenant)) return job;
  throw new DulyError('job_not_found', {
    message: `No job has the id "${job.id}".`,
    hint: 'Check the id and the store.',
    details: { id: job.id },
  });
}
