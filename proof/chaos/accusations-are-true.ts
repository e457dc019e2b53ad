import { show } from '../checker/facts.ts';
import type { Invariant } from '../checker/index.ts';
import type { HistoryEvent } from '../history.ts';

const code = 'store_locked_by_user_transaction';
// From the store's last try to the note of its answer, in a process whose main thread may be busy with its own transaction.
const onTheWayMs = 1_500;

/** See `promise`. */
export const accusationsAreTrue: Invariant = {
  name: 'accusations-are-true',
  promise: `No call fails with "${code}" unless the process itself has a transaction of its own open.`,
  check({ events }) {
    const spans = spansOf(events);
    const problems: ReturnType<Invariant['check']> = [];
    for (const event of events) {
      if (!isAccused(event)) continue;
      const { node, at } = event;
      const isTrue = spans.some(
        (span) => span.process === node && span.fromAt <= at && span.toAt >= at - onTheWayMs,
      );
      if (isTrue) continue;
      problems.push({
        subjects: [],
        message: `${node} was told at ${show(at)} that its own transaction has the store locked, and it had none.`,
      });
    }
    return problems;
  },
};

function isAccused(event: HistoryEvent): boolean {
  if (event.kind === 'answered') return event.code === code;
  if (event.kind !== 'fault' || event.fault !== 'call-failed') return false;
  return event.detail?.includes(`: ${code}`) === true;
}

/** From when until when each process had a transaction of its own open. */
function spansOf(events: readonly HistoryEvent[]): { process: string; fromAt: number; toAt: number }[] {
  const spans = new Map<string, { process: string; fromAt: number; toAt: number }>();
  for (const event of events) {
    if (event.kind !== 'ownTransaction') continue;
    const { process, n, at, state } = event;
    const key = `${process}/${n}`;
    if (state === 'open') spans.set(key, { process, fromAt: at, toAt: Number.POSITIVE_INFINITY });
    const span = spans.get(key);
    if (state === 'over' && span !== undefined) span.toAt = at;
  }
  return [...spans.values()];
}
