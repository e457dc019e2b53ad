import type { Evidence } from '../history.ts';
import { type Facts, isOver, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// After everything came to rest a job that is due has been taken within this time.
const patienceMs = 1_000;

/** See `promise`. */
export const promisesKept: Invariant = {
  name: 'promises-kept',
  promise: 'Every acknowledged job ends in one terminal status, or is still due.',
  parts: ['acknowledged', 'unfinished'],
  check(evidence, facts, exercise) {
    const byId = new Map(evidence.final.jobs.map((job) => [job.id, job]));
    const problems: ReturnType<Invariant['check']> = [];
    for (const event of evidence.events) {
      if (event.kind !== 'answered' || event.outcome !== 'acknowledged' || event.dueAt === undefined)
        continue;
      exercise('acknowledged');
      const id = event.subject as string;
      if (!byId.has(id) && !facts.deleted.has(id)) {
        problems.push({
          subjects: [id],
          message: `Job ${id} was acknowledged at ${show(event.at)} by ${event.node} and is not in the store.`,
        });
      }
    }
    if (!evidence.isSettled) return problems;
    for (const job of evidence.final.jobs) {
      if (!isOver(job)) exercise('unfinished');
      const stuck = isOver(job) ? null : whyStuck(job, evidence, facts, byId);
      if (stuck !== null) problems.push({ subjects: [job.id], message: `Job ${job.id} ${stuck}` });
    }
    return problems;
  },
};

type Job = Evidence['final']['jobs'][number];

/** Why a live job should not be live any more at the end; null: it waits for its time, or for one that does. */
function whyStuck(job: Job, { final }: Evidence, _facts: Facts, byId: Map<string, Job>): string | null {
  const { status, dueAt } = job;
  if (status === 'BLOCKED') {
    const isShut = job.gates.some(({ kind, ref }) => {
      if (kind !== 'serial') {
        const other = byId.get(ref);
        return other !== undefined && !isOver(other);
      }
      return final.jobs.some(
        (other) =>
          other.id !== job.id &&
          !isOver(other) &&
          other.serial === job.serial &&
          other.tenant === job.tenant &&
          other.status !== 'BLOCKED',
      );
    });
    if (isShut) return null;
    const gates = job.gates.map(({ kind, ref }) => `${kind} ${ref}`).join(', ');
    return `is BLOCKED by [${gates}], and nothing of that is unfinished.`;
  }
  if (dueAt > final.at - patienceMs) return null;
  return `is ${status} at the end (${show(final.at)}) though it was due at ${show(dueAt)} and nothing was wrong any more.`;
}
