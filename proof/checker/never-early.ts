import type { HistoryEvent } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const neverEarly: Invariant = {
  name: 'never-early',
  promise:
    'Nothing starts before its time: no attempt before its due instant, no slot decided before it has come.',
  parts: ['first attempt', 'later attempt', 'slot'],
  check({ events, isComplete }, { leases, created, accepted, touched }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const unknownMoves = isComplete ? new Map<string, number>() : unknownMovesOf(events);
    for (const [id, all] of leases) {
      const changes = touched.get(id) ?? [];
      for (const lease of all) {
        if (lease.how !== 'claimed') continue;
        const early = (dueAt: number, whose: string): void => {
          if (lease.at >= dueAt) return;
          problems.push({
            subjects: [id],
            message: `Job ${id} was given to ${lease.node} at ${show(lease.at)}, before ${whose} (${show(dueAt)}).`,
          });
        };
        early(lease.dueAt ?? lease.at, 'the due instant that the store told');
        // What the promise said, and what the last outcome said, unless a person moved it.
        const isMoved = changes.some(({ verb, at }) => verb !== 'cancel' && at <= lease.at);
        if (isMoved || (unknownMoves.get(id) ?? Number.POSITIVE_INFINITY) <= lease.at) continue;
        const before = (accepted.get(id) ?? []).filter(({ fence }) => fence < lease.fence).at(-1);
        // Sent again after a lost answer: the first has taken effect at an instant that nobody noted, and its delay counts from there.
        if (before?.repeat && !isComplete) continue;
        const promise = created.get(id);
        // Noted only after it was given: the answer to its making was lost, and who asked again was told when it is due by now.
        const isLate = !isComplete && promise !== undefined && promise.createdAt > lease.at;
        const dueAt = before === undefined ? (isLate ? null : promise?.dueAt) : before.dueAt;
        if (dueAt === undefined || dueAt === null) continue;
        // A job that was due when it was created or settled cannot start early.
        if (dueAt > (before?.at ?? promise?.createdAt ?? dueAt))
          exercise(before === undefined ? 'first attempt' : 'later attempt');
        early(dueAt, 'the instant it was promised for');
      }
    }
    for (const event of events) {
      if (event.kind === 'began') {
        const lease = leases.get(event.id)?.find(({ fence }) => fence === event.fence);
        if (lease !== undefined && event.at >= lease.at) continue;
        problems.push({
          subjects: [event.id],
          message: `The handler of job ${event.id} began at ${show(event.at)} on ${event.node} without a lease given before.`,
        });
      }
      const isFired = event.kind === 'fired' && event.result === 'fired';
      const isApplied = event.kind === 'applied' && event.result === 'applied';
      if (!isFired && !isApplied) continue;
      for (const { toAt, decision } of event.slots) {
        exercise('slot');
        if (toAt <= event.at) continue;
        problems.push({
          subjects: [event.scheduleId],
          message: `Slot ${show(toAt)} of ${event.scheduleId} was decided (${decision}) at ${show(event.at)}, before it came.`,
        });
      }
    }
    return problems;
  },
};

/** Of jobs that clean up a value: since when a call about it had no answer. It may have moved the end of the value, and the job with it. */
function unknownMovesOf(events: readonly HistoryEvent[]): Map<string, number> {
  const cleanups = new Map<string, string[]>();
  const answered = new Set<number>();
  for (const event of events) {
    if (event.kind === 'answered' && event.outcome !== 'unknown') answered.add(event.call);
    if (event.kind !== 'valued' || event.cleanupId === null) continue;
    const subject = `${event.name}/${event.key}`;
    cleanups.set(subject, [...(cleanups.get(subject) ?? []), event.cleanupId]);
  }
  const moves = new Map<string, number>();
  for (const event of events) {
    if (event.kind !== 'asked' || event.what !== 'value' || answered.has(event.call)) continue;
    for (const id of cleanups.get(event.subject ?? '') ?? [])
      moves.set(id, Math.min(moves.get(id) ?? event.at, event.at));
  }
  return moves;
}
