// Why no worker has taken a job that is due.

import { formatDuration } from '../base/duration.ts';
import { mustRunAlone } from '../contract/job-status.ts';
import { builtInPrefix } from './built-in-tasks.ts';
import type { WorkerProblem } from './job-why.ts';
import type { ListedNode, WhyFacts } from './job-why-facts.ts';
import { countText, plural } from './job-why-words.ts';

/** Asks from the widest reason to the narrowest, so that the answer names what a person has to change first. */
export function workerProblem(facts: WhyFacts): {
  problem: WorkerProblem;
  nodes: ListedNode[];
  sentence: string;
} {
  const { job, now } = facts;
  const live = facts.nodes.filter((node) => now - node.heartbeatAt <= facts.nodeSilentMs);
  const workers = live.filter((node) => node.roles.includes('worker'));
  if (workers.length === 0) {
    const gone = facts.nodes.length - live.length;
    const rest = gone > 0 ? ` (${gone} silent for more than ${formatDuration(facts.nodeSilentMs)})` : '';
    return { problem: 'no-node', nodes: [], sentence: `No live node works on this store${rest}; start one.` };
  }
  const handles = workers.filter((node) => node.tasks.some((task) => task.type === job.type));
  if (handles.length === 0) {
    return {
      problem: 'unhandled-type',
      nodes: [],
      sentence: `No live node handles type "${job.type}"; ${plural(workers.length, 'live node')} handle${workers.length === 1 ? 's' : ''} ${typesOf(workers)}.`,
    };
  }
  const current = handles.filter((node) =>
    node.tasks.some((task) => task.type === job.type && task.version >= job.version),
  );
  if (current.length === 0) {
    return {
      problem: 'older-version',
      nodes: handles,
      sentence: `It was created for version ${job.version} of task "${job.type}"; the live nodes have only older ones.`,
    };
  }
  const open = current.filter((node) => node.queues === null || node.queues.includes(job.queue));
  if (open.length === 0) {
    return {
      problem: 'other-queues',
      nodes: current,
      sentence: `The live nodes that handle "${job.type}" do not take from queue "${job.queue}".`,
    };
  }
  const ready = open.filter((node) => node.notReady === null && node.drainRequestedAt === null);
  if (ready.length === 0) {
    const reasons = open.map((node) => `"${node.id}": ${node.notReady ?? 'it is draining'}`).join('; ');
    return {
      problem: 'not-ready',
      nodes: open,
      sentence: `The nodes that could run it take no work (${reasons}).`,
    };
  }
  const runs = ({ id }: ListedNode, type?: string) =>
    facts.running
      .filter((one) => one.node === id && (type === undefined || one.type === type))
      .reduce((sum, { count }) => sum + count, 0);
  if (mustRunAlone(job) && !ready.some((node) => runs(node) === 0)) {
    return {
      problem: 'must-run-alone',
      nodes: ready,
      sentence: `It lost its node ${job.begunLosses} times, so it must run alone in its process, and no node is idle yet.`,
    };
  }
  const roomy = ready.filter((node) => runs(node) < node.concurrency);
  const free = roomy.filter((node) => {
    const limit = node.tasks.find((task) => task.type === job.type)?.concurrency ?? null;
    return limit === null || runs(node, job.type) < limit;
  });
  if (free.length === 0 && roomy.length > 0) {
    return {
      problem: 'busy',
      nodes: ready,
      sentence: `Task "${job.type}" runs as often at a time as its concurrency allows on ${plural(roomy.length, 'live node')}.`,
    };
  }
  if (free.length === 0) {
    const queued =
      facts.ready === null
        ? ''
        : `; ${countText(facts.ready)} of its type ${facts.ready.count === 1 ? 'is' : 'are'} ready`;
    return {
      problem: 'busy',
      nodes: ready,
      sentence: `Every concurrency slot of the ${plural(ready.length, 'node')} that could run it is taken${queued}.`,
    };
  }
  return {
    problem: 'none',
    nodes: free,
    sentence: `${plural(free.length, 'live node')} can run it now; it should start at once.`,
  };
}

function typesOf(nodes: ListedNode[]): string {
  const all = nodes.flatMap((node) => node.tasks.map((task) => task.type));
  // What a server brings along is nobody's typing mistake.
  const types = [...new Set(all)].filter((type) => !type.startsWith(builtInPrefix)).sort();
  if (types.length === 0) return 'no task';
  // Ten names are enough to see a typing mistake; a long list would bury the sentence.
  const shown = types.slice(0, 10).map((type) => `"${type}"`);
  return types.length > 10 ? `${shown.join(', ')} and ${types.length - 10} more` : shown.join(', ');
}
