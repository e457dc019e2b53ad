import { isTerminal } from '../../packages/core/src/contract/job-status.ts';
import type {
  CreatedJob,
  Evidence,
  Fault,
  HistoryEvent,
  NodeChanged,
  ReplacedFields,
  Settled,
} from '../history.ts';

/** One lease from the claim (or reap) that gave it to its end. */
export interface Lease {
  id: string;
  fence: number;
  node: string;
  attempt: number;
  how: 'claimed' | 'reaped';
  /** When it was given. */
  at: number;
  /** Index of the event that gave it. */
  index: number;
  dueAt: number | null;
  /** When it ends, as far as the store has said. */
  untilAt: number;
  /** When it was last renewed, or given. */
  renewedAt: number;
  /** When its outcome was accepted; null: none was. */
  settledAt: number | null;
  /** Index of the event that accepted its outcome; null: the history has none. */
  settledIndex: number | null;
  isBegun: boolean;
}

/** What the invariants look up again and again, read off the events once. */
export interface Facts {
  /** Every job the store accepted. */
  created: Map<string, CreatedJob & { createdAt: number; createdIndex: number }>;
  /** Leases of each job, by fence. */
  leases: Map<string, Lease[]>;
  /** Accepted and refused settlements of each job, in order. */
  settled: Map<string, Settled[]>;
  /** The outcome that was accepted first under each fence of a job, in order; what was sent again after an unknown outcome is left out. */
  accepted: Map<string, Settled[]>;
  /** Jobs that were deleted by an audited act. */
  deleted: Set<string>;
  /** Acts of people on a job, such as a cancel, a retry or a move, that did something. */
  touched: Map<string, Extract<HistoryEvent, { kind: 'changed' }>[]>;
  /** Folds of a call that was sent again after an unknown outcome, and that had been folded then, or may have been. */
  echoes: Set<HistoryEvent>;
  /** What each job took over from the last call that replaced it; null: the history does not tell which call was last. */
  replaced: Map<string, ReplacedFields | null>;
  /** When each call was first folded; repeats do not renew what the store remembers. */
  firstFolds: Map<string, number>;
  faults: Fault[];
  nodes: NodeChanged[];
  /** Index of each event. In a complete history the events of one millisecond are in the store's order. */
  indexOf: Map<HistoryEvent, number>;
}

// So long the store remembers at least which job took a call over.
const foldStoredMs = 600_000;

/** Acts after which an attempt holds its lease no more. A job that is brought back was ended before, though that may not have been noted. */
export const endingVerbs: readonly string[] = ['terminate', 'delete', 'discard', 'retry'];

