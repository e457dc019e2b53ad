import type { Duly } from '@duly/core';
import { defineAlertKind } from '../alert-kind.ts';
import { inBatches } from '../in-batches.ts';
import { type ScheduleFact, scheduleFact } from '../schedule-facts.ts';

const typesMax = 50;
// How many of the newest failed jobs are searched for schedules that fail repeatedly.
const failedMax = 1_000;
const dayMs = 86_400_000;

/** The last jobs of a type, or the last runs of a schedule, all failed. */
export const failuresInRow = defineAlertKind({
  kind: 'failures_in_row',
  title: 'Jobs of one type, or runs of a schedule, fail in a row',
  describe: '{count} jobs of one type, or runs of a schedule, fail in a row',
  fields: {
    count: { json: 'count', type: 'integer', default: 5, min: 1, max: 1_000, label: 'How many' },
  },

  async collect({ duly, now, counts, schedules }, conditions) {
    const countMax = Math.max(...conditions.map(({ count }) => count));
    return {
      types: await failingTypes(duly, now, countMax),
      schedules: withFailing(
        await schedules(),
        counts.status.FAILED.count < countMax ? [] : await failingSchedules(duly, countMax),
      ),
    };
  },

  evaluate({ types, schedules }, { count }, isIncluded) {
    const failing = types.filter(({ type, inRowCount }) => isIncluded(type) && inRowCount >= count);
    const runs = schedules.filter((one) => isIncluded(one.type) && one.failuresInRowCount >= count);
    return [
      ...failing.map(({ type, inRowCount }) => ({
        subject: `type:${type}`,
        message: `The last ${inRowCount} jobs of type "${type}" all failed.`,
      })),
      ...runs.map(({ label, failuresInRowCount }) => ({
        subject: `schedule:${label}`,
        message: `The last ${failuresInRowCount} runs of schedule "${label}" all failed.`,
      })),
    ];
  },
});

/** How many of each type's last jobs failed in a row; only types with a failure in the last day. */
async function failingTypes(
  duly: Duly,
  now: number,
  countMax: number,
): Promise<{ type: string; inRowCount: number }[]> {
  const types = (await duly.stats({ since: now - dayMs })).filter(({ failed }) => failed > 0);
  return Promise.all(
    types.slice(0, typesMax).map(async ({ type }) => {
      const { jobs } = await duly
        .jobs({ type, status: ['COMPLETED', 'FAILED'] })
        .page({ limit: Math.min(countMax, 1_000) });
      const success = jobs.findIndex(({ status }) => status === 'COMPLETED');
      return { type, inRowCount: success < 0 ? jobs.length : success };
    }),
  );
}

/**
 * Schedules whose last `count` runs all failed. A schedule counts its failures only if they pause or flag it, and where many schedules share a
 * type, as commands do, the type says nothing about one of them. A run in progress neither ends a row nor starts one.
 */
async function failingSchedules(duly: Duly, count: number): Promise<ScheduleFact[]> {
  const { jobs } = await duly.jobs({ status: 'FAILED' }).page({ limit: failedMax });
  // The fire id begins with the id of the schedule; names may be shared.
  const ids = [...Map.groupBy(jobs, ({ fireId }) => fireId?.split('/', 1)[0] ?? null)]
    .filter(([id, failed]) => id !== null && failed.length >= count)
    .map(([id]) => id as string);
  const facts = await inBatches(ids, async (id) => {
    const last = await duly.jobs({ schedule: id, status: ['COMPLETED', 'FAILED'] }).page({ limit: count });
    if (last.jobs.some(({ status }) => status === 'COMPLETED')) return null;
    // A deleted schedule raises no alert.
    const schedule = await duly.schedules.get({ id }).catch(() => null);
    return schedule === null ? null : scheduleFact(schedule, last.jobs.length, null);
  });
  return facts.filter((fact) => fact !== null);
}

function withFailing(facts: readonly ScheduleFact[], failing: readonly ScheduleFact[]): ScheduleFact[] {
  const byLabel = new Map(facts.map((fact) => [fact.label, fact]));
  for (const fact of failing) {
    const counted = byLabel.get(fact.label)?.failuresInRowCount ?? 0;
    byLabel.set(fact.label, { ...fact, failuresInRowCount: Math.max(counted, fact.failuresInRowCount) });
  }
  return [...byLabel.values()];
}
