import type { JobStatus } from '../../contract/job-status.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** The row of a dedupe key. */
export interface KeyRow {
  job_id: string;
  until_at: number | null;
  ended: JobStatus | null;
  follow_id: string | null;
  follow_until: number | null;
}

/** A key as it is held at this instant, null: by nobody. Once its holder's time is over, the follow-up behind that one holds it. */
export function heldNow(key: KeyRow | undefined, now: number): KeyRow | null {
  if (key === undefined || isHeld(key.until_at, now)) return key ?? null;
  if (key.follow_id === null || !isHeld(key.follow_until, now)) return null;
  return {
    job_id: key.follow_id,
    until_at: key.follow_until,
    ended: null,
    follow_id: null,
    follow_until: null,
  };
}

function isHeld(untilAt: number | null, now: number): boolean {
  return untilAt === null || untilAt > now;
}

/** The id of the job that holds a dedupe key at this instant. */
export function holderOf(
  work: Work,
  { type, tenant, key }: { type: string; tenant: string | null; key: string },
): string | null {
  const row = work.get<KeyRow>(statements.dedupe.holder, type, tenant ?? '', key);
  return heldNow(row, work.now)?.job_id ?? null;
}
