import { formatDuration } from '@duly/core';
import { defineAlertKind } from '../alert-kind.ts';

export interface Outcome {
  type: string;
  completedCount: number;
  failedCount: number;
}

/** Too large a part of a type's jobs failed within the window. */
export const failureRate = defineAlertKind({
  kind: 'failure_rate',
  title: 'Too many jobs of one type fail',
  describe: 'more than {above} % fail within {window}, of at least {min_count}',
  fields: {
    abovePercent: {
      json: 'above',
      type: 'number',
      default: 5,
      min: 0,
      max: 100,
      label: 'More than, per cent',
      doc: 'Per cent.',
    },
    windowMs: { json: 'window', type: 'duration', default: 60 * 60_000, label: 'Within' },
    countMin: { json: 'min_count', type: 'integer', default: 20, min: 1, label: 'Of at least' },
  },

  /** Ended jobs by type, for each window. */
  async collect({ duly, now }, conditions) {
    const windows = [...new Set(conditions.map(({ windowMs }) => windowMs))];
    const outcomes = await Promise.all(
      windows.map(async (windowMs): Promise<[number, readonly Outcome[]]> => {
        const types = await duly.stats({ since: now - windowMs });
        return [
          windowMs,
          types.map(({ type, completed, failed }) => ({
            type,
            completedCount: completed,
            failedCount: failed,
          })),
        ];
      }),
    );
    return new Map(outcomes);
  },

  evaluate(outcomes, { abovePercent, windowMs, countMin }, isIncluded) {
    return (outcomes.get(windowMs) ?? []).flatMap(({ type, completedCount, failedCount }) => {
      const count = completedCount + failedCount;
      const percent = (failedCount / count) * 100;
      if (!isIncluded(type) || count < countMin || count === 0 || percent <= abovePercent) return [];
      const message = `${percent.toFixed(1)} % of the jobs of type "${type}" failed in the last ${formatDuration(windowMs)} (${failedCount} of ${count}; more than ${abovePercent} % are too many).`;
      return [{ subject: `type:${type}`, message }];
    });
  },
});
