import type {
  GetExpiringInput,
  GetExpiringReply,
  PutExpiringInput,
  PutExpiringItem,
  PutExpiringReply,
  RememberInput,
  RememberReply,
} from '../../../contract/engine.ts';
import { audit } from '../audit.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import { readJobState } from '../transitions.ts';
import type { Work } from '../work.ts';
import { cancelJob } from './act.ts';
import { insertJobs } from './insert-jobs.ts';
import { dueAtOf, findCreated } from './job-spec.ts';
import { moveDue } from './move-due.ts';

interface ValueRow {
  value: string;
  expires_at: number;
  cleanup_id: string | null;
}

type ValueChange = PutExpiringInput['groups'][number]['changes'][number];

/** See the contract. */
export function putExpiring(work: Work, input: PutExpiringInput): Omit<PutExpiringReply, 'now'> {
  const groups = eachGroup(work, input.groups, (group) =>
    group.changes.map((change) => put(work, group.actor, change)),
  );
  return { groups };
}

function put(work: Work, actor: string, change: ValueChange): PutExpiringItem {
  const { name, key } = change;
  const row = work.get<ValueRow>(statements.value.read, name, key);
  const isThere = row !== undefined && row.expires_at > work.now;
  if (change.op === 'put') {
    const expiresAt = dueAtOf(work, change.due);
    // A repeat: the value was put, and what happened to it since stands.
    if (change.cleanup !== null && findCreated(work, change.cleanup) !== undefined) {
      return {
        result: 'changed',
        expiresAt: row?.cleanup_id === change.cleanup.id ? row.expires_at : expiresAt,
      };
    }
    if (isThere) dropCleanup(work, actor, row.cleanup_id, 'replaced');
    if (change.cleanup !== null) insertJobs(work, [{ ...change.cleanup, due: { at: expiresAt } }], null);
    work.run(statements.value.put, name, key, change.value, expiresAt, change.cleanup?.id ?? null);
    return { result: 'changed', expiresAt };
  }
  if (!isThere) return { result: 'missing', expiresAt: null };
  const subject = `value:${name}/${key}`;
  const before = { expiresAt: row.expires_at };
  if (change.op === 'delete') {
    dropCleanup(work, actor, row.cleanup_id, 'deleted');
    work.run(statements.value.delete, name, key);
    audit(work, { actor, action: 'delete', subject, before, after: null, note: null });
    return { result: 'changed', expiresAt: null };
  }
  const expiresAt = dueAtOf(work, change.due);
  work.run(statements.value.extend, expiresAt, name, key);
  const cleanup = row.cleanup_id === null ? undefined : readJobState(work, row.cleanup_id);
  if (cleanup !== undefined && cleanup.status !== 'RUNNING') moveDue(work, cleanup, expiresAt, 'rescheduled');
  audit(work, { actor, action: 'extend', subject, before, after: { expiresAt }, note: null });
  return { result: 'changed', expiresAt };
}

/** A clean-up that is no longer wanted. One whose value is gone already runs all the same: at least once. */
function dropCleanup(work: Work, actor: string, cleanupId: string | null, why: string): void {
  const job = cleanupId === null ? undefined : readJobState(work, cleanupId);
  if (job !== undefined) cancelJob(work, job, 'ask', { actor, note: `value ${why}` });
}

/** See the contract. */
export function getExpiring(work: Work, input: GetExpiringInput): Omit<GetExpiringReply, 'now'> {
  return {
    values: input.keys.map(({ name, key }) => {
      const row = work.get<ValueRow>(statements.value.read, name, key);
      // Gone at its instant, whenever the sweep comes.
      return row === undefined || row.expires_at <= work.now
        ? null
        : { value: row.value, expiresAt: row.expires_at };
    }),
  };
}

/** See the contract. */
export function remember(work: Work, { scope, key, put }: RememberInput): Omit<RememberReply, 'now'> {
  const row = work.get<{ value: string; until_at: number | null }>(statements.value.remembered, scope, key);
  if (row !== undefined && (row.until_at === null || row.until_at > work.now)) {
    return { value: row.value, result: 'present' };
  }
  if (put === null) return { value: null, result: 'absent' };
  if (!guardHolds(work, put.guard)) return { value: null, result: 'lost' };
  const untilAt = put.forMs === null ? null : work.now + put.forMs;
  work.run(statements.value.remember, scope, key, put.value, untilAt);
  return { value: put.value, result: 'written' };
}

function guardHolds(work: Work, guard: NonNullable<RememberInput['put']>['guard']): boolean {
  if ('job' in guard) {
    const job = readJobState(work, guard.job);
    return job !== undefined && job.status === 'RUNNING' && job.fence === guard.fence;
  }
  return work.get<{ fence: number }>(statements.lock.read, guard.lock)?.fence === guard.fence;
}
