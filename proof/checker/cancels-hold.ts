import type { Evidence } from '../history.ts';
import { type Facts, isOver, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

interface Ended {
  id: string;
  at: number;
  by: string;
  /** `asked`: it ran and was asked; `ask`: if it runs; `terminate`: whatever it does; `unstarted`: only if nobody had it yet. */
  mode: 'ask' | 'asked' | 'terminate' | 'unstarted';
}

/** See `promise`. */
export const cancelsHold: Invariant = {
  name: 'cancels-hold',
  promise:
    'What was asked to cancel is CANCELLED, at once unless it runs, and never starts again; so is what an overlap policy ends, and what waits when its schedule is deleted.',
  check(evidence, facts) {
    const problems: ReturnType<Invariant['check']> = [];
    const { unorderedMs = 0 } = evidence;
    const jobs = new Map(evidence.final.jobs.map((job) => [job.id, job]));
    for (const { id, at, by, mode } of endsOf(evidence, facts)) {
      const job = jobs.get(id);
      const isElsewhere = (facts.touched.get(id) ?? []).some(
        ({ verb, at: actAt }) =>
          (verb === 'replay' || verb === 'delete' || verb === 'discard') && actAt >= at - unorderedMs,
      );
      if (job === undefined || isElsewhere) continue;
      // It was over already, or ended in the same moment.
      if (job.finishedAt !== null && job.finishedAt <= at + unorderedMs && job.status !== 'CANCELLED')
        continue;
      if (job.finishedAt !== null && job.finishedAt < at) continue;
      const leases = facts.leases.get(id) ?? [];
      const last = leases.filter((lease) => lease.at <= at + unorderedMs).at(-1);
      const isRunning = last !== undefined && (last.settledAt ?? Number.POSITIVE_INFINITY) >= at;
      if (mode === 'unstarted' && last !== undefined) continue;
      const fail = (message: string): void =>
        void problems.push({
          subjects: [id],
          message: `Job ${id} was to be ended by ${by} at ${show(at)}, and ${message}.`,
        });
      const again = leases.find((lease) => lease.how === 'claimed' && lease.at > at + unorderedMs);
      if (again !== undefined) {
        fail(`was given to ${again.node} at ${show(again.at)}`);
        continue;
      }
      if (mode === 'terminate' || (mode !== 'asked' && !isRunning)) {
        // Where the note of its claim died with its worker, it ran, and ends when its lease does.
        const mayHaveRun = mode === 'ask' && !evidence.isComplete;
        const isInTime = job.finishedAt !== null && (mayHaveRun || job.finishedAt <= at + unorderedMs);
        if (job.status !== 'CANCELLED' || !isInTime) fail(`is ${job.status} since ${show(job.finishedAt)}`);
      } else if (job.cancelRequestedAt === null) fail('its worker was never told');
      else if (evidence.isSettled && !isOver(job)) fail(`is ${job.status}`);
    }
    return problems;
  },
};

/** Everything that somebody, or a policy, ended. */
function endsOf({ events, isComplete }: Evidence, { made }: Facts): Ended[] {
  const ends: Ended[] = [];
  for (const event of events) {
    const { at, node } = event;
    if (event.kind === 'changed' && (event.verb === 'cancel' || event.verb === 'terminate')) {
      const mode = event.result === 'asked' ? 'asked' : 'terminate';
      if (event.result === 'asked' || event.result === 'changed')
        ends.push({ id: event.id, at, by: node, mode });
    }
    const isWritten =
      (event.kind === 'fired' && event.result === 'fired') ||
      (event.kind === 'applied' && event.result === 'applied');
    if (!isWritten) continue;
    for (const { id, mode } of event.cancel)
      ends.push({ id, at, by: `the policy of ${event.scheduleId}`, mode });
    // Which of its jobs were there already is told only by a history in the store's order.
    if (event.kind !== 'applied' || event.spec !== null || !isComplete) continue;
    for (const { id, slot, madeAt } of made.values()) {
      if (slot?.scheduleId !== event.scheduleId || madeAt >= at) continue;
      ends.push({ id, at, by: `the deletion of ${event.scheduleId}`, mode: 'unstarted' });
    }
  }
  return ends;
}
