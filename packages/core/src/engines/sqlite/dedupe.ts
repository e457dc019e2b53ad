import type { JobStatus, TerminalStatus } from '../../contract/job-status.ts';
import { statements } from './generated.ts';
import type { JobStateRow } from './job-state.ts';
import type { Work } from './work.ts';

/** The row of a dedupe key. */
export interface KeyRow {
  job_id: string;
  until_at: number | null;
  ended: JobStatus | null;
  follow_id: string | null;
  follow_until: number | null;
}

/** A key as it is held at this instant; null: it is free. After its holder's time, the follow-up holds it. */
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

/** Passes a dedupe key on when a job ends: to its follow-up or to no job. The ended holder may keep it. */
export function transferDedupeKey(
  work: Work,
  row: Pick<JobStateRow, 'id' | 'type' | 'tenant'>,
  key: string,
  status: TerminalStatus | 'deleted',
): void {
  const at = [row.type, row.tenant ?? '', key] as const;
  const held = work.get<KeyRow>(statements.dedupe.holder, ...at);
  if (held === undefined) return;
  if (held.follow_id === row.id) {
    work.run(statements.dedupe.follow, null, null, ...at);
  } else if (held.job_id === row.id) {
    if (held.follow_id !== null) {
      work.run(statements.dedupe.hold, ...at, held.follow_id, held.follow_until, work.now);
    } else if (held.until_at === null || status === 'deleted') {
      work.run(statements.dedupe.release, ...at);
    } else {
      work.run(statements.dedupe.end, status, ...at);
    }
  }
}
