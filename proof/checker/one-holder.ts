import { isTerminal } from '../../packages/core/src/job.ts';
import type { Changed, Evidence, MadeJob, Settled } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** A job that was made under a dedupe key. */
export interface Held extends MadeJob {
  madeAt: number;
  /** When it was over; null: it is not. */
  overAt: number | null;
  /** When it first was over or deleted, also if it was brought back or deleted later; null: never. */
  endedAt: number | null;
  /** When it was first given to a worker; null: never. */
  startedAt: number | null;
  /** It was brought back or deleted: what it held when is not told. */
  isElsewhere: boolean;
  /** When it was deleted before it had ended, which releases its key; null: it was not. */
  releasedAt: number | null;
}

// So long the store remembers at least which job took a call over.
const foldKeptMs = 600_000;

/** See `promise`. */
export const oneHolder: Invariant = {
  name: 'one-holder',
  promise:
    'A dedupe key has one holder (and one follow-up behind a started one) at a time, and a call that is folded is answered with it and makes no job; a key of a handler has one child.',
  parts: ['earlier holder', 'fold', 'child'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { unorderedMs = 0 } = evidence;
    const holders = holdersOf(evidence, facts);
    for (const [key, all] of holders) {
      for (const [i, job] of all.entries()) {
        const held = all
          .slice(0, i)
          .filter((before) => isHeldAt(before, job.madeAt + unorderedMs))
          .filter((before) => !isSucceeded(before, all, job.madeAt + unorderedMs))
          .filter((before) => !hasNeverHeld(before, all) && !isTakenOver(before, all.slice(0, i)));
        if (held.length > 0) exercise('earlier holder');
        const live = held.filter(({ overAt }) => overAt === null || overAt > job.madeAt + unorderedMs);
        const mayFollow = job.dedupe?.mode !== 'drop';
        // What is over has nothing to replace or to wait for; what has started is followed by one.
        const isFollow =
          mayFollow && live.length === 1 && isStartedBy(live[0] as Held, job.madeAt + unorderedMs);
        if (held.length === 0 || (mayFollow && live.length === 0) || isFollow) continue;
        const before = held.at(-1) as Held;
        problems.push({
          subjects: [job.id, before.id],
          message: `Key ${key}: job ${job.id} was made at ${show(job.madeAt)} while ${held.length === 1 ? `job ${before.id} of ${show(before.madeAt)}` : `${held.length} jobs`} held it.`,
        });
      }
    }
    problems.push(...childProblems(facts, exercise));
    for (const event of evidence.events) {
      if (event.kind !== 'changed' || event.verb !== 'fold' || event.key == null) continue;
      const key = nameOf(event.key);
      const { call, replaces } = event.folded ?? {};
      const madeAt = call === undefined ? undefined : facts.made.get(call)?.madeAt;
      // After that it may be forgotten which job took it over, and the call is sent again by whoever has slept so long.
      const isForgotten = madeAt !== undefined && madeAt >= event.at + foldKeptMs;
      if (call !== undefined && replaces && madeAt !== undefined && !isForgotten) {
        problems.push({
          subjects: [event.id, call],
          message: `Key ${key}: a call of ${event.node} was taken over by job ${event.id} at ${show(event.at)}, and job ${call} was made for it as well.`,
        });
      }
      exercise('fold');
      if (facts.echoes.has(event)) continue;
      const holder = (holders.get(key) ?? []).find(({ id }) => id === event.id);
      // Whoever made it may have been killed before it noted that.
      if (holder === undefined && !evidence.isComplete) continue;
      if (holder?.isElsewhere) continue;
      // Behind a started one it takes what comes for as long as that one lives, however long it would hold the key itself.
      // A replay does not take the key back, so the first end of that one counts.
      const ahead =
        holder &&
        (holders.get(key) ?? []).find((one) =>
          isFollowed({ ...one, overAt: one.endedAt }, holder, unorderedMs),
        );
      if (ahead !== undefined && (ahead.endedAt === null || ahead.endedAt >= event.at - unorderedMs))
        continue;
      const calledAt = event.calledAt ?? event.at;
      // In the millisecond in which it ends it may still be the answer.
      if (
        holder !== undefined &&
        holder.madeAt <= calledAt + unorderedMs &&
        isHeldAt(holder, calledAt - 1 - unorderedMs)
      )
        continue;
      problems.push({
        subjects: [event.id],
        message: `Key ${key}: a call of ${event.node} at ${show(event.at)} was answered with job ${event.id}, which ${holder === undefined ? 'was never made under it' : `held it from ${show(holder.madeAt)} to ${show(holder.overAt)}`}.`,
      });
    }
    return problems;
  },
};

