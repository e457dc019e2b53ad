import { handles } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const onlyHandled: Invariant = {
  name: 'only-handled',
  promise:
    'A worker is given only what it handles: jobs of the queues it takes from, and of no newer version of their task than its own.',
  check({ events }, facts, exercise) {
    const created = [...facts.created.values()];
    const choosy = new Set(
      facts.nodes.flatMap(({ node }) => (created.every((job) => handles(facts, node, job)) ? [] : [node])),
    );
    return events.flatMap((event) => {
      if (event.kind === 'claimed' && choosy.has(event.node)) exercise();
      if (event.kind !== 'claimed' || handles(facts, event.node, event)) return [];
      const { id, node, type, version, queue } = event;
      return [
        {
          subjects: [id],
          message: `Job ${id} ("${type}" of version ${version}, queue "${queue}") was given to ${node}, which does not handle it.`,
        },
      ];
    });
  },
};
