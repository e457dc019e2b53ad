import type { Claimed, CreatedJob, HistoryEvent } from '../history.ts';
import { type Facts, handles, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** A job that waits for nothing but a worker, from its due instant on. */
interface Waiting {
  id: string;
  type: string;
  version: number;
  queue: string;
  dueAt: number;
  rank: number;
}

/** See `promise`. */
export const takenByRank: Invariant = {
  name: 'taken-by-rank',
  promise:
    'Of two jobs that are due and wait for nothing, the one that ranks first is taken first: by priority, by due instant, what is caught up on behind what is live.',
  parts: ['due instant', 'priority', 'replaced'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    // It takes the order of all calls to know who was ready when.
    if (!evidence.isComplete) return problems;
    const limited = new Set(facts.nodes.flatMap(({ concurrencyOf = {} }) => Object.keys(concurrencyOf)));
    const pauses = new Map<string, number>();
    const waiting = new Map<string, Waiting>();
    const given = new Set<number>();
    const created = new Set<string>();
    /** By how much jobs rank behind their due instant since a call replaced them. */
    const offsets = new Map<string, number>();
    const passed = (event: Claimed): Waiting | null => {
      const job = facts.created.get(event.id);
      // What was lost before is taken by itself, also out of its turn.
      if (job === undefined || facts.leases.get(event.id)?.some(({ how }) => how === 'reaped')) return null;
      const acts = facts.touched.get(event.id) ?? [];
      if (facts.replaced.get(event.id) === null || acts.some(({ verb }) => verb !== 'fold')) return null;
      const offsetMs = offsets.get(event.id) ?? job.rankOffsetMs;
      const rank = event.dueAt + offsetMs;
      const compared = new Set<string>();
      for (const one of waiting.values()) {
        if (one.rank === rank || one.dueAt > event.at || limited.has(one.type)) continue;
        if (!handles(facts, event.node, one)) continue;
        const targets = ['all', `queue:${one.queue}`, `type:${one.type}`];
        if (targets.some((target) => (pauses.get(target) ?? 0) > event.at)) continue;
        compared.add(one.rank - one.dueAt === offsetMs ? 'due instant' : 'priority');
        if (offsetMs !== job.rankOffsetMs) compared.add('replaced');
        if (one.rank < rank) return one;
      }
      for (const part of compared) exercise(part);
      return null;
    };
    const calls = callsOf(evidence.events);
    for (const event of evidence.events) {
      for (const job of createdBy(event)) {
        // Sent again after an unknown outcome it is made no second time.
        if (!created.has(job.id) && mustOnlyWait(job, facts)) waiting.set(job.id, waitingOf(job));
        created.add(job.id);
      }
      if (event.kind === 'changed' && event.folded?.replaces === true && !facts.echoes.has(event))
        offsets.set(event.id, event.folded.fields.rankOffsetMs);
      if (event.kind === 'claimsPaused') {
        if (event.state === 'resumed') pauses.delete(event.target);
        else pauses.set(event.target, event.untilAt ?? Number.POSITIVE_INFINITY);
      }
      if (event.kind !== 'claimed' || given.has(event.fence)) continue;
      // A repeated claim answers with the leases that it gave before.
      given.add(event.fence);
      // What one call gives is taken at once, in whatever order it is listed.
      for (const { id } of calls.get(event) ?? [event]) waiting.delete(id);
      const first = passed(event);
      if (first === null) continue;
      problems.push({
        subjects: [event.id, first.id],
        message: `Job ${event.id} was given to ${event.node} at ${show(event.at)}, before ${first.id}, which was due at ${show(first.dueAt)} and ranks before it.`,
      });
    }
    return problems;
  },
};

/** For each claimed job, all that the same call gave. */
function callsOf(events: readonly HistoryEvent[]): Map<Claimed, Claimed[]> {
  const calls = new Map<Claimed, Claimed[]>();
  let call: Claimed[] = [];
  for (const event of events) {
    if (event.kind !== 'claimed') continue;
    const [first] = call;
    const isSame = first?.node === event.node && first.at === event.at && call.length < first.together;
    if (!isSame) call = [];
    call.push(event);
    calls.set(event, call);
  }
  return calls;
}

function createdBy(event: HistoryEvent): readonly CreatedJob[] {
  if (event.kind === 'created') return event.jobs;
  if (event.kind === 'fired') return event.result === 'fired' ? event.jobs : [];
  return event.kind === 'applied' && event.result === 'applied' ? event.jobs : [];
}

/** Whether a job waits for nothing but its time, and nobody does anything to it. */
function mustOnlyWait(
  { id, serial, dedupe, gates, startDeadlineMs }: CreatedJob,
  { touched, leases }: Facts,
): boolean {
  // One that never starts was ended meanwhile; who knows when.
  const isFree = serial === null && dedupe === null && gates.length === 0 && startDeadlineMs === null;
  return isFree && !touched.has(id) && leases.has(id);
}

function waitingOf({ id, type, version, queue, dueAt, rankOffsetMs }: CreatedJob): Waiting {
  return { id, type, version, queue, dueAt, rank: dueAt + rankOffsetMs };
}
