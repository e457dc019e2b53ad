import { show } from '../checker/facts.ts';
import type { Invariant } from '../checker/index.ts';
import type { Evidence, Fault } from '../history.ts';

/** The moment in which something that was wrong for all is right again, as faults write it. */
export const healed = 'healed';

// A call that was on its way into silence is given up after 10 s; then whoever failed waits up to 5 s before it tries again.
const patienceMs = 15_000;

/** From when on somebody was there to do something: other faults may have killed or stopped all nodes meanwhile. */
function awakeFrom(events: Evidence['events'], at: number): number {
  const awake = new Set<string>();
  for (const event of events) {
    if (event.kind !== 'node') continue;
    if (event.at > at && awake.size > 0) break;
    if (event.state === 'up' || event.state === 'resumed') awake.add(event.node);
    else awake.delete(event.node);
    if (event.at > at && awake.size > 0) return event.at;
  }
  return at;
}

/** How long after each moment of healing the first attempt was settled, where nothing else went wrong before. */
export function recoveries({ events }: Pick<Evidence, 'events'>): { fault: Fault; tookMs: number | null }[] {
  const faults = events.filter((event) => event.kind === 'fault');
  const settledAt = events
    .filter((event) => event.kind === 'settled' && event.result === 'done')
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  const endAt = Math.max(0, ...events.map(({ at }) => at));
  return faults
    .filter(({ fault }) => fault === healed)
    .map((fault) => ({ ...fault, at: awakeFrom(events, fault.at) }))
    .flatMap((fault) => {
      const movedAt = settledAt.find((at) => at > fault.at) ?? null;
      const untilAt = movedAt ?? Math.min(endAt, fault.at + patienceMs + 1);
      const isHarmedAgain = faults.some(
        (other) => other.node === '*' && other.at > fault.at && other.at <= untilAt,
      );
      if (isHarmedAgain || (movedAt === null && endAt - fault.at <= patienceMs)) return [];
      return [{ fault, tookMs: movedAt === null ? null : movedAt - fault.at }];
    });
}

/** Nobody needs to be started anew after an outage. */
export const movesAgain: Invariant = {
  name: 'moves-again',
  promise: 'When the store is there again, jobs move again within 15 s.',
  check(evidence) {
    return recoveries(evidence)
      .filter(({ tookMs }) => tookMs === null || tookMs > patienceMs)
      .map(({ fault, tookMs }) => ({
        subjects: [],
        message: `After "${fault.detail}" was over at ${show(fault.at)} ${tookMs === null ? 'nothing was settled any more' : `the first attempt was settled ${tookMs} ms later`}.`,
      }));
  },
};