/** Reads the facts off a history. */
export function factsOf({ events, final, isComplete }: Evidence): Facts {
  const created: Facts['created'] = new Map();
  const leases: Facts['leases'] = new Map();
  const settled: Facts['settled'] = new Map();
  const accepted: Facts['accepted'] = new Map();
  const touched: Facts['touched'] = new Map();
  const echoes: Facts['echoes'] = new Set();
  const firstFolds: Facts['firstFolds'] = new Map();
  const replaced: Facts['replaced'] = new Map();
  const byFence = new Map<string, Lease>();
  const faults: Fault[] = [];
  const nodes: NodeChanged[] = [];
  const indexOf: Facts['indexOf'] = new Map();
  const repeated: { lease: Lease | undefined; at: number }[] = [];
  const cleanups = new Map<string, string>();

  const addCreated = (jobs: CreatedJob[], createdAt: number, createdIndex: number): void => {
    for (const job of jobs)
      if (!created.has(job.id)) created.set(job.id, { ...job, createdAt, createdIndex });
  };
  const addLease = (lease: Lease): void => {
    const key = `${lease.id}/${lease.fence}`;
    // A repeated claim answers with the leases that it gave.
    if (byFence.has(key) && byFence.get(key)?.node === lease.node) return;
    byFence.set(key, lease);
    const all = leases.get(lease.id) ?? [];
    leases.set(lease.id, all);
    all.push(lease);
  };

  for (const [index, event] of events.entries()) {
    indexOf.set(event, index);
    switch (event.kind) {
      case 'created':
        addCreated(event.jobs, event.at, index);
        break;
      case 'fired':
        if (event.result === 'fired') addCreated(event.jobs, event.at, index);
        break;
      case 'applied':
        if (event.result === 'applied') addCreated(event.jobs, event.at, index);
        break;
      case 'claimed':
      case 'reaped':
        addLease({
          id: event.id,
          fence: event.fence,
          node: event.node,
          attempt: event.attempt,
          how: event.kind,
          at: event.at,
          index,
          dueAt: event.kind === 'claimed' ? event.dueAt : null,
          untilAt: event.untilAt,
          renewedAt: event.at,
          settledAt: null,
          settledIndex: null,
          isBegun: event.kind === 'reaped' && event.begun,
        });
        break;
      case 'renewed': {
        const lease = byFence.get(`${event.id}/${event.fence}`);
        if (lease === undefined || event.state === 'lost') break;
        lease.untilAt = Math.max(lease.untilAt, event.untilAt);
        lease.renewedAt = Math.max(lease.renewedAt, event.at);
        lease.isBegun ||= event.begun;
        break;
      }
      case 'settled': {
        settled.set(event.id, [...(settled.get(event.id) ?? []), event]);
        const before = accepted.get(event.id) ?? [];
        if (event.result === 'done' && before.every(({ fence }) => fence !== event.fence)) {
          accepted.set(event.id, [...before, event]);
        }
        const lease = byFence.get(`${event.id}/${event.fence}`);
        // When the first of two sends counted the job itself tells.
        if (event.result === 'done' && event.repeat && !isComplete) repeated.push({ lease, at: event.at });
        else if (event.result === 'done' && lease !== undefined) {
          lease.settledAt ??= event.at;
          lease.settledIndex ??= index;
        }
        break;
      }
      case 'changed':
        if (event.folded !== undefined) {
          const { call, repeat = false, replaces, fields } = event.folded;
          if (repeat && (!isComplete || firstFolds.has(call))) echoes.add(event);
          // Sent again when the machine has slept meanwhile, it may be forgotten that it was taken over before.
          const isForgotten = event.at >= (firstFolds.get(call) ?? event.at) + foldStoredMs;
          if (replaces && (!isComplete || isForgotten)) replaced.set(event.id, null);
          else if (replaces && !echoes.has(event) && replaced.get(event.id) !== null)
            replaced.set(event.id, fields);
          if (!firstFolds.has(call)) firstFolds.set(call, event.at);
        }
        if (isDone(event.result, isComplete))
          touched.set(event.id, [...(touched.get(event.id) ?? []), event]);
        break;
      case 'valued': {
        const where = `${event.name}/${event.key}`;
        if (event.op === 'put' && event.cleanupId !== null) cleanups.set(where, event.cleanupId);
        const id = cleanups.get(where);
        if (event.op !== 'extend' || event.result !== 'changed' || id === undefined) break;
        // Its clean-up moves with a value's end.
        const { at, node } = event;
        const moved = {
          kind: 'changed',
          at,
          node,
          verb: 'reschedule',
          id,
          result: 'changed',
          status: null,
        } as const;
        touched.set(id, [...(touched.get(id) ?? []), moved]);
        break;
      }
      case 'fault':
        faults.push(event);
        break;
      case 'node':
        nodes.push(event);
        break;
    }
  }
  // A process that was killed takes answers with it that the store gave; what became of its attempts the job itself tells.
  for (const { id, attempts } of isComplete ? [] : final.jobs) {
    for (const { fence, endedAt } of attempts) {
      const lease = byFence.get(`${id}/${fence}`);
      if (lease !== undefined) lease.settledAt ??= endedAt;
    }
  }
  for (const { lease, at } of repeated) if (lease !== undefined) lease.settledAt ??= at;
  for (const all of leases.values()) all.sort((one, other) => one.fence - other.fence);
  const deleted = new Set(
    final.audit
      .filter(({ action }) => action === 'delete' || action === 'discard')
      .flatMap(({ subject }) => (subject.startsWith('job:') ? [subject.slice('job:'.length)] : [])),
  );
  return {
    ...{ created, leases, settled, accepted, deleted, touched, echoes, replaced, firstFolds },
    ...{ faults, nodes, indexOf },
  };
}

