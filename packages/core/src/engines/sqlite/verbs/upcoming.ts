import type { UpcomingInput, UpcomingReply } from '../../../contract/engine.ts';
import { addSteps } from '../../shared/upcoming-steps.ts';
import { statements } from '../generated.ts';
import { type JobRow, toJobRecord } from '../rows.ts';
import type { Work } from '../work.ts';

/** See the contract. */
export function upcoming(work: Work, input: UpcomingInput): Omit<UpcomingReply, 'now'> {
  const { withinMs, stepMs, cap, limit, tenant } = input;
  const { now } = work;
  const range = {
    now,
    beforeAt: now + withinMs,
    isAll: tenant === undefined ? 1 : 0,
    tenant: tenant ?? null,
  };
  const counted: { type: string; step: number; count: number }[] = [];
  const rows: JobRow[] = [];
  for (const { type } of work.all<{ type: string }>(statements.upcoming.types)) {
    const steps = work.all<{ step: number; count: number }>(statements.upcoming.steps, {
      ...{ ...range, type, stepMs, cap },
    });
    for (const step of steps) counted.push({ type, ...step });
    rows.push(...work.all<JobRow>(statements.upcoming.earliest, { ...range, type, limit }));
  }
  rows.sort((one, other) => one.due_at - other.due_at || (one.id < other.id ? -1 : 1));
  return {
    ...addSteps(counted, { fromAt: now, stepMs, cap }),
    jobs: rows.slice(0, limit).map((row) => toJobRecord(work, row)),
  };
}
