import type { JobFilter } from '../../contract/engine.ts';
import type { JobStatus } from '../../contract/job-status.ts';

/** So many jobs of each table are looked at for one page: some ten milliseconds. */
export const scanCountMax = 20_000;

// Nearly every page is full long before that, and finding out where a look ends costs as much as the look.
const nearCountMin = 1_000;

/** How far a page looks at first; only if that does not fill it, as far as a page may. */
export function nearScanCount(limit: number): number {
  return Math.min(scanCountMax, Math.max(nearCountMin, 2 * limit));
}

/** So many are read from here and there, and sorted, for one page: as long as a look takes. */
export const fewCountMax = 5_000;

/** Whether an index leads to all that is wanted, however far apart it lies. */
export function isFoundByIndex({ ids, scheduleId, dead }: JobFilter): boolean {
  return ids !== undefined || scheduleId !== undefined || dead === true;
}

/** A column whose jobs that are over stand together in an index, in the order of their ids. */
export type LeadColumn = 'tenant' | 'dedupe_key' | 'parent_id';

/**
 * The column by which jobs that are over are looked through; null: all of them are. The latest job of a tenant, or of a key, may lie behind
 * millions of others. Those with a parent or a key are the fewest.
 */
export function leadOf({
  parentId,
  dedupeKey,
  tenant,
}: JobFilter): { column: LeadColumn; value: string } | null {
  if (parentId !== undefined) return { column: 'parent_id', value: parentId };
  if (dedupeKey !== undefined) return { column: 'dedupe_key', value: dedupeKey };
  return tenant === undefined || tenant === null ? null : { column: 'tenant', value: tenant };
}

/** Jobs that an index holds by themselves, because there are few of them when all is well. */
export type FewKind = 'odd' | 'running' | 'blocked';

/**
 * Which of them the statuses of a filter name, among those of jobs that are over or of the others; null: also some of which there may be any
 * number. A filter on the three that ran away among millions that completed would otherwise read all the millions.
 */
export function fewOf(status: readonly JobStatus[] | undefined, isOver: boolean): FewKind | null {
  if (status === undefined || status.length === 0) return null;
  if (isOver) return status.includes('COMPLETED') ? null : 'odd';
  if (status.every((one) => one === 'RUNNING')) return 'running';
  return status.every((one) => one === 'BLOCKED') ? 'blocked' : null;
}
