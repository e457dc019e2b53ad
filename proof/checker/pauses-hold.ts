import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const pausesHold: Invariant = {
  name: 'pauses-hold',
  promise: 'While a queue, a task or everything is paused, nothing of it is given to a worker.',
  check({ events, unorderedMs = 0 }, { created }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const pauses = new Map<string, { at: number; untilAt: number }>();
    const given = new Set<number>();
    /** When the last pause of a target ended, or will end. */
    const ends = new Map<string, number>();
    // Of a resume whose caller was killed nobody knows when it took effect: from when it was asked on, nothing is said.
    for (const event of events) {
      if (event.kind === 'asked' && event.what === 'resumeClaims') pauses.delete(event.subject as string);
      if (event.kind === 'claimsPaused') {
        const { target, state, at, untilAt } = event;
        const endAt = state === 'resumed' ? at : (untilAt ?? Number.POSITIVE_INFINITY);
        ends.set(target, state === 'resumed' ? Math.min(endAt, ends.get(target) ?? 0) : endAt);
        if (state === 'resumed') pauses.delete(target);
        else pauses.set(target, { at, untilAt: untilAt ?? Number.POSITIVE_INFINITY });
      }
      if (event.kind !== 'claimed' || given.has(event.fence)) continue;
      // A repeated claim answers with the leases that it gave before.
      given.add(event.fence);
      const readyAt = Math.max(event.dueAt, created.get(event.id)?.createdAt ?? event.at);
      for (const target of ['all', `queue:${event.queue}`, `type:${event.type}`]) {
        // The job was due before the pause ended, so it had to wait.
        if (readyAt < (ends.get(target) ?? readyAt)) exercise();
        const pause = pauses.get(target);
        // Calls of one millisecond may have come in either order.
        if (pause === undefined || event.at <= pause.at + unorderedMs || event.at >= pause.untilAt) continue;
        problems.push({
          subjects: [event.id, `pause:${target}`],
          message: `Job ${event.id} was given to ${event.node} at ${show(event.at)}, though "${target}" was paused from ${show(pause.at)}${Number.isFinite(pause.untilAt) ? ` to ${show(pause.untilAt)}` : ' on'}.`,
        });
      }
    }
    return problems;
  },
};
