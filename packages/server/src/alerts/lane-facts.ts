import type { FactSource } from './alert-kind.ts';

/** Jobs that are due and wait, by queue, type and version. */
export interface LaneFact {
  queue: string;
  type: string;
  version: number;
  readyCount: number;
  oldestDueAt: number | null;
}

/** Lanes with the pauses in force. A paused lane waits because a user wants it to. */
export interface LaneFacts {
  now: number;
  lanes: readonly LaneFact[];
  pauses: readonly { scope: 'all' | 'queue' | 'type'; name: string | null }[];
}

/** Lanes and pauses of the source. */
export function laneFacts({ now, counts, pauses }: FactSource): LaneFacts {
  return {
    now,
    pauses,
    lanes: counts.lanes.map(({ ready, ...lane }) => ({ ...lane, readyCount: ready.count })),
  };
}

/** Lanes that are not paused and whose oldest job has waited for longer than `afterMs`. */
export function lateLanes({ now, lanes, pauses }: LaneFacts, afterMs: number): LaneFact[] {
  return lanes.filter(
    (lane) =>
      lane.oldestDueAt !== null &&
      now - lane.oldestDueAt > afterMs &&
      !pauses.some(
        ({ scope, name }) =>
          scope === 'all' || (scope === 'queue' ? name === lane.queue : name === lane.type),
      ),
  );
}

/** How many jobs of the lanes wait: `1 job waits`, `3 jobs wait`. */
export function waitingText(lanes: readonly LaneFact[]): string {
  const count = lanes.reduce((sum, lane) => sum + lane.readyCount, 0);
  return count === 1 ? '1 job waits' : `${count} jobs wait`;
}
