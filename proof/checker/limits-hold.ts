import { isTerminal } from '../../packages/core/src/job.ts';
import type { FinalState, HistoryEvent } from '../history.ts';
import { type Facts, type Lease, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const limitsHold: Invariant = {
  name: 'limits-hold',
  promise:
    'Leases never exceed a limit: one at a time for a serial key, in due order, or a lock, and no node runs more than it may.',
  check({ events, final, isComplete, unorderedMs = 0 }, facts) {
    return [
      ...checkSerial(facts),
      ...(unorderedMs === 0 ? checkLine(facts, isComplete ? null : final) : []),
      ...checkLocks(events),
      ...checkConcurrency(events),
    ];
  },
};

function checkSerial({ leases, made, touched }: Facts): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const bySerial = new Map<string, Lease[]>();
  for (const [id, all] of leases) {
    const serial = made.get(id)?.serial ?? null;
    if (serial === null) continue;
    bySerial.set(serial, [...(bySerial.get(serial) ?? []), ...all]);
  }
  for (const [serial, all] of bySerial) {
    const ordered = all.sort((one, other) => one.fence - other.fence);
    for (const [i, lease] of ordered.entries()) {
      for (const before of ordered.slice(0, i)) {
        if (before.id === lease.id || before.settledAt !== null) continue;
        const wasEnded =
          lease.at >= before.untilAt ||
          (leases.get(before.id) ?? []).some(({ fence }) => fence > before.fence) ||
          (touched.get(before.id) ?? []).some(({ at }) => at >= before.at && at <= lease.at);
        if (wasEnded) continue;
        problems.push({
          subjects: [before.id, lease.id],
          message: `Serial key "${serial}": job ${lease.id} was claimed at ${show(lease.at)} while ${before.id} was held until ${show(before.untilAt)}.`,
        });
      }
      for (const before of ordered.slice(0, i)) {
        if (before.id === lease.id || before.settledAt === null || before.settledAt <= lease.at) continue;
        problems.push({
          subjects: [before.id, lease.id],
          message: `Serial key "${serial}": job ${lease.id} was claimed at ${show(lease.at)}, before ${before.id} was settled at ${show(before.settledAt)}.`,
        });
      }
    }
  }
  return problems;
}

/** Of two jobs that stood in line for a serial key when its holder ended, the one that was due first comes first. */
function checkLine(
  { leases, made, touched, accepted }: Facts,
  /** Tells of first starts that nobody noted; null: all were. */
  final: FinalState | null,
): ReturnType<Invariant['check']> {
  const starts = final && new Map(final.jobs.map(({ id, startedAt }) => [id, startedAt]));
  const problems: ReturnType<Invariant['check']> = [];
  const lines = new Map<string, { id: string; dueAt: number; madeAt: number; firstAt: number }[]>();
  const ends = new Map<string, number[]>();
  for (const job of made.values()) {
    const { id, serial, tenant, dueAt, madeAt } = job;
    if (serial === null) continue;
    const where = JSON.stringify([tenant, serial]);
    for (const { to, at } of accepted.get(id) ?? []) {
      if (isTerminal(to)) ends.set(where, [...(ends.get(where) ?? []), at]);
    }
    // Whatever else it may wait for, or was done to it, is left out.
    if (job.slot !== null || job.dedupe !== null || job.startDeadlineMs !== null || touched.has(id)) continue;
    const firstAt = (starts === null ? leases.get(id)?.[0]?.at : starts.get(id)) ?? Number.POSITIVE_INFINITY;
    lines.set(where, [...(lines.get(where) ?? []), { id, dueAt, madeAt, firstAt }]);
  }
  for (const [where, line] of lines) {
    for (const freeAt of ends.get(where) ?? []) {
      const waiting = line.filter(
        ({ dueAt, madeAt, firstAt }) => madeAt < freeAt && dueAt < freeAt && firstAt >= freeAt,
      );
      for (const one of waiting) {
        const passed = waiting.find(({ dueAt, firstAt }) => dueAt < one.dueAt && firstAt > one.firstAt);
        if (passed === undefined) continue;
        problems.push({
          subjects: [one.id, passed.id],
          message: `Serial key ${where}: job ${one.id}, due ${show(one.dueAt)}, was taken at ${show(one.firstAt)} before ${passed.id}, due ${show(passed.dueAt)}; both stood in line at ${show(freeAt)}.`,
        });
      }
    }
  }
  return problems;
}

function checkLocks(events: readonly HistoryEvent[]): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const holders = new Map<string, { node: string; fence: number; untilAt: number }>();
  for (const event of events) {
    if (event.kind !== 'locked') continue;
    const { name, node, fence, at, untilAt } = event;
    const holder = holders.get(name);
    if (event.verb === 'release') {
      if (event.result === 'kept' && holder?.fence === fence) holders.delete(name);
    } else if (event.result === 'kept' && holder?.fence === fence) {
      holder.untilAt = untilAt ?? holder.untilAt;
    } else if (event.result === 'acquired') {
      // The same holder asking again is given what it has.
      const isAgain = holder?.node === node && holder.fence === fence;
      if (holder !== undefined && !isAgain && at < holder.untilAt) {
        problems.push({
          subjects: [`lock:${name}`],
          message: `Lock "${name}" was given to ${node} at ${show(at)} (fence ${fence}), while ${holder.node} held it until ${show(holder.untilAt)} (fence ${holder.fence}).`,
        });
      }
      holders.set(name, { node, fence, untilAt: untilAt ?? at });
    }
  }
  return problems;
}

function checkConcurrency(events: readonly HistoryEvent[]): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const nodes = new Map<
    string,
    { limit: number; of: Record<string, number>; running: Map<string, string> }
  >();
  for (const event of events) {
    if (event.kind === 'node' && event.state === 'up') {
      nodes.set(event.node, {
        limit: event.concurrency ?? Number.POSITIVE_INFINITY,
        of: event.concurrencyOf ?? {},
        running: new Map(),
      });
    }
    const node = nodes.get(event.node);
    if (node === undefined) continue;
    if (event.kind === 'ended') node.running.delete(`${event.id}/${event.fence}`);
    if (event.kind !== 'began') continue;
    node.running.set(`${event.id}/${event.fence}`, event.type);
    const ofType = [...node.running.values()].filter((type) => type === event.type).length;
    const typeLimit = node.of[event.type] ?? Number.POSITIVE_INFINITY;
    if (node.running.size > node.limit || ofType > typeLimit) {
      problems.push({
        subjects: [event.id],
        message: `Node ${event.node} runs ${node.running.size} handlers (${ofType} of ${event.type}) at ${show(event.at)}; its limits are ${node.limit} and ${typeLimit}.`,
      });
    }
  }
  return problems;
}
