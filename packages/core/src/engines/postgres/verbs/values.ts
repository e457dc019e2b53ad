import type {
  GetExpiringInput,
  GetExpiringReply,
  JobSpec,
  PutExpiringInput,
  PutExpiringItem,
  PutExpiringReply,
  RememberInput,
  RememberReply,
} from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { checkedDue, writtenSpec } from '../job-columns.ts';
import { type AnsweredGroup, eachGroup, type Work } from '../work.ts';

type ValueChange = PutExpiringInput['groups'][number]['changes'][number];

/** See the contract. */
export function putExpiring(work: Work, input: PutExpiringInput): Promise<PutExpiringReply> {
  return eachGroup(
    input.groups,
    ({ actor, changes }) => ({ actor, changes: changes.map(writtenChange) }),
    (groups) =>
      work.call<{ groups: AnsweredGroup<PutExpiringItem>[] }>(
        statements.call.putExpiring,
        [input.now ?? null, JSON.stringify(groups)],
        input.groups.flatMap(({ changes }) => changes.flatMap(cleanupsOf)),
      ),
  );
}

function cleanupsOf(change: ValueChange): JobSpec[] {
  return change.op === 'put' && change.cleanup !== null ? [change.cleanup] : [];
}

function writtenChange(change: ValueChange): object {
  if (change.op === 'delete') return change;
  const due = checkedDue(change.due);
  if (change.op === 'extend') return { ...change, due };
  return { ...change, due, cleanup: change.cleanup === null ? null : writtenSpec(change.cleanup) };
}

/** See the contract. */
export async function getExpiring(work: Work, input: GetExpiringInput): Promise<GetExpiringReply> {
  const rows = await work.rows<{ now: number; i: number | null; value: string | null; expires_at: number }>(
    statements.value.get,
    [input.now ?? null, JSON.stringify(input.keys)],
  );
  return {
    now: (rows[0] as { now: number }).now,
    values: rows
      .filter(({ i }) => i !== null)
      .map(({ value, expires_at }) => (value === null ? null : { value, expiresAt: expires_at })),
  };
}

/** See the contract. */
export async function remember(work: Work, input: RememberInput): Promise<RememberReply> {
  const { now, value, result } = await work.call<RememberReply>(statements.call.remember, [
    input.now ?? null,
    input.scope,
    input.key,
    input.put === null ? null : JSON.stringify(input.put),
  ]);
  return { now, value, result };
}
