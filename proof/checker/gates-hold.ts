import type { Evidence, HistoryEvent } from '../history.ts';
import { type Facts, type Lease, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';
import { holdersOf, isFollowed } from './one-holder.ts';

/** See `promise`. */
export const gatesHold: Invariant = {
  name: 'gates-hold',
  promise:
    'No job starts before what it waits for is over: the runs that an overlap policy put it behind, the started holder of its dedupe key. No call is folded into what has started, unless it is dropped, and no run that has started is told what was merged into it.',
  parts: ['gate', 'follow-up', 'fold', 'merged slot'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { unorderedMs = 0 } = evidence;
    const ends = endsOf(evidence, facts);
    const began = new Set(
      evidence.events.flatMap((event) => (event.kind === 'began' ? [`${event.id}/${event.fence}`] : [])),
    );
    const judge = (part: string, id: string, before: string, why: string): void => {
      const overAt = ends.get(before);
      // What is not there, or was brought back, keeps nobody waiting.
      if (overAt === undefined) return;
      const early = firstLease(facts, id);
      if (early !== null) exercise(part);
      if (early === null || (overAt !== null && overAt <= early.at + unorderedMs)) return;
      problems.push({
        subjects: [id, before],
        message: `Job ${id} was given to ${early.node} at ${show(early.at)}, though ${before}, ${why}, was over at ${show(overAt)}.`,
      });
    };
    for (const { id, gates } of facts.created.values()) {
      // A job that is brought back is due at once, whatever it waited for before.
      if (isBroughtBack(facts, id)) continue;
      for (const ref of gates) judge('gate', id, ref, 'which it waits for');
    }
    for (const all of holdersOf(evidence, facts).values()) {
      for (const [i, job] of all.entries()) {
        // A job that was brought back before its first start does not take its key back, and runs beside the holder.
        if (isBroughtBack(facts, job.id)) continue;
        const holder = all.slice(0, i).find((before) => isFollowed(before, job, unorderedMs));
        if (holder !== undefined) judge('follow-up', job.id, holder.id, 'which had started under its key');
      }
    }
    for (const event of evidence.events) {
      if (event.kind !== 'changed' || event.folded?.replaces !== true || facts.echoes.has(event)) continue;
      exercise('fold');
      const started = (facts.leases.get(event.id) ?? []).find(
        (lease) => lease.at + unorderedMs < event.at && !isGivenBack(facts, lease, began),
      );
      if (started === undefined) continue;
      problems.push({
        subjects: [event.id],
        message: `A call of ${event.node} at ${show(event.at)} was folded into job ${event.id}, which had started at ${show(started.at)}.`,
      });
    }
    if (evidence.isComplete) problems.push(...reportedTooLate(evidence.events, exercise));
    return problems;
  },
};

/** Runs that were told what was merged into them while they ran: their handlers never hear of it. */
function reportedTooLate(
  events: readonly HistoryEvent[],
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const running = new Map<string, { fence: number; at: number }>();
  for (const event of events) {
    if (event.kind === 'claimed') running.set(event.id, event);
    if (event.kind === 'settled' && running.get(event.id)?.fence === event.fence) running.delete(event.id);
    const isWritten =
      (event.kind === 'fired' && event.result === 'fired') ||
      (event.kind === 'applied' && event.result === 'applied');
    if (!isWritten) continue;
    for (const { id } of event.slotDetails) {
      exercise('merged slot');
      const start = running.get(id);
      if (start === undefined) continue;
      problems.push({
        subjects: [id, event.scheduleId],
        message: `Job ${id} was told at ${show(event.at)} what was merged into it, and had started at ${show(start.at)}.`,
      });
    }
  }
  return problems;
}

function firstLease({ leases }: Facts, id: string): Lease | null {
  return leases.get(id)?.find(({ how }) => how === 'claimed') ?? null;
}

/** Whether a job was brought back before its first start. */
function isBroughtBack(facts: Facts, id: string): boolean {
  const startAt = firstLease(facts, id)?.at ?? Number.NEGATIVE_INFINITY;
  return (facts.touched.get(id) ?? []).some(({ verb, at }) => verb === 'retry' && at <= startAt);
}

/** Whether a lease was given back before its handler was entered: then the job has not started. */
function isGivenBack(
  { accepted, touched }: Facts,
  { id, fence }: Lease,
  began: ReadonlySet<string>,
): boolean {
  if (began.has(`${id}/${fence}`)) return false;
  // Brought back, it counts on from what it had.
  if (touched.get(id)?.some(({ verb }) => verb === 'retry')) return true;
  return (accepted.get(id) ?? []).some((one) => one.fence === fence && one.reason === 'released');
}

/** When each job was over, null: it is not; those that were brought back or deleted are left out. */
function endsOf({ final }: Evidence, { touched }: Facts): Map<string, number | null> {
  const isElsewhere = (id: string): boolean =>
    (touched.get(id) ?? []).some(({ verb }) => verb === 'retry' || verb === 'delete' || verb === 'discard');
  return new Map(
    final.jobs.filter(({ id }) => !isElsewhere(id)).map(({ id, finishedAt }) => [id, finishedAt]),
  );
}
