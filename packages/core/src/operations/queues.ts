import type { Count } from '../contract/engine.ts';
import type { Pause } from '../jobs/pauses.ts';
import { taskDefaults } from '../jobs/task-options.ts';
import type { Counts, NodeView } from './nodes.ts';

/** What is ready of one type and version in a queue. */
export interface QueueLane {
  type: string;
  version: number;
  ready: Count;
  /** Since when the oldest of them is due; null: nothing is ready. */
  oldestDueAt: Date | null;
  /** The pause that holds it: of everything, of its queue or of its type; null: none does. */
  pause: Pause | null;
}

/** A queue that is known: something is ready in it, a worker takes from it, or it is paused. Of workers that take from all it is `default` that is known. */
export interface QueueView {
  queue: string;
  /** The pause of everything or of the queue; null: none. */
  pause: Pause | null;
  lanes: QueueLane[];
}

/** All of them, by name, and how many jobs are in each status. */
export interface QueueList {
  queues: QueueView[];
  status: Counts['status'];
}

/** Puts the list together. */
export function listQueues(
  { status, lanes }: Pick<Counts, 'status' | 'lanes'>,
  nodes: readonly Pick<NodeView, 'queues' | 'roles'>[],
  pauses: readonly Pause[],
): QueueList {
  const names = new Set([
    ...lanes.map(({ queue }) => queue),
    ...nodes.flatMap(({ queues, roles }) => queues ?? (roles.includes('worker') ? [taskDefaults.queue] : [])),
    ...pauses.flatMap(({ scope, name }) => (scope === 'queue' && name !== null ? [name] : [])),
  ]);
  const queues = [...names].sort().map((queue) => ({
    queue,
    pause: pauseOf(pauses, { queue }),
    lanes: lanes
      .filter((lane) => lane.queue === queue)
      .map(({ type, version, ready, oldestDueAt }) => ({
        ...{ type, version, ready },
        oldestDueAt: oldestDueAt === null ? null : new Date(oldestDueAt),
        pause: pauseOf(pauses, { queue, type }),
      })),
  }));
  return { queues, status };
}

/** The pause that holds jobs of this queue and type; without a type, those of all types. null: none does. */
export function pauseOf(
  pauses: readonly Pause[],
  { queue, type }: { queue: string; type?: string },
): Pause | null {
  const isOf = ({ scope, name }: Pause): boolean =>
    scope === 'all' || name === (scope === 'queue' ? queue : type);
  return pauses.find(isOf) ?? null;
}
