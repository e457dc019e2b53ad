import { isTerminal } from '../../packages/core/src/contract/job-status.ts';
import type { CreatedJob, Evidence } from '../history.ts';
import { DedupeKeys, keyName, type Met } from '../model/dedupe-keys.ts';
import { type Facts, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** A span in which a job had not ended; `endedAt` null: it has not ended since. */
interface Life {
  fromAt: number;
  endedAt: number | null;
  /** Whether a deletion ended it. */
  isDeleted: boolean;
}

/** A job that was made under a dedupe key. */
export interface Held extends CreatedJob {
  createdAt: number;
  /** When it was over; null: it is not. */
  overAt: number | null;
  /** Its lives: from its creation, or from when it was brought back, to its end or deletion. */
  lives: Life[];
  /** When it was first given to a worker; null: never. */
  startedAt: number | null;
  /** Where its creation is among the others: the index of its event in a complete history, its instant in others. */
  createdOrder: number;
  /** The same of its first start. */
  startedOrder: number | null;
  /** It was brought back or deleted: what it held when is not told. */
  isElsewhere: boolean;
  /** When it was deleted while it had not ended, which releases its key; null: it was not. */
  releasedAt: number | null;
}

// The store remembers for at least this long which job took a call over.
const foldStoredMs = 600_000;

/** See `promise`. */
export const oneHolder: Invariant = {
  name: 'one-holder',
  promise:
    'A dedupe key has one holder (and one follow-up behind a started one) at a time, and a call that is folded is answered with it and creates no job; a key of a handler has one child.',
  parts: ['earlier holder', 'deleted holder', 'retried holder', 'fold', 'child'],
  check(evidence, facts, exercise) {
    const problems = [...childProblems(facts, exercise), ...takenOverProblems(evidence, facts)];
    // Where notes are missing, what held a key is estimated from the jobs whose fate is known.
    if (evidence.isComplete) problems.push(...replayedProblems(evidence, facts, exercise));
    else problems.push(...notedProblems(evidence, facts));
    return problems;
  },
};

/** Jobs that were created while their key was held, and calls that were folded into a job that did not hold it. */
function replayedProblems(
  evidence: Evidence,
  facts: Facts,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const keys = new DedupeKeys(evidence, facts.created, facts.leases);
  const note = ({ isDeleted, isRetried }: Pick<Met, 'isDeleted' | 'isRetried'>): void => {
    if (isDeleted) exercise('deleted holder');
    if (isRetried) exercise('retried holder');
  };
  for (const { job, key, at, met } of keys.creations) {
    if (met.holder !== null) exercise('earlier holder');
    note(met);
    const foldedInto = job.dedupe?.mode === 'drop' ? met.drops : met.replaces;
    if (foldedInto === null) continue;
    problems.push({
      subjects: [job.id, foldedInto],
      message: `Key ${key}: job ${job.id} was created at ${show(at)} while job ${met.holder} held it.`,
    });
  }
  for (const event of evidence.events) {
    if (event.kind !== 'changed' || event.verb !== 'fold' || event.key == null) continue;
    exercise('fold');
    if (facts.echoes.has(event)) continue;
    const key = keyName(event.key);
    const met = keys.metAt(key, event.calledAt ?? event.at);
    for (const one of met) note(one);
    const isReplaced = event.folded?.replaces === true;
    if (met.some(({ drops, replaces }) => (isReplaced ? replaces : drops) === event.id)) continue;
    const holder = met.at(-1)?.holder ?? null;
    problems.push({
      subjects: [event.id, ...(holder === null ? [] : [holder])],
      message: `Key ${key}: a call of ${event.node} at ${show(event.at)} was answered with job ${event.id}, while ${holder === null ? 'no job' : `job ${holder}`} held it.`,
    });
  }
  return problems;
}

/** Calls that were taken over by another job, and created a job as well. */
function takenOverProblems({ events }: Evidence, facts: Facts): ReturnType<Invariant['check']> {
  return events.flatMap((event) => {
    if (event.kind !== 'changed' || event.verb !== 'fold' || event.key == null) return [];
    const { call, replaces } = event.folded ?? {};
    const createdAt = call === undefined ? undefined : facts.created.get(call)?.createdAt;
    if (call === undefined || !replaces || createdAt === undefined) return [];
    // After that the store may have forgotten which job took the call over, and a repeat creates a job.
    if (createdAt >= (facts.firstFolds.get(call) ?? event.at) + foldStoredMs) return [];
    return {
      subjects: [event.id, call],
      message: `Key ${keyName(event.key)}: a call of ${event.node} was taken over by job ${event.id} at ${show(event.at)}, and job ${call} was created for it as well.`,
    };
  });
}

/** The same where notes are missing. */
function notedProblems(evidence: Evidence, facts: Facts): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const { unorderedMs = 0 } = evidence;
  const holders = holdersOf(evidence, facts);
  for (const [key, all] of holders) {
    for (const [i, job] of all.entries()) {
      const held = all
        .slice(0, i)
        .filter((before) => isHeldAt(before, job.createdAt + unorderedMs))
        .filter((before) => !isSucceeded(before, all, job.createdAt + unorderedMs))
        .filter((before) => !hasNeverHeld(before, all) && !isTakenOver(before, all.slice(0, i)));
      const live = held.filter(({ overAt }) => overAt === null || overAt > job.createdAt + unorderedMs);
      const mayFollow = job.dedupe?.mode !== 'drop';
      // What is over has nothing to replace or to wait for; what has started is followed by one.
      const isFollow =
        mayFollow && live.length === 1 && isStartedBy(live[0] as Held, job.createdAt + unorderedMs);
      if (held.length === 0 || (mayFollow && live.length === 0) || isFollow) continue;
      const before = held.at(-1) as Held;
      problems.push({
        subjects: [job.id, before.id],
        message: `Key ${key}: job ${job.id} was created at ${show(job.createdAt)} while ${held.length === 1 ? `job ${before.id} of ${show(before.createdAt)}` : `${held.length} jobs`} held it.`,
      });
    }
  }
  for (const event of evidence.events) {
    if (event.kind !== 'changed' || event.verb !== 'fold' || event.key == null) continue;
    const key = keyName(event.key);
    if (facts.echoes.has(event)) continue;
    const holder = (holders.get(key) ?? []).find(({ id }) => id === event.id);
    // The process that created it may have been killed before it noted that.
    if (holder === undefined || holder.isElsewhere) continue;
    // Behind a started one it takes what comes for as long as that one lives, however long it would hold the key itself.
    const isBehind = (holders.get(key) ?? []).some((ahead) => {
      const endedAt = endOfLife(ahead, holder.createdAt);
      const isAlive = endedAt === null || endedAt >= event.at - unorderedMs;
      return isAlive && isFollowed({ ...ahead, overAt: endedAt }, holder, unorderedMs);
    });
    const calledAt = event.calledAt ?? event.at;
    // In the millisecond in which it ends it may still be the answer.
    const isHolder =
      holder.createdAt <= calledAt + unorderedMs && isHeldAt(holder, calledAt - 1 - unorderedMs);
    if (isBehind || isHolder) continue;
    problems.push({
      subjects: [event.id],
      message: `Key ${key}: a call of ${event.node} at ${show(event.at)} was answered with job ${event.id}, which held it from ${show(holder.createdAt)} to ${show(holder.overAt)}.`,
    });
  }
  return problems;
}

