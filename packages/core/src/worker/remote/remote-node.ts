// A remote worker as a node of the store, and whose attempts are whose.

import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
} from '../../base/option-reader.ts';
import type { JobRecord, NodeInfo } from '../../contract/engine.ts';
import { builtInPrefix } from '../../jobs/built-in-tasks.ts';
import type { RemoteWorker } from './remote-protocol.ts';

const workerNames: OptionNames<RemoteWorker> = {
  id: true,
  tasks: true,
  queues: true,
  concurrency: true,
  running: true,
  host: true,
  pid: true,
};

const remotePrefix = 'remote:';

/**
 * The node of a worker, `remote:<worker>@<owner>`. The last `@` always precedes the owner, so no choice of names
 * reads as another owner, and ids of nodes of this library (`node_…`) never have this form.
 */
export function nodeOf(id: string, owner: string | null): string {
  const worker = readName(id, 'id');
  return owner === null ? `${remotePrefix}${escaped(worker)}` : `${remotePrefix}${worker}@${escaped(owner)}`;
}

function escaped(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('@', '%40');
}

/** Whether this owner claimed the attempt with this fence. A fence belongs to one claim, so this never changes. */
export function isHeldBy(owner: string | null, record: JobRecord, fence: number): boolean {
  if (record.type.startsWith(builtInPrefix)) return false;
  const attempt = record.attempts.find((one) => one.fence === fence);
  const node = (record.fence === fence ? record.node : attempt?.node) ?? '';
  if (!node.startsWith(remotePrefix)) return false;
  const at = node.lastIndexOf('@');
  return owner === null ? at < 0 : at >= 0 && node.slice(at + 1) === escaped(owner);
}

/** Reads who works. Throws `invalid_option`. */
export function readWorker(
  given: RemoteWorker,
  owner: string | null,
): NodeInfo & { tasks: { type: string; version: number }[] } {
  const worker = readOptions(given, 'worker', workerNames);
  const { id, tasks, queues, concurrency = 1, running = 0, host = '', pid = 0 } = worker;
  if (!Array.isArray(tasks) || tasks.length === 0 || tasks.length > 1_000) {
    return refuseOption('tasks', tasks, 'to be a list of 1 to 1000 tasks');
  }
  return {
    id: nodeOf(id as string, owner),
    app: 'remote',
    release: null,
    declares: [],
    host: host === '' ? '' : readName(host, 'host'),
    pid: readWholeNumber(pid, 'pid', 0, Number.MAX_SAFE_INTEGER),
    roles: ['worker'],
    tasks: tasks.map(({ type, version = 1 }: { type: string; version?: number }) => ({
      type: readType(type),
      version: readWholeNumber(version, 'version', 1, 1_000_000_000),
    })),
    queues: queues === undefined ? null : queues.map((queue) => readName(queue, 'queues')),
    concurrency: readWholeNumber(concurrency, 'concurrency', 1, 1_000_000),
    running: readWholeNumber(running, 'running', 0, 1_000_000),
    notReady: null,
    startedAt: 0,
  };
}

function readType(given: string): string {
  const type = readName(given, 'type');
  return type.startsWith(builtInPrefix)
    ? refuseOption('type', type, `not to begin with "${builtInPrefix}"`)
    : type;
}
