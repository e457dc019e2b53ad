import { formatDuration } from '@duly/core';
import { defineAlertKind } from '../alert-kind.ts';
import { roughDuration } from '../finding-text.ts';
import { laneFacts, lateLanes, waitingText } from '../lane-facts.ts';

/** The oldest due job of a queue has waited for too long. */
export const waiting = defineAlertKind({
  kind: 'waiting',
  title: 'Jobs wait for too long',
  describe: 'the oldest job waits for longer than {after}',
  fields: {
    afterMs: { json: 'after', type: 'duration', default: 10 * 60_000, label: 'Longer than' },
  },

  collect: async (source) => laneFacts(source),

  evaluate(facts, { afterMs }, isIncluded) {
    const late = lateLanes(facts, afterMs).filter(({ type }) => isIncluded(type));
    return [...Map.groupBy(late, ({ queue }) => queue)].map(([queue, lanes]) => {
      const oldestAt = Math.min(...lanes.map((lane) => lane.oldestDueAt as number));
      const message = `The oldest job of queue "${queue}" has waited for ${roughDuration(facts.now - oldestAt)} (more than ${formatDuration(afterMs)} is too long); ${waitingText(lanes)}.`;
      return { subject: `queue:${queue}`, message };
    });
  },
});
