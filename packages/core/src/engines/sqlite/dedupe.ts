import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** The id of the job that holds a dedupe key at this instant. */
export function holderOf(
  work: Work,
  { type, tenant, key }: { type: string; tenant: string | null; key: string },
): string | null {
  const held = work.get<{ job_id: string; until_at: number | null }>(
    statements.dedupe.holder,
    type,
    tenant ?? '',
    key,
  );
  if (held === undefined || (held.until_at !== null && held.until_at <= work.now)) return null;
  return held.job_id;
}
