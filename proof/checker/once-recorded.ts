import type { Remembered } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const onceRecorded: Invariant = {
  name: 'once-recorded',
  promise:
    'What was recorded by `once` stays: nobody runs it again, and everybody is given that result. Nobody records under a dead fence.',
  parts: ['recorded before', 'dead fence'],
  check({ events, isComplete, unorderedMs = 0 }, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const written = new Map<string, { at: number; value: string | null; node: string }>();
    const given = new Map<string, string>();
    /** How often a node found nothing and has not run it since: two attempts of a job may be on one node. */
    const absent = new Map<string, number>();
    const locks = new Map<string, number>();
    /** When each lock was granted, by name and fence. */
    const grantedAt = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'locked' && event.result === 'acquired') {
        locks.set(event.name, event.fence);
        grantedAt.set(`${event.name} ${event.fence}`, event.at);
      }
      // A deleted job's steps go with it. An attempt that has not heard of the deletion finds nothing.
      if (event.kind === 'changed' && event.verb === 'delete' && event.result === 'changed') {
        for (const where of written.keys()) if (where.startsWith(`job:${event.id}/`)) written.delete(where);
        for (const where of given.keys()) if (where.startsWith(`job:${event.id}/`)) given.delete(where);
      }
      if (event.kind !== 'remembered' && event.kind !== 'once') continue;
      const where = `${event.scope ?? 'once'}/${event.key}`;
      const before = written.get(where);
      const fail = (message: string): void =>
        void problems.push({
          subjects: [where, `lock:once:${event.key}`],
          message: `${where}: ${message}${before === undefined ? '' : ` (recorded by ${before.node} at ${show(before.at)} as ${before.value})`}.`,
        });
      if (before !== undefined) exercise('recorded before');
      if (event.kind === 'remembered' && event.result === 'lost') exercise('dead fence');
      // What two processes saw at about the same time is in no order.
      const isAfter = before !== undefined && event.at > before.at + unorderedMs;
      if (event.kind === 'once') {
        if (event.state === 'ran') {
          // Two attempts of a job may run its step, if both found nothing. `once` runs under its lock, whose fence is the value.
          const mayRun =
            event.scope === undefined
              ? !isAfter || isOutrun(facts, grantedAt.get(`once:${event.key} ${event.value}`), event.at)
              : takeOne(absent, `${event.node} ${where}`);
          if (!mayRun) fail(`${event.node} ran it at ${show(event.at)}`);
          continue;
        }
        const known = before?.value ?? given.get(where);
        if (known !== undefined && known !== null && known !== event.value)
          fail(`${event.node} was given ${event.value} at ${show(event.at)}, another ${known}`);
        given.set(where, event.value);
        continue;
      }
      const { result, value, node, at } = event;
      if (result === 'absent') absent.set(`${node} ${where}`, (absent.get(`${node} ${where}`) ?? 0) + 1);
      const { guard } = event;
      if (result === 'written' && guard !== undefined && isComplete && isDead(guard, at, facts, locks))
        fail(`${node} wrote ${value} at ${show(at)} under fence ${guard.fence}, which was dead`);
      if (result === 'written') {
        if (before !== undefined) fail(`${node} wrote ${value} at ${show(at)}`);
        else written.set(where, { at, value, node });
      } else if (result === 'absent' && isAfter) fail(`${node} found nothing at ${show(at)}`);
      else if (result === 'present' && before !== undefined && value !== before.value)
        fail(`${node} found ${value} at ${show(at)}`);
    }
    return problems;
  },
};

/**
 * Whether the store's clock has jumped over the end of a lock. Its holder counts by a monotonic clock, which does not jump, so it notices the
 * end only when a renewal is refused.
 */
function isOutrun({ faults }: Facts, grantedAt: number | undefined, at: number): boolean {
  return faults.some(
    (jump) =>
      jump.fault === 'store-clock-jump' &&
      grantedAt !== undefined &&
      grantedAt <= jump.at &&
      at >= jump.at &&
      at <= (jump.untilAt ?? jump.at),
  );
}

/** Takes one of what is counted; false: there was none. */
function takeOne(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0;
  counts.set(key, Math.max(0, count - 1));
  return count > 0;
}

/** Whether the lease or the lock under which something was recorded was somebody else's by then. */
function isDead(
  guard: NonNullable<Remembered['guard']>,
  at: number,
  { leases, accepted }: Facts,
  locks: ReadonlyMap<string, number>,
): boolean {
  if ('lock' in guard) return locks.get(guard.lock) !== guard.fence;
  const isTaken = leases.get(guard.job)?.some((lease) => lease.fence > guard.fence && lease.at < at);
  const isSettled = accepted.get(guard.job)?.some((one) => one.fence === guard.fence && one.at < at);
  return isTaken === true || isSettled === true;
}
