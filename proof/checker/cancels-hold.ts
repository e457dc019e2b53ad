import type { JobRecord } from '../../packages/core/src/contract/engine.ts';
import type { Evidence, HistoryEvent } from '../history.ts';
import { DedupeKeys, keyName } from '../model/dedupe-keys.ts';
import { type Facts, isOver, type Lease, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

interface Ended {
  id: string;
  at: number;
  /** Index of the event that ended it. */
  index: number;
  by: string;
  /**
   * `asked`: it ran and was asked; `ask`: if it runs; `terminate`: whatever it does; `unstarted`: only if it was never claimed;
   * `follow-up`: it waited behind the holder of a key that a cancel named.
   */
  mode: 'ask' | 'asked' | 'terminate' | 'unstarted' | 'follow-up';
}

/** See `promise`. */
export const cancelsHold: Invariant = {
  name: 'cancels-hold',
  promise:
    'What was asked to cancel is CANCELLED, at once unless it runs, and never starts again; so is the follow-up behind the holder of a key that was cancelled, what an overlap policy ends, and what waits when its schedule is deleted. Nobody is told of a cancel, and nothing is CANCELLED, unless somebody asked.',
  parts: ['ask', 'asked', 'terminate', 'unstarted', 'follow-up', 'cancelled'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { isComplete, unorderedMs = 0 } = evidence;
    const jobs = new Map(evidence.final.jobs.map((job) => [job.id, job]));
    const ends = endsOf(evidence, facts);
    for (const { id, at, index, by, mode } of ends) {
      const acts = (facts.touched.get(id) ?? []).filter(({ verb }) => verb === 'retry' || verb === 'delete');
      if (!isComplete && acts.some((act) => act.at >= at - unorderedMs)) continue;
      // What was deleted or brought back later is judged by what happened until then.
      const untilIndex = isComplete
        ? acts.map((act) => indexIn(facts, act)).find((actIndex) => actIndex > index)
        : undefined;
      const job = jobs.get(id);
      if (untilIndex === undefined && (job === undefined || isOverBefore(job, at, unorderedMs))) continue;
      const leases = facts.leases.get(id) ?? [];
      const isLater = (lease: Lease): boolean =>
        isComplete ? lease.index > index : lease.at > at + unorderedMs;
      const last = leases.filter((lease) => !isLater(lease)).at(-1);
      // An attempt that was ended by force has no outcome, and runs no more when its job is brought back.
      const isOfEarlierLife =
        isComplete && last !== undefined && acts.some((act) => isBetween(facts, act, last.index, index));
      const isRunning =
        last !== undefined && !isOfEarlierLife && !isSettledBefore(last, { at, index }, isComplete);
      if (mode === 'unstarted' && last !== undefined) continue;
      const fail = (message: string): void =>
        void problems.push({
          subjects: [id],
          message: `Job ${id} was to be ended by ${by} at ${show(at)}, and ${message}.`,
        });
      exercise(mode);
      const again = leases.find(
        (lease) => lease.how === 'claimed' && isLater(lease) && lease.index < (untilIndex ?? Infinity),
      );
      if (again !== undefined) {
        fail(`was given to ${again.node} at ${show(again.at)}`);
        continue;
      }
      const isEndedAtOnce = mode === 'terminate' || (mode !== 'asked' && !isRunning);
      if (untilIndex !== undefined) {
        const outcome = facts.accepted.get(id)?.find((one) => isBetween(facts, one, index, untilIndex));
        if (isEndedAtOnce && outcome !== undefined)
          fail(`was settled as ${outcome.to} at ${show(outcome.at)}`);
        continue;
      }
      if (job === undefined) continue;
      if (isEndedAtOnce) {
        // Where the note of its claim died with its worker, it ran, and ends when its lease does.
        const mayHaveRun = mode === 'ask' && !isComplete;
        const isInTime = job.finishedAt !== null && (mayHaveRun || job.finishedAt <= at + unorderedMs);
        if (job.status !== 'CANCELLED' || !isInTime) fail(`is ${job.status} since ${show(job.finishedAt)}`);
      } else if (job.cancelRequestedAt === null) {
        // Its attempt ended in the same moment: it waited then, had no worker, and was over at once.
        const settledAt = last?.settledAt ?? Number.POSITIVE_INFINITY;
        const mayHaveWaited = !isComplete && mode === 'ask' && Math.abs(settledAt - at) <= unorderedMs;
        if (!mayHaveWaited || job.status !== 'CANCELLED') fail('its worker was never told');
      } else if (evidence.isSettled && !isOver(job)) fail(`is ${job.status}`);
    }
    // Where notes are missing, whoever asked may be among them.
    return isComplete ? [...problems, ...unaskedProblems(evidence, facts, ends, exercise)] : problems;
  },
};

/** Whether a job was over already, or ended in the same moment. */
function isOverBefore({ status, finishedAt }: JobRecord, at: number, unorderedMs: number): boolean {
  if (finishedAt === null) return false;
  return finishedAt < at || (finishedAt <= at + unorderedMs && status !== 'CANCELLED');
}

/** The place of an event in the history. */
function indexIn({ indexOf }: Facts, event: HistoryEvent): number {
  return indexOf.get(event) ?? Number.NaN;
}

/** Whether an event comes after the first and before the second of these places in the history. */
function isBetween(facts: Facts, event: HistoryEvent, fromIndex: number, toIndex: number): boolean {
  const index = indexIn(facts, event);
  return index > fromIndex && index < toIndex;
}

/**
 * Whether an attempt was settled before an event. In a complete history the events of one millisecond are in the store's order; in
 * others an attempt of the same millisecond may have been running still.
 */
function isSettledBefore(
  lease: Lease,
  { at, index }: Pick<Ended, 'at' | 'index'>,
  isComplete: boolean,
): boolean {
  if (isComplete) return (lease.settledIndex ?? Number.POSITIVE_INFINITY) < index;
  return (lease.settledAt ?? Number.POSITIVE_INFINITY) < at;
}

/** Jobs that are CANCELLED, and attempts that were told of a cancel, though nobody had asked. */
function unaskedProblems(
  evidence: Evidence,
  facts: Facts,
  ends: readonly Ended[],
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const asks = new Map<string, Pick<Ended, 'at' | 'mode'>[]>();
  for (const { id, at, mode } of [...ends, ...cleanupEndsOf(evidence.events)])
    asks.set(id, [...(asks.get(id) ?? []), { at, mode }]);
  /**
   * Whether somebody had asked by then, since it was last brought back before `lifeAt`. Its schedule's deletion asks only for what nobody has.
   */
  const isAsked = (id: string, at: number, isStarted: boolean, lifeAt = at): boolean => {
    const acts = facts.touched.get(id) ?? [];
    const backAt = acts.findLast(
      (act) => act.verb === 'retry' && act.result === 'changed' && act.at < lifeAt,
    )?.at;
    return (asks.get(id) ?? []).some(
      (ask) => ask.at <= at && ask.at >= (backAt ?? 0) && !(isStarted && ask.mode === 'unstarted'),
    );
  };
  for (const event of evidence.events) {
    const isReported =
      (event.kind === 'renewed' && event.state === 'cancel') ||
      (event.kind === 'aborted' && event.reason === 'cancelled');
    if (isReported) exercise('cancelled');
    if (!isReported) continue;
    // An attempt that goes on after its job was ended and brought back may still hear of the cancel before that.
    const lease = facts.leases.get(event.id)?.find(({ fence }) => fence === event.fence);
    if (isAsked(event.id, event.at, true, lease?.at)) continue;
    problems.push({
      subjects: [event.id],
      message: `Job ${event.id} (fence ${event.fence} on ${event.node}) was told of a cancel at ${show(event.at)}, and nobody had asked.`,
    });
  }
  for (const { id, status, finishedAt, startedAt } of evidence.final.jobs) {
    if (status === 'CANCELLED') exercise('cancelled');
    if (status !== 'CANCELLED' || finishedAt === null || isAsked(id, finishedAt, startedAt !== null))
      continue;
    problems.push({
      subjects: [id],
      message: `Job ${id} is CANCELLED since ${show(finishedAt)}, and nobody had asked.`,
    });
  }
  return problems;
}

/** Clean-ups that are no longer wanted, because their value was replaced or deleted. */
function cleanupEndsOf(events: Evidence['events']): Pick<Ended, 'id' | 'at' | 'mode'>[] {
  const cleanups = new Map<string, string>();
  const ends: Pick<Ended, 'id' | 'at' | 'mode'>[] = [];
  for (const event of events) {
    if (event.kind !== 'valued' || (event.op !== 'put' && event.op !== 'delete')) continue;
    const where = `${event.name}/${event.key}`;
    const id = cleanups.get(where);
    if (id !== undefined && event.result === 'changed') ends.push({ id, at: event.at, mode: 'ask' });
    if (event.cleanupId !== null) cleanups.set(where, event.cleanupId);
  }
  return ends;
}

/** Everything that somebody, or a policy, ended. */
function endsOf(evidence: Evidence, facts: Facts): Ended[] {
  const { events, isComplete } = evidence;
  const ends: Ended[] = isComplete ? followUpEndsOf(evidence, facts) : [];
  /** The runs of each schedule that were made so far. */
  const runs = new Map<string, string[]>();
  for (const [index, event] of events.entries()) {
    const { at, node } = event;
    if (event.kind === 'changed' && (event.verb === 'cancel' || event.verb === 'terminate')) {
      const mode = event.result === 'asked' ? 'asked' : 'terminate';
      if (event.result === 'asked' || event.result === 'changed')
        ends.push({ id: event.id, at, index, by: node, mode });
    }
    const isWritten =
      (event.kind === 'fired' && event.result === 'fired') ||
      (event.kind === 'applied' && event.result === 'applied');
    if (!isWritten) continue;
    for (const { id, mode } of event.cancel)
      ends.push({ id, at, index, by: `the policy of ${event.scheduleId}`, mode });
    for (const { id, slot } of event.jobs)
      if (slot !== null) runs.set(slot.scheduleId, [...(runs.get(slot.scheduleId) ?? []), id]);
    // Which of its jobs were there already is told only by a history in the store's order.
    if (event.kind !== 'applied' || event.spec !== null || !isComplete) continue;
    for (const id of runs.get(event.scheduleId) ?? [])
      ends.push({ id, at, index, by: `the deletion of ${event.scheduleId}`, mode: 'unstarted' });
  }
  return ends;
}

/** Follow-ups behind the holders of keys that a cancel named. Whatever the holder did by then, its follow-up is cancelled. */
function followUpEndsOf(evidence: Evidence, facts: Facts): Ended[] {
  const cancels = evidence.events.flatMap((event, index) =>
    event.kind === 'changed' && event.byKey !== undefined ? [{ event, byKey: event.byKey, index }] : [],
  );
  if (cancels.length === 0) return [];
  const keys = new DedupeKeys(evidence, facts.created, facts.leases);
  return cancels.flatMap(({ event: { at, id, node }, byKey, index }) => {
    const follows = keys.metAt(keyName(byKey), at).flatMap(({ holder, follow }) => {
      // One that was created in the same millisecond may have come after the cancel.
      const createdIndex = facts.created.get(follow ?? '')?.createdIndex ?? Number.POSITIVE_INFINITY;
      return holder === id && follow !== null && createdIndex < index ? [follow] : [];
    });
    return [...new Set(follows)].map((follow) => {
      return {
        id: follow,
        at,
        index,
        by: `${node}, with the holder of its key,`,
        mode: 'follow-up' as const,
      };
    });
  });
}