/** Whether an act did something. Where notes are missing, `unchanged` and `missing` may answer the repeat of an act that did. */
function isDone(result: string, isComplete: boolean): boolean {
  return result !== 'refused' && (!isComplete || (result !== 'unchanged' && result !== 'missing'));
}

/**
 * Whether anything was wrong with the store, or with this node or its way there, within a span of the store's time. A machine that stood
 * still for a moment counts only from `stalledFromAt` on: after it everybody went on as before. Lost notifications count only for what is done
 * upon a notification (`isNotified`), and a node's wall clock never: it goes by its monotonic one.
 */
export function isTroubled(
  facts: Facts,
  node: string,
  fromAt: number,
  toAt: number,
  { stalledFromAt = fromAt, isNotified = false }: { stalledFromAt?: number; isNotified?: boolean } = {},
): boolean {
  const isFaulty = facts.faults.some(
    (fault) =>
      (fault.node === '*' || fault.node === node) &&
      fault.fault !== 'node-clock-jump' &&
      (isNotified || fault.fault !== 'notifications-lost') &&
      fault.at <= toAt &&
      (fault.untilAt ?? fault.at) >= (fault.fault === 'machine-stalled' ? stalledFromAt : fromAt),
  );
  return isFaulty || !isAwake(facts, node, fromAt, toAt);
}

/** Whether the main thread of a node was kept from turning within a span. */
export function isBlocked({ faults }: Facts, node: string, fromAt: number, toAt: number): boolean {
  return faults.some(
    ({ fault, detail, at, untilAt }) =>
      fault === 'blocked' && detail === node && at <= toAt && (untilAt ?? at) >= fromAt,
  );
}

/** Whether a node was up and moving through all of a span. */
export function isAwake(facts: Facts, node: string, fromAt: number, toAt: number): boolean {
  let isUp = false;
  let isGone = false;
  let upSinceAt = Number.POSITIVE_INFINITY;
  for (const event of facts.nodes) {
    if (event.node !== node) continue;
    // One that was killed while it stood still does not go on when it is told to.
    if (event.state === 'crashed' || event.state === 'stopped') isGone = true;
    if (event.state === 'up') isGone = false;
    if (isGone && event.state === 'resumed') continue;
    if (event.state === 'up' || event.state === 'resumed') {
      if (!isUp) upSinceAt = event.at;
      isUp = true;
    } else {
      if (isUp && event.at > fromAt && event.at <= toAt) return false;
      if (event.at <= toAt) isUp = false;
    }
  }
  return isUp && upSinceAt <= fromAt;
}

/** Whether a node takes from the queue of a job and has the version of its task that it needs. */
export function handles(
  { nodes }: Facts,
  node: string,
  { type, version, queue }: { type: string; version: number; queue: string },
): boolean {
  const up = nodes.find((one) => one.node === node && one.state === 'up');
  if (up?.queues !== undefined && !up.queues.includes(queue)) return false;
  return up?.versionOf === undefined || version <= (up.versionOf[type] ?? 1);
}

/** Whether a job of the final state is over. */
export function isOver(job: Evidence['final']['jobs'][number]): boolean {
  return isTerminal(job.status);
}

/** An instant for people. */
export function show(at: number | null): string {
  return at === null ? 'never' : new Date(at).toISOString().slice(11, 23);
}
