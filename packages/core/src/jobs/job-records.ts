// Reads one job by its id.

import { readName } from '../base/option-reader.ts';
import type { JobRecord } from '../contract/engine.ts';
import type { StoreSession } from '../store/session.ts';
import { missing, readJobId } from './job-reference.ts';

/** The job of this id, and the store's instant. Throws `job_not_found` or `job_pruned`. */
export async function readRecord(
  session: StoreSession,
  id: string,
): Promise<{ job: JobRecord; now: number }> {
  const { job, now, prunedCreatedAt } = await session.get.push(readJobId(id));
  if (job === null) throw missing({ id }, prunedCreatedAt);
  return { job, now };
}

/** The job of this tenant. The store filters: another tenant's job costs as much as an unknown id. */
export async function readRecordOf(
  { engine }: StoreSession,
  id: string,
  tenant: string | null,
): Promise<JobRecord> {
  const filter = { ids: [readJobId(id)], tenant: tenant === null ? null : readName(tenant, 'tenant') };
  let cursor: string | null = null;
  do {
    const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
      filter,
      cursor,
      limit: 1,
    });
    const [job] = page.jobs;
    if (job !== undefined) return job;
    cursor = page.nextCursor;
  } while (cursor !== null);
  const { prunedCreatedAt } = await engine.get({ ids: [] });
  throw missing({ id }, prunedCreatedAt);
}
