import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const releasesRise: Invariant = {
  name: 'releases-rise',
  promise: 'What a release declared is never changed or disabled by an older one.',
  parts: ['newer release', 'older process'],
  check({ events }, _facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const highest = new Map<string, { release: string; at: number }>();
    for (const event of events) {
      if (event.kind === 'node' && event.state === 'up' && event.release !== undefined) {
        const own = Number(event.release);
        if ([...highest.values()].some(({ release }) => own < Number(release))) exercise('older process');
      }
      if (event.kind !== 'applied' || event.result !== 'applied') continue;
      if (event.spec === null) {
        highest.delete(event.scheduleId);
        continue;
      }
      const { release } = JSON.parse(event.spec) as { release: string | null };
      const before = highest.get(event.scheduleId);
      if (release === null) continue;
      if (before !== undefined && Number(release) > Number(before.release)) exercise('newer release');
      if (before !== undefined && Number(release) < Number(before.release)) {
        problems.push({
          subjects: [event.scheduleId],
          message: `${event.scheduleId} was declared by release ${before.release} at ${show(before.at)}, and ${event.node} made it release ${release} at ${show(event.at)} (${event.action}).`,
        });
      }
      highest.set(event.scheduleId, { release, at: event.at });
    }
    return problems;
  },
};
