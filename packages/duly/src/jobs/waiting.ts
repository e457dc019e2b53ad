import type { Duly, Job, NodeView, Pause } from '@duly/core';
import { pauseOf } from '@duly/core/internal';
import { oneLine } from '../output/terminal.ts';

/** What a list has to know to tell what its PENDING jobs wait for: read once, not for each job. */
export interface Surroundings {
  nodes: readonly NodeView[];
  pauses: readonly Pause[];
}

/** Reads them, if one of the jobs is PENDING. */
export async function surroundingsOf(duly: Duly, jobs: readonly Job[]): Promise<Surroundings> {
  if (!jobs.some((job) => job.status === 'PENDING')) return { nodes: [], pauses: [] };
  const [nodes, pauses] = await Promise.all([duly.nodes(), duly.pauses()]);
  return { nodes, pauses };
}

/** What a PENDING job waits for, in a few words. `why` tells it in full. */
export function waitText({ type, queue, version }: Job, { nodes, pauses }: Surroundings): string {
  const pause = pauseOf(pauses, { queue, type });
  if (pause !== null) {
    const what = { all: 'everything', queue: `queue ${queue}`, type: 'its type' }[pause.scope];
    return `${oneLine(what)} is paused`;
  }
  const workers = nodes.filter((node) => node.roles.includes('worker'));
  if (workers.length === 0) return 'no worker runs';
  const handles = workers.filter(({ tasks }) => tasks.some((task) => task.type === type));
  if (handles.length === 0) return 'no node handles it';
  const current = handles.filter(({ tasks }) =>
    tasks.some((task) => task.type === type && task.version >= version),
  );
  if (current.length === 0) return `no node has version ${version} of it`;
  if (!current.some(({ queues }) => queues === null || queues.includes(queue)))
    return `no node takes from queue ${oneLine(queue)}`;
  return 'waits for a free concurrency slot';
}
