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

interface LockRow {
  fence: number;
  /** In steady time. */
  until: number;
  token: string;
  holder: string;
}

/** Distributes over the union, so that the two answers keep their own fields. */
type WithoutNow<T> = T extends unknown ? Omit<T, 'now'> : never;

/** See the contract. */
export function acquire(work: Work, input: AcquireInput): WithoutNow<AcquireReply> {
  const row = work.get<LockRow>(statements.lock.read, input.name);
  const toNow = (until: number) => until - work.steady + work.now;
  const isFree = row === undefined || row.until <= work.steady;
  if (!isFree && row.token === input.token)
    return { acquired: true, fence: row.fence, untilAt: toNow(row.until) };
  if (!isFree) {
    return {
      acquired: false,
      holder: JSON.parse(row.holder) as LockHolder,
      fence: row.fence,
      untilAt: toNow(row.until),
    };
  }
  const fence = work.fences(1);
  const until = work.steady + input.ttlMs;
  work.run(statements.lock.take, {
    name: input.name,
    fence,
    until,
    token: input.token,
    holder: JSON.stringify(input.holder),
  });
  return { acquired: true, fence, untilAt: toNow(until) };
}

/** See the contract. A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. */
export function renew(work: Work, input: LocksInput & { ttlMs: number }): Omit<LocksReply, 'now'> {
  const until = work.steady + input.ttlMs;
  return {
    locks: input.locks.map(({ name, fence }) =>
      work.run(statements.lock.renew, until, name, fence) === 1 ? 'kept' : 'lost',
    ),
  };
}

/** See the contract. */
export function release(work: Work, input: LocksInput): Omit<LocksReply, 'now'> {
  const locks = input.locks.map(({ name, fence }) =>
    work.run(statements.lock.release, name, fence) === 1 ? ('kept' as const) : ('lost' as const),
  );
  work.notifications.add('locks');
  return { locks };
}

/** See the contract. */
export function heldLocks(work: Work, { prefix, after, limit }: HeldLocksInput): Omit<HeldLocksReply, 'now'> {
  const end = prefixEnd(prefix);
  const rows = work.all<LockRow & { name: string }>(
    end === null ? statements.lock.heldFrom : statements.lock.heldBetween,
    { prefix, after: after ?? '', steady: work.steady, limit, ...(end === null ? {} : { end }) },
  );
  return {
    locks: rows.map(({ name, fence, holder, until }) => ({
      name,
      fence,
      holder: JSON.parse(holder) as LockHolder,
      untilAt: until - work.steady + work.now,
    })),
  };
}
