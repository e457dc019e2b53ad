import { predict } from '../model/predict.ts';
import { type Facts, isOver, isTroubled, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// A node that died while it decided, or never heard that it may, holds the schedule for so long.
const scheduleLeaseMs = 3_000;
// One such node, and the rest for the ways. Real machines are busy.
const noticeMsMax = { simulated: 5_000, real: 10_000 };
// After trouble a loop asks again within 5 s.
const recoverMs = 6_000;

/** See `promise`. */
export const decisionsPredicted: Invariant = {
  name: 'decisions-predicted',
  promise:
    'Every slot is decided as an independent model says, and noticed in time while any scheduler could.',
  parts: ['pass', 'edit'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    // Where the instants of calls do not tell their order, nobody knows which runs a pass saw.
    if ((evidence.unorderedMs ?? 0) > 0) return problems;
    const boundMs = evidence.isComplete ? noticeMsMax.simulated : noticeMsMax.real;
    const { writes, ends } = predict(evidence);
    for (const { scheduleId, event, plannedAt, dueAt, difference } of writes) {
      exercise(event.kind === 'fired' ? 'pass' : 'edit');
      if (difference !== null) {
        const what = event.kind === 'fired' ? 'a pass' : `"${event.action}"`;
        problems.push({
          subjects: [scheduleId, ...event.jobs.map(({ id }) => id)],
          message: `${scheduleId}: ${what} of ${event.node}, planned at ${show(plannedAt)}: ${difference}.`,
        });
      }
      const lateMs = dueAt === null ? 0 : plannedAt - dueAt;
      if (event.kind !== 'fired' || dueAt === null || lateMs <= boundMs) continue;
      // Each further node that had it in vain.
      const inVain = evidence.events.filter(
        (one) =>
          one.kind === 'scheduleClaimed' &&
          one.scheduleId === scheduleId &&
          one.version === event.version &&
          one.fence !== event.fence &&
          one.at >= dueAt,
      ).length;
      if (lateMs <= boundMs + Math.max(0, inVain - 1) * scheduleLeaseMs) continue;
      const watcher = whoCouldNotice(facts, dueAt, dueAt + boundMs);
      if (watcher === null) continue;
      problems.push({
        subjects: [scheduleId],
        message: `${scheduleId} was due at ${show(dueAt)} and looked at only at ${show(plannedAt)}, though ${watcher} was up and could reach the store.`,
      });
    }
    if (!evidence.isSettled) return problems;
    const jobs = new Map(evidence.final.jobs.map((job) => [job.id, job]));
    for (const { scheduleId, maybe } of ends) {
      const overdueAt = maybe.map(({ dueAt, waitsFor, isPaused, writtenAt }) => {
        const awaited = waitsFor === null ? undefined : jobs.get(waitsFor);
        const overAt = awaited !== undefined && isOver(awaited) ? awaited.finishedAt : null;
        const mustAt = isPaused && waitsFor === null ? dueAt : (overAt ?? dueAt);
        const isOverdue = mustAt !== null && Math.max(mustAt, writtenAt) < evidence.final.at - boundMs;
        return isOverdue ? mustAt : null;
      });
      const [firstAt] = overdueAt;
      if (firstAt === undefined || firstAt === null || overdueAt.includes(null)) continue;
      problems.push({
        subjects: [scheduleId],
        message: `${scheduleId} should have been looked at at ${show(firstAt)}; by ${show(evidence.final.at)} nobody has.`,
      });
    }
    return problems;
  },
};

/** A scheduler that was up and untroubled from before an instant until another, and so must have noticed. */
function whoCouldNotice(facts: Facts, fromAt: number, toAt: number): string | null {
  const schedulers = facts.nodes.filter(({ state, roles }) => state === 'up' && roles?.includes('scheduler'));
  const found = schedulers.find(
    ({ node }) => !isTroubled(facts, node, fromAt - recoverMs, toAt, { isNotified: true }),
  );
  return found?.node ?? null;
}