/** Children of one job and key that are two. */
function childProblems(
  { created, leases, touched, indexOf }: Facts,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const children = new Map<string, string>();
  for (const { id, child, createdIndex } of created.values()) {
    if (child == null) continue;
    // A parent that starts again asks for the same child again.
    if ((leases.get(child.of) ?? []).length > 1) exercise('child');
    const where = JSON.stringify([child.of, child.key]);
    const before = children.get(where);
    // The children of a job are forgotten with it. An attempt that does not know yet that it was deleted may create one again.
    const isForgotten = (touched.get(child.of) ?? []).some(
      (act) => act.verb === 'delete' && (indexOf.get(act) ?? Number.NaN) < createdIndex,
    );
    if (before !== undefined && !isForgotten) {
      problems.push({
        subjects: [id, before, child.of],
        message: `Job ${child.of} created two children under the key "${child.key}": ${before} and ${id}.`,
      });
    }
    children.set(where, id);
  }
  return problems;
}

/** The jobs of each key, in the order in which they were made; those that were brought back or deleted are left out. */
export function holdersOf({ final, isComplete }: Evidence, facts: Facts): Map<string, Held[]> {
  const { created, leases, touched } = facts;
  const ends = new Map(final.jobs.map(({ id, finishedAt }) => [id, finishedAt]));
  const holders = new Map<string, Held[]>();
  for (const job of created.values()) {
    const { id, type, tenant, dedupe } = job;
    if (dedupe === null) continue;
    const isElsewhere = (touched.get(id) ?? []).some(
      ({ verb, result }) => (verb === 'retry' || verb === 'delete') && result === 'changed',
    );
    const key = keyName({ type, tenant, key: dedupe.key });
    const all = holders.get(key) ?? [];
    holders.set(key, all);
    // It holds its key again for a while; only what is folded into it is judged by it.
    const overAt = isElsewhere ? job.createdAt : (ends.get(id) ?? null);
    const first = leases.get(id)?.[0];
    const startedAt = first?.at ?? null;
    const createdOrder = isComplete ? job.createdIndex : job.createdAt;
    const startedOrder = (isComplete ? first?.index : first?.at) ?? null;
    const lives = isElsewhere
      ? livesOf(job, facts)
      : [{ fromAt: job.createdAt, endedAt: overAt, isDeleted: false }];
    const releasedAt = lives.find(({ isDeleted }) => isDeleted)?.endedAt ?? null;
    const order = { createdOrder, startedOrder };
    all.push({ ...job, ...order, overAt, lives, startedAt, isElsewhere, releasedAt });
  }
  for (const all of holders.values()) all.sort((one, other) => one.createdAt - other.createdAt);
  return holders;
}

