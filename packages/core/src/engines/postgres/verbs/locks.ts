import type {
  AcquireInput,
  AcquireReply,
  HeldLocksInput,
  HeldLocksReply,
  LockHolder,
  LocksInput,
  LocksReply,
} from '../../../contract/engine.ts';
import { prefixEnd } from '../../shared/prefix-end.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export async function acquire(work: Work, input: AcquireInput): Promise<AcquireReply> {
  const { now, acquired, fence, untilAt, holder } = await work.call<{
    acquired: boolean;
    fence: number;
    untilAt: number;
    holder: string;
  }>(statements.call.acquire, [
    input.now ?? null,
    input.name,
    input.token,
    JSON.stringify(input.holder),
    input.ttlMs,
  ]);
  if (acquired) return { now, acquired, fence, untilAt };
  return { now, acquired, holder: JSON.parse(holder) as LockHolder, fence, untilAt };
}

/** See the contract. A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. */
export function renew(work: Work, input: LocksInput & { ttlMs: number }): Promise<LocksReply> {
  return keep(work, input, input.ttlMs);
}

/** See the contract. */
export function release(work: Work, input: LocksInput): Promise<LocksReply> {
  return keep(work, input, null);
}

async function keep(work: Work, input: LocksInput, ttlMs: number | null): Promise<LocksReply> {
  const { now, kept } = await work.call<{ kept: boolean[] }>(statements.call.keepLocks, [
    input.now ?? null,
    JSON.stringify(input.locks),
    ttlMs,
  ]);
  return { now, locks: kept.map((isKept) => (isKept ? 'kept' : 'lost')) };
}

interface HeldRow {
  now: number;
  /** null in the one row that only tells the instant. */
  name: string | null;
  fence: number;
  until_at: number;
  holder: string;
}

/** See the contract. */
export async function heldLocks(
  work: Work,
  { now, prefix, after, limit }: HeldLocksInput,
): Promise<HeldLocksReply> {
  const rows = await work.rows<HeldRow>(statements.lock.held, [
    now ?? null,
    prefix,
    prefixEnd(prefix),
    after ?? '',
    limit,
  ]);
  return {
    now: (rows[0] as HeldRow).now,
    locks: rows.flatMap(({ name, fence, holder, until_at: untilAt }) =>
      name === null ? [] : [{ name, fence, holder: JSON.parse(holder) as LockHolder, untilAt }],
    ),
  };
}
