import { isTerminal } from '../../packages/core/src/contract/job-status.ts';
import type { Evidence, HistoryEvent } from '../history.ts';
import { type Facts, type Lease, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';
import { type Held, holdersOf, isFollowed } from './one-holder.ts';

/** See `promise`. */
export const gatesHold: Invariant = {
  name: 'gates-hold',
  promise:
    'No job starts before what it waits for is over: the runs that an overlap policy put it behind, the started holder of its dedupe key. No call is folded into what has started, unless it is dropped, and no run that has started is told what was merged into it.',
  parts: ['gate', 'follow-up', 'fold', 'merged slot'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { unorderedMs = 0 } = evidence;
    const waits = evidence.isComplete ? waitsByOrder(evidence, facts) : waitsByFinalState(evidence, facts);
    const began = new Set(
      evidence.events.flatMap((event) => (event.kind === 'began' ? [`${event.id}/${event.fence}`] : [])),
    );
    const judge = (part: string, id: string, before: string, why: string): void => {
      const early = firstLease(facts, id);
      const wait = waits.endOf(before, id);
      if (wait === null || early === null) return;
      exercise(part);
      if (wait.isOverBy(early)) return;
      problems.push({
        subjects: [id, before],
        message: `Job ${id} was given to ${early.node} at ${show(early.at)}, though ${before}, ${why}, was over at ${show(wait.overAt)}.`,
      });
    };
    for (const { id, gates } of facts.created.values()) {
      // A job that is brought back is due at once, whatever it waited for before.
      if (isBroughtBack(evidence, facts, id)) continue;
      for (const ref of gates) judge('gate', id, ref, 'which it waits for');
    }
    for (const all of holdersOf(evidence, facts).values()) {
      for (const [i, job] of all.entries()) {
        // A job that was brought back before its first start does not take its key back, and runs beside the holder.
        if (isBroughtBack(evidence, facts, job.id)) continue;
        const holder = all.slice(0, i).find((before) => waits.isBehind(job, before));
        if (holder !== undefined) judge('follow-up', job.id, holder.id, 'which had started under its key');
      }
    }
    for (const event of evidence.events) {
      if (event.kind !== 'changed' || event.folded?.replaces !== true || facts.echoes.has(event)) continue;
      exercise('fold');
      const started = (facts.leases.get(event.id) ?? []).find(
        (lease) => lease.at + unorderedMs < event.at && !isGivenBack(evidence, facts, lease, event, began),
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

function firstLease({ leases }: Pick<Facts, 'leases'>, id: string): Lease | null {
  return leases.get(id)?.find(({ how }) => how === 'claimed') ?? null;
}

/** Whether a job was brought back before its first start. */
function isBroughtBack({ isComplete }: Evidence, { leases, touched, indexOf }: Facts, id: string): boolean {
  const start = firstLease({ leases }, id);
  return (touched.get(id) ?? []).some(
    (act) =>
      act.verb === 'retry' &&
      (isComplete
        ? indexIn(indexOf, act) < (start?.index ?? Number.NEGATIVE_INFINITY)
        : act.at <= (start?.at ?? Number.NEGATIVE_INFINITY)),
  );
}

/** Whether a lease was given back before its handler was entered, and before a call was folded into its job: then the job has not started. */
function isGivenBack(
  { isComplete }: Evidence,
  { accepted, touched, indexOf }: Facts,
  { id, fence, index }: Lease,
  fold: HistoryEvent,
  began: ReadonlySet<string>,
): boolean {
  if (began.has(`${id}/${fence}`)) return false;
  const isBetween = (event: HistoryEvent): boolean =>
    !isComplete || (indexIn(indexOf, event) > index && indexIn(indexOf, event) < indexIn(indexOf, fold));
  // Brought back, it counts on from what it had.
  if (touched.get(id)?.some((act) => act.verb === 'retry' && isBetween(act))) return true;
  return (accepted.get(id) ?? []).some(
    (one) => one.fence === fence && one.reason === 'released' && isBetween(one),
  );
}

/** What a job waited for, as the history tells it. */
interface Waits {
  /** How the job `before` ended that another one waits for; null: it keeps nobody waiting, or that is not told. */
  endOf(before: string, id: string): Wait | null;
  /** Whether a job was created behind the started holder of its dedupe key. */
  isBehind(job: Held, holder: Held): boolean;
}

interface Wait {
  /** When it was over; null: never. */
  overAt: number | null;
  /** Whether it was over when this lease was given. */
  isOverBy(lease: Lease): boolean;
}

/** One end of a job; `index` null: no event tells of it. */
interface End {
  at: number;
  index: number | null;
}

/**
 * In a complete history what counts is what became of a job since the one behind it was created, in the store's order: what somebody
 * does to it after that one has started is no excuse.
 */
function waitsByOrder(evidence: Evidence, facts: Facts): Waits {
  const { created, accepted, touched, indexOf } = facts;
  const silentEnds = silentEndsOf(evidence.final);

  /** When a job was brought back or deleted. What took effect is all that a complete history has. */
  const actsOn = (id: string) =>
    (touched.get(id) ?? []).filter(({ verb }) => verb === 'retry' || verb === 'delete');

  /** The ends of a job from an event on. Where it was brought back it had ended, and where it was deleted it is gone. */
  const endsFrom = (id: string, from: { at: number; index: number }): End[] => {
    const told = [
      ...(accepted.get(id) ?? []).filter(({ to }) => isTerminal(to)),
      ...(touched.get(id) ?? []).filter(
        ({ verb, result, status }) =>
          result === 'changed' && (verb === 'terminate' || (status !== null && isTerminal(status))),
      ),
    ];
    const silent = [...(silentEnds.get(id) ?? [])];
    for (const { at } of told) if (silent.includes(at)) silent.splice(silent.indexOf(at), 1);
    return [
      ...[...told, ...actsOn(id)].map((event) => ({ at: event.at, index: indexIn(indexOf, event) })),
      ...silent.map((at) => ({ at, index: null })),
    ].filter(({ at, index }) => (index === null ? at >= from.at : index > from.index));
  };
  const firstOf = (ends: readonly End[]): number | null =>
    ends.length === 0 ? null : Math.min(...ends.map(({ at }) => at));

  return {
    endOf(before, id) {
      const awaited = created.get(before);
      const waiting = created.get(id);
      if (awaited === undefined || waiting === undefined) return null;
      const past = actsOn(before).filter((act) => indexIn(indexOf, act) < waiting.createdIndex);
      // What is not there keeps nobody waiting.
      if (past.some(({ verb }) => verb === 'delete')) return null;
      const back = past.at(-1);
      const ends = endsFrom(
        before,
        back === undefined
          ? { at: awaited.createdAt, index: awaited.createdIndex }
          : { at: back.at, index: indexIn(indexOf, back) },
      );
      return {
        overAt: firstOf(ends),
        isOverBy: (lease) =>
          ends.some(({ at, index }) => (index === null ? at <= lease.at : index < lease.index)),
      };
    },
    isBehind(job, holder) {
      // Brought back, it may run beside whoever holds the key by then.
      if (actsOn(holder.id).some((act) => indexIn(indexOf, act) < job.createdOrder)) return false;
      const overAt = firstOf(endsFrom(holder.id, { at: holder.createdAt, index: holder.createdOrder }));
      return isFollowed({ ...holder, overAt }, job, 0);
    },
  };
}

/** Where notes are missing the jobs themselves tell when they were over; those that were brought back or deleted do not. */
function waitsByFinalState({ final, unorderedMs = 0 }: Evidence, { touched }: Facts): Waits {
  const isElsewhere = (id: string): boolean =>
    (touched.get(id) ?? []).some(({ verb }) => verb === 'retry' || verb === 'delete' || verb === 'discard');
  const ends = new Map(
    final.jobs.filter(({ id }) => !isElsewhere(id)).map(({ id, finishedAt }) => [id, finishedAt]),
  );
  return {
    endOf(before) {
      const overAt = ends.get(before);
      if (overAt === undefined) return null;
      return { overAt, isOverBy: ({ at }) => overAt !== null && overAt <= at + unorderedMs };
    },
    isBehind: (job, holder) => isFollowed(holder, job, unorderedMs),
  };
}

/** When each job ended, also where no event tells of it: by a policy, by a deadline, or after it was asked to cancel. */
function silentEndsOf({ feed, jobs }: Evidence['final']): Map<string, number[]> {
  const ends = new Map<string, number[]>();
  const add = (id: string, at: number): void => void ends.set(id, [...(ends.get(id) ?? []), at]);
  // The feed also has the ends of those that were deleted or brought back since.
  for (const { id, at, event, status } of feed ?? [])
    if (event !== 'deleted' && isTerminal(status)) add(id, at);
  if (feed !== undefined) return ends;
  for (const { id, finishedAt } of jobs) if (finishedAt !== null) add(id, finishedAt);
  return ends;
}

function indexIn(indexOf: Facts['indexOf'], event: HistoryEvent): number {
  return indexOf.get(event) ?? Number.NaN;
}
