import { formatDuration } from '@duly/core';
import { defineAlertKind } from '../alert-kind.ts';
import { plural, roughDuration } from '../finding-text.ts';

// Only a store with a serious problem has more; the limit bounds the cost of each evaluation.
const runningMax = 2_000;
const idsShownMax = 3;

/** An attempt runs for too long. */
export const stuck = defineAlertKind({
  kind: 'stuck',
  title: 'A job runs for too long',
  describe: 'a job runs for longer than {after}',
  fields: {
    afterMs: { json: 'after', type: 'duration', default: 30 * 60_000, label: 'Longer than' },
  },

  async collect({ duly, counts, now }, conditions) {
    const running: { id: string; type: string; startedAt: number }[] = [];
    if (counts.status.RUNNING.count === 0) return { now, running };
    // Jobs created later cannot be late yet, and thousands of them would hide the late ones.
    const before = Math.max(0, now - Math.min(...conditions.map(({ afterMs }) => afterMs)));
    for await (const { id, type, attemptList, startedAt } of duly.jobs({ status: 'RUNNING', before })) {
      const since = attemptList.at(-1)?.startedAt ?? startedAt;
      if (since !== null) running.push({ id, type, startedAt: since.getTime() });
      if (running.length >= runningMax) break;
    }
    return { now, running };
  },

  evaluate({ now, running }, { afterMs }, isIncluded) {
    const late = running
      .filter((job) => isIncluded(job.type) && now - job.startedAt > afterMs)
      .sort((a, b) => a.startedAt - b.startedAt);
    return [...Map.groupBy(late, ({ type }) => type)].map(([type, jobs]) => {
      const ids = jobs.slice(0, idsShownMax).map((job) => job.id);
      const more = jobs.length > ids.length ? ` and ${jobs.length - ids.length} more` : '';
      const longestMs = now - (jobs[0] as (typeof jobs)[number]).startedAt;
      return {
        subject: `type:${type}`,
        message: `${plural(jobs.length, 'job')} of type "${type}" run for longer than ${formatDuration(afterMs)}, the longest for ${roughDuration(longestMs)}: ${ids.join(', ')}${more}.`,
      };
    });
  },
});
