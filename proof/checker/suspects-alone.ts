import { type Facts, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const suspectsAlone: Invariant = {
  name: 'suspects-alone',
  promise:
    'A job that was lost before is given to a worker by itself, and its beginning is written before its handler is entered.',
  parts: ['claimed', 'began'],
  check({ events, isComplete }, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const given = new Set<number>();
    const begun = new Set<string>();
    const takenAt = new Map<number, number>();
    for (const event of events) {
      if (event.kind === 'renewed' && event.begun && event.state !== 'lost')
        begun.add(`${event.id}/${event.fence}`);
      if (event.kind === 'claimed' && !given.has(event.fence)) {
        // A repeated claim answers with what is left of what it gave.
        given.add(event.fence);
        takenAt.set(event.fence, event.at);
        if (!wasLost(facts, event.id, event.fence, event.at)) continue;
        exercise('claimed');
        if (event.together === 1) continue;
        problems.push({
          subjects: [event.id],
          message: `Job ${event.id} was lost before, and was given to ${event.node} at ${show(event.at)} together with ${event.together - 1} others.`,
        });
      }
      // What a process noted of its heartbeats may be missing.
      if (event.kind !== 'began' || !isComplete) continue;
      if (!wasLost(facts, event.id, event.fence, takenAt.get(event.fence) ?? event.at)) continue;
      exercise('began');
      if (begun.has(`${event.id}/${event.fence}`)) continue;
      problems.push({
        subjects: [event.id],
        message: `Job ${event.id} was lost before, and began on ${event.node} at ${show(event.at)} (fence ${event.fence}) without a written beginning.`,
      });
    }
    return problems;
  },
};

/** Whether a job was lost before it was given out under a fence; brought back by a person, it begins anew. */
function wasLost({ accepted, touched }: Facts, id: string, fence: number, at: number): boolean {
  if (touched.get(id)?.some((one) => one.verb === 'retry' && one.at <= at)) return false;
  return (accepted.get(id) ?? []).some((one) => one.fence < fence && one.reason === 'lost');
}
