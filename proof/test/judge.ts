/** Small histories for tests of single invariants. */
import type { JobRecord } from '../../packages/core/src/contract/engine.ts';
import { check } from '../checker/index.ts';
import type { Invariant } from '../checker/invariant.ts';
import type { Changed, CreatedJob, Fault, FinalState, HistoryEvent, Settled } from '../history.ts';

/** Judges a complete history by one invariant. Returns the messages of what it breaks, one per line. */
export function judge(
  invariant: Invariant,
  events: readonly HistoryEvent[],
  jobs: readonly Partial<JobRecord>[] = [],
  rest: Partial<FinalState> = {},
): string {
  // Stable: events of one instant stay in their order.
  const sorted = events.toSorted((one, other) => one.at - other.at);
  const ended = jobs.map((job) => ({ status: 'COMPLETED', finishedAt: null, attempts: [], ...job }));
  const kept = { at: 900_000, jobs: ended as unknown as JobRecord[], schedules: [], ledger: {}, audit: [] };
  const final = { ...kept, ...rest };
  return check({ events: sorted, final, isComplete: true, isSettled: true }, [invariant])
    .map(({ message }) => message)
    .join('\n');
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
