/** Small histories for tests of single invariants. */
import type { Change, JobRecord } from '../../packages/core/src/contract/engine.ts';
import { isTerminal, type JobStatus } from '../../packages/core/src/contract/job-status.ts';
import { check } from '../checker/index.ts';
import type { Invariant } from '../checker/invariant.ts';
import type { Changed, CreatedJob, Fault, FinalState, HistoryEvent, Settled } from '../history.ts';

/** Judges a history, complete by default, by one invariant. Returns the messages of what it breaks, one per line. */
export function judge(
  invariant: Invariant,
  events: readonly HistoryEvent[],
  jobs: readonly Partial<JobRecord>[] = [],
  { isComplete = true, ...rest }: Partial<FinalState> & { isComplete?: boolean } = {},
): string {
  // Stable: events of one instant stay in their order.
  const sorted = events.toSorted((one, other) => one.at - other.at);
  const ended = jobs.map(
    (job) => ({ id: '', status: 'COMPLETED', finishedAt: null, attempts: [], ...job }) as JobRecord,
  );
  const feed = feedOf(sorted, ended);
  const final = { at: 900_000, jobs: ended, schedules: [], ledger: {}, audit: [], feed, ...rest };
  return check({ events: sorted, final, isComplete, isSettled: true }, [invariant])
    .map(({ message }) => message)
    .join('\n');
}

/** The feed of a history. A job that ends without an event ends when its record says so. */
function feedOf(
  events: readonly HistoryEvent[],
  jobs: readonly Pick<JobRecord, 'id' | 'status' | 'finishedAt'>[],
): Change[] {
  const feed = events.flatMap((event) => changesOf(event));
  for (const { id, status, finishedAt } of jobs) {
    const isNoted = feed.some((change) => change.id === id && isTerminal(change.status));
    if (finishedAt !== null && !isNoted) feed.push({ at: finishedAt, id, event: 'ended', status });
  }
  const sorted = feed.toSorted((one, other) => one.at - other.at);
  return sorted.map((change, position) => ({ ...change, type: 'work', percent: null, position })) as Change[];
}

function changesOf(event: HistoryEvent): { at: number; id: string; event: string; status: JobStatus }[] {
  const { at } = event;
  const change = (id: string, what: string, status: JobStatus) => [{ at, id, event: what, status }];
  if (event.kind === 'created') return event.jobs.flatMap(({ id }) => change(id, 'created', 'PENDING'));
  if (event.kind === 'claimed') return change(event.id, 'claimed', 'RUNNING');
  if (event.kind === 'settled') return change(event.id, event.reason ?? 'settled', event.to);
  if (event.kind !== 'changed' || event.result !== 'changed') return [];
  if (event.verb === 'retry') return change(event.id, 'retried', 'PENDING');
  if (event.verb === 'delete') return change(event.id, 'deleted', 'CANCELLED');
  if (event.verb === 'cancel' || event.verb === 'terminate')
    return change(event.id, 'cancelled', 'CANCELLED');
  return [];
}

/** A job is created. */
export function created(at: number, id: string, fields: Partial<CreatedJob> = {}): HistoryEvent {
  const job = { id, type: 'work', tenant: null, dedupe: null, child: null, gates: [], ...fields };
  return { kind: 'created', at, node: 'n', jobs: [job as unknown as CreatedJob] };
}

/** A job is given to a worker until `untilAt`, under a fence. */
export function claimed(at: number, id: string, fence = 1, untilAt = at + 90_000): HistoryEvent {
  return {
    ...{ kind: 'claimed', at, node: 'n', id, type: 'work', version: 1, queue: 'default' },
    ...{ attempt: fence, fence, dueAt: 0, untilAt, together: 1 },
  };
}

/** The outcome of an attempt is accepted. */
export function settled(
  at: number,
  id: string,
  to: Settled['to'],
  { fence = 1, reason = 'threw' }: Partial<Pick<Settled, 'fence' | 'reason'>> = {},
): Settled {
  return {
    ...{ kind: 'settled', at, node: 'n', id, fence, to, reason, spends: reason !== 'released' },
    ...{ dueAt: null, result: 'done', value: null, error: null, lines: [], repeat: false },
  };
}

/** Somebody acts on a job. */
export function changed(
  at: number,
  verb: Changed['verb'],
  id: string,
  fields: Partial<Changed> = {},
): Changed {
  return { kind: 'changed', at, node: 'n', verb, id, result: 'changed', status: null, ...fields };
}

/** A reply of the store to node `n` is lost. */
export function replyLost(at: number, untilAt: number): Fault {
  return { kind: 'fault', at, node: 'n', fault: 'reply-lost', detail: '', untilAt };
}

/** The event loop of a node is blocked. */
export function blocked(at: number, untilAt: number, node = 'n'): Fault {
  return { kind: 'fault', at, node, fault: 'blocked', detail: node, untilAt };
}
