import type { HistoryEvent } from '../history.ts';
import { type Facts, type Lease, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const limitsHold: Invariant = {
  name: 'limits-hold',
  promise:
    'Leases never exceed a limit: one at a time for a serial key or a lock, and no node runs more than it may.',
  check({ events }, facts) {
    return [...checkSerial(facts), ...checkLocks(events), ...checkConcurrency(events)];
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