/** The lives of a job that was brought back or deleted. */
function livesOf(
  { id, createdAt }: { id: string; createdAt: number },
  { accepted, touched, indexOf }: Pick<Facts, 'accepted' | 'touched' | 'indexOf'>,
): Life[] {
  const turns = [...(accepted.get(id) ?? []), ...(touched.get(id) ?? [])]
    .filter((event) => indexOf.has(event))
    .sort((one, other) => (indexOf.get(one) as number) - (indexOf.get(other) as number));
  const lives: Life[] = [{ fromAt: createdAt, endedAt: null, isDeleted: false }];
  for (const turn of turns) {
    const life = lives.at(-1) as Life;
    const isBack = turn.kind === 'changed' && turn.verb === 'retry' && turn.result === 'changed';
    const isOver =
      turn.kind === 'settled'
        ? isTerminal(turn.to)
        : ((turn.verb === 'delete' || turn.verb === 'terminate') && turn.result === 'changed') ||
          (turn.verb !== 'retry' && turn.status !== null && isTerminal(turn.status));
    if ((isOver || isBack) && life.endedAt === null) {
      life.endedAt = turn.at;
      life.isDeleted = turn.kind === 'changed' && turn.verb === 'delete';
    }
    if (isBack) lives.push({ fromAt: turn.at, endedAt: null, isDeleted: false });
  }
  return lives;
}

/** When the life of a job ended that it had at an instant: that instant if it had none, null if it has not ended. */
function endOfLife({ lives }: Held, at: number): number | null {
  const life = lives.findLast(({ fromAt }) => fromAt <= at);
  return life === undefined ? at : life.endedAt;
}

/** Whether a job holds its key at an instant. In the millisecond in which it ends it does not any more. */
function isHeldAt({ dedupe, createdAt, overAt, releasedAt }: Held, at: number): boolean {
  if (releasedAt !== null && releasedAt <= at) return false;
  const untilAt = dedupe?.forMs == null ? overAt : createdAt + dedupe.forMs;
  return untilAt === null || untilAt > at;
}

/** Whether a job was made behind another one under its key: that had started, and was not over. */
export function isFollowed(before: Held, job: Held, unorderedMs: number): boolean {
  if (job.dedupe?.mode === 'drop' || before.startedOrder === null) return false;
  if (before.startedOrder >= job.createdOrder - unorderedMs) return false;
  if (!isHeldAt(before, job.createdAt + unorderedMs)) return false;
  return before.overAt === null || before.overAt > job.createdAt + unorderedMs;
}

/**
 * Whether the follow-up behind a job has its key by an instant: it does when that job has ended, however long it would have held the key.
 * How long a follow-up that was retried or deleted later held the key is not known, so it may have been the holder.
 */
function isSucceeded(holder: Held, all: readonly Held[], at: number): boolean {
  const { overAt } = holder;
  if (overAt === null || overAt > at) return false;
  return all.some(
    (one) => isFollowed(holder, one, 0) && (one.isElsewhere || one.overAt === null || one.overAt >= overAt),
  );
}

/** Whether a job was a follow-up that ended before the holder ahead of it did: however long it would have held the key, it never did. */
function hasNeverHeld(job: Held, all: readonly Held[]): boolean {
  const endedAt = job.lives[0]?.endedAt ?? null;
  if (endedAt === null) return false;
  return all.some((ahead) => {
    const overAt = endOfLife(ahead, job.createdAt);
    return isFollowed({ ...ahead, overAt }, job, 0) && (overAt === null || endedAt <= overAt);
  });
}

/** Whether one of these took the key over from a job that had ended: a call that replaces does, however long the key would have been held. */
function isTakenOver({ id, overAt }: Held, jobs: readonly Held[]): boolean {
  if (overAt === null) return false;
  return jobs.some((one) => one.id !== id && one.dedupe?.mode !== 'drop' && one.createdAt >= overAt);
}

/** Whether a job had been given to a worker by an instant. */
function isStartedBy({ startedAt }: Held, at: number): boolean {
  return startedAt !== null && startedAt <= at;
}
