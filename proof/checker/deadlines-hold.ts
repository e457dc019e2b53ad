import { isOver, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// Whoever looks after deadlines has looked by then.
const patienceMs = 5_000;

/** See `promise`. */
export const deadlinesHold: Invariant = {
  name: 'deadlines-hold',
  promise:
    'No job starts for the first time after its start deadline; then it is EXPIRED, and only then, and only if it never started.',
  parts: ['started', 'moved', 'expired'],
  check({ final, isComplete, isSettled, unorderedMs = 0 }, { created, leases, touched, replaced }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const job of final.jobs) {
      const { id, status, expireAt, finishedAt, startedAt } = job;
      const fail = (message: string): void =>
        void problems.push({ subjects: [id], message: `Job ${id} ${message}.` });
      const asked = created.get(id);
      const first = leases.get(id)?.[0];
      // Moved, replaced or brought back it has another deadline.
      if (asked !== undefined && asked.startDeadlineMs !== null && !touched.has(id)) {
        const untilAt = asked.dueAt + asked.startDeadlineMs;
        // Whoever was given it first may have been killed before it noted that; the job itself tells when it was.
        const firstAt = isComplete ? (first?.at ?? null) : startedAt;
        if (firstAt !== null) exercise('started');
        if (firstAt !== null && firstAt > untilAt + unorderedMs)
          fail(`might start until ${show(untilAt)} and was first given to somebody at ${show(firstAt)}`);
      }
      const wanted = replaced.get(id) === null ? undefined : (replaced.get(id) ?? asked);
      const isRetried = touched.get(id)?.some(({ verb }) => verb === 'retry') === true;
      const isMoved = touched.get(id)?.some(({ verb }) => verb === 'reschedule' || verb === 'fold') === true;
      const wantedMs = wanted?.startDeadlineMs ?? null;
      const isRetriedFirst =
        first !== undefined &&
        touched
          .get(id)
          ?.some(({ verb, at, result }) => verb === 'retry' && result === 'changed' && at <= first.at) ===
          true;
      // A claim of a moved job tells the due instant that its deadline counts from. A retry by hand has no deadline.
      if (
        isComplete &&
        isMoved &&
        !isRetriedFirst &&
        wantedMs !== null &&
        first !== undefined &&
        first.dueAt !== null
      ) {
        exercise('moved');
        if (first.at > first.dueAt + wantedMs)
          fail(`might start until ${show(first.dueAt + wantedMs)} and was claimed at ${show(first.at)}`);
      }
      if (wanted !== undefined && startedAt === null && !isRetried) {
        const untilAt = wantedMs === null ? null : job.dueAt + wantedMs;
        if (untilAt !== null && isMoved) exercise('moved');
        if (expireAt !== untilAt)
          fail(
            `is due at ${show(job.dueAt)} and might start until ${show(untilAt)}; it is kept with ${show(expireAt)}`,
          );
      }
      if (status === 'EXPIRED') {
        exercise('expired');
        if (expireAt === null) fail('is EXPIRED and has no start deadline');
        else if ((finishedAt ?? 0) <= expireAt)
          fail(`is EXPIRED since ${show(finishedAt)}; it might start until ${show(expireAt)}`);
        if (startedAt !== null && !touched.has(id)) fail(`is EXPIRED, and started at ${show(startedAt)}`);
      }
      const isOverdue = expireAt !== null && startedAt === null && expireAt < final.at - patienceMs;
      if (isSettled && isOverdue && !isOver(job))
        fail(`is ${status} at the end (${show(final.at)}); it might start until ${show(expireAt)}`);
    }
    return problems;
  },
};
