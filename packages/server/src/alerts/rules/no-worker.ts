import { defineAlertKind } from '../alert-kind.ts';
import { laneFacts, lateLanes, waitingText } from '../lane-facts.ts';

/** Jobs wait, and no live worker handles their type. */
export const noWorker = defineAlertKind({
  kind: 'no_worker',
  title: 'Jobs of a type have no worker',
  describe: 'jobs of a type have no worker for {after}',
  fields: {
    afterMs: { json: 'after', type: 'duration', default: 60_000, label: 'For longer than' },
  },

  async collect(source) {
    const workers: readonly {
      tasks: readonly { type: string; version: number }[];
      queues: readonly string[] | null;
    }[] = source.nodes.filter(({ roles }) => roles.includes('worker'));
    return { ...laneFacts(source), workers };
  },

  evaluate(facts, { afterMs }, isIncluded) {
    const unhandled = lateLanes(facts, afterMs).filter(
      (lane) =>
        isIncluded(lane.type) &&
        !facts.workers.some(
          ({ tasks, queues }) =>
            (queues === null || queues.includes(lane.queue)) &&
            tasks.some((task) => task.type === lane.type && task.version >= lane.version),
        ),
    );
    return [...Map.groupBy(unhandled, ({ type }) => type)].map(([type, lanes]) => ({
      subject: `type:${type}`,
      message: `No live worker takes jobs of type "${type}"; ${waitingText(lanes)}.`,
    }));
  },
});