/** Children of one job and key that are two. */
function childProblems({ made, leases }: Facts, exercise: Exercise): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const children = new Map<string, string>();
  for (const { id, child } of made.values()) {
    if (child == null) continue;
    // A parent that starts again asks for the same child again.
    if ((leases.get(child.of) ?? []).length > 1) exercise('child');
    const where = JSON.stringify([child.of, child.key]);
    const before = children.get(where);
    if (before !== undefined) {
      problems.push({
        subjects: [id, before, child.of],
        message: `Job ${child.of} made two children under the key "${child.key}": ${before} and ${id}.`,
      });
    }
    children.set(where, id);
  }
  return problems;
}

function nameOf({ type, tenant, key }: { type: string; tenant: string | null; key: string }): string {
  return `${type}/${tenant ?? ''}/${key}`;
}

/** The jobs of each key, in the order in which they were made; those that were brought back or deleted are left out. */
export function holdersOf(
  { final }: Evidence,
  { made, leases, touched, accepted }: Facts,
): Map<string, Held[]> {
  const ends = new Map(final.jobs.map(({ id, finishedAt }) => [id, finishedAt]));
  const holders = new Map<string, Held[]>();
  for (const job of made.values()) {
    const { id, type, tenant, dedupe } = job;
    if (dedupe === null) continue;
    const isElsewhere = (touched.get(id) ?? []).some(
      ({ verb, result }) => (verb === 'replay' || verb === 'delete') && result === 'changed',
    );
    const key = nameOf({ type, tenant, key: dedupe.key });
    const all = holders.get(key) ?? [];
    holders.set(key, all);
    // It holds its key again for a while; only what is folded into it is judged by it.
    const overAt = isElsewhere ? job.madeAt : (ends.get(id) ?? null);
    const acts = touched.get(id) ?? [];
    const deletedAt = acts.find(({ verb, result }) => verb === 'delete' && result === 'changed')?.at ?? null;
    const hasEnded =
      (accepted.get(id) ?? []).some(({ to }) => isTerminal(to)) ||
      acts.some(({ status }) => status !== null && isTerminal(status));
    const releasedAt = hasEnded ? null : deletedAt;
    const startedAt = leases.get(id)?.[0]?.at ?? null;
    const endedAt = isElsewhere ? firstEndAt(accepted.get(id) ?? [], acts) : overAt;
    all.push({ ...job, overAt, endedAt, startedAt, isElsewhere, releasedAt });
  }
  for (const all of holders.values()) all.sort((one, other) => one.madeAt - other.madeAt);
  return holders;
}

/** When a job that was brought back or deleted had ended first; when it was brought back or deleted, if no event tells its end. */
function firstEndAt(accepted: readonly Settled[], acts: readonly Changed[]): number {
  const ends = accepted.filter(({ to }) => isTerminal(to));
  const known = acts.filter(
    ({ verb, result, status }) =>
      (status !== null && isTerminal(status)) ||
      ((verb === 'replay' || verb === 'delete') && result === 'changed'),
  );
  return Math.min(...[...ends, ...known].map(({ at }) => at));
}

/** Whether a job holds its key at an instant. In the millisecond in which it ends it does not any more. */
function isHeldAt({ dedupe, madeAt, overAt, releasedAt }: Held, at: number): boolean {
  if (releasedAt !== null && releasedAt <= at) return false;
  const untilAt = dedupe?.forMs == null ? overAt : madeAt + dedupe.forMs;
  return untilAt === null || untilAt > at;
}

/** Whether a job was made behind another one under its key: that had started, and was not over. */
export function isFollowed(before: Held, job: Held, unorderedMs: number): boolean {
  if (job.dedupe?.mode === 'drop' || !isStartedBy(before, job.madeAt - 1 - unorderedMs)) return false;
  if (!isHeldAt(before, job.madeAt + unorderedMs)) return false;
  return before.overAt === null || before.overAt > job.madeAt + unorderedMs;
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
  const { overAt } = job;
  if (overAt === null) return false;
  return all.some((ahead) => isFollowed(ahead, job, 0) && (ahead.overAt === null || overAt <= ahead.overAt));
}

/** Whether one of these took the key over from a job that had ended: a call that replaces does, however long the key would have been held. */
function isTakenOver({ id, overAt }: Held, jobs: readonly Held[]): boolean {
  if (overAt === null) return false;
  return jobs.some((one) => one.id !== id && one.dedupe?.mode !== 'drop' && one.madeAt >= overAt);
}

/** Whether a job had been given to a worker by an instant. */
function isStartedBy({ startedAt }: Held, at: number): boolean {
  return startedAt !== null && startedAt <= at;
}
