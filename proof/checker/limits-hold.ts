import { isTerminal } from '../../packages/core/src/contract/job-status.ts';
import type { FinalState, HistoryEvent } from '../history.ts';
import { endingVerbs, type Facts, type Lease, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** See `promise`. */
export const limitsHold: Invariant = {
  name: 'limits-hold',
  promise:
    'Leases never exceed a limit: one at a time for a serial key, in due order, or a lock, and no node runs more than it may.',
  parts: ['serial key', 'line', 'held lock', 'lost lock', 'lock asked for again', 'node', 'task'],
  check({ events, final, isComplete, unorderedMs = 0 }, facts, exercise) {
    return [
      ...checkSerial(facts, terminatedBy(events), exercise),
      ...(unorderedMs === 0 ? checkLine(facts, isComplete ? null : final, exercise) : []),
      ...checkLocks(events, isComplete, exercise),
      ...checkConcurrency(events, exercise),
    ];
  },
};

/** When an overlap policy ended which runs, whatever they did. */
function terminatedBy(events: readonly HistoryEvent[]): Map<string, number[]> {
  const ends = new Map<string, number[]>();
  for (const event of events) {
    if (event.kind !== 'fired' && event.kind !== 'applied') continue;
    if (event.result !== 'fired' && event.result !== 'applied') continue;
    for (const { id, mode } of event.cancel)
      if (mode === 'terminate') ends.set(id, [...(ends.get(id) ?? []), event.at]);
  }
  return ends;
}

function checkSerial(
  { leases, created, touched }: Facts,
  terminated: ReadonlyMap<string, number[]>,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const bySerial = new Map<string, Lease[]>();
  for (const [id, all] of leases) {
    const job = created.get(id);
    if (job === undefined || job.serial === null) continue;
    const serial = JSON.stringify([job.tenant, job.serial]);
    bySerial.set(serial, [...(bySerial.get(serial) ?? []), ...all]);
  }
  for (const [serial, all] of bySerial) {
    const ordered = all.sort((one, other) => one.fence - other.fence);
    for (const [i, lease] of ordered.entries()) {
      const dueAt = lease.dueAt ?? lease.at;
      const hasWaited = ordered
        .slice(0, i)
        .some((before) => before.id !== lease.id && (before.settledAt ?? before.untilAt) > dueAt);
      if (hasWaited) exercise('serial key');
      for (const before of ordered.slice(0, i)) {
        if (before.id === lease.id || before.settledAt !== null) continue;
        const wasEnded =
          lease.at >= before.untilAt ||
          (leases.get(before.id) ?? []).some(({ fence }) => fence > before.fence) ||
          (touched.get(before.id) ?? []).some(
            ({ verb, at }) => endingVerbs.includes(verb) && at >= before.at && at <= lease.at,
          ) ||
          (terminated.get(before.id) ?? []).some((at) => at >= before.at && at <= lease.at);
        if (wasEnded) continue;
        problems.push({
          subjects: [before.id, lease.id],
          message: `Serial key ${serial}: job ${lease.id} was claimed at ${show(lease.at)} while ${before.id} was held until ${show(before.untilAt)}.`,
        });
      }
      for (const before of ordered.slice(0, i)) {
        if (before.id === lease.id || before.settledAt === null || before.settledAt <= lease.at) continue;
        problems.push({
          subjects: [before.id, lease.id],
          message: `Serial key ${serial}: job ${lease.id} was claimed at ${show(lease.at)}, before ${before.id} was settled at ${show(before.settledAt)}.`,
        });
      }
    }
  }
  return problems;
}

interface InLine {
  id: string;
  dueAt: number;
  createdAt: number;
  firstAt: number;
  /** Index of the event that gave it to a worker first, in a complete history. */
  firstIndex: number;
  /** When it was moved, and to when. */
  moves: { at: number; dueAt: number }[];
}

/** Of two jobs that stood in line for a serial key when its holder ended, the one that was due first comes first. */
function checkLine(
  { leases, created, touched, accepted, indexOf }: Facts,
  /** Tells of first starts that nobody noted; null: all were. */
  final: FinalState | null,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const starts = final && new Map(final.jobs.map(({ id, startedAt }) => [id, startedAt]));
  const problems: ReturnType<Invariant['check']> = [];
  const lines = new Map<string, InLine[]>();
  const ends = new Map<string, { at: number; index: number }[]>();
  /** Those that put themselves off, and so left their place, as they were taken again. */
  const comebacks = new Map<string, { id: string; dueAt: number; at: number }[]>();
  for (const job of created.values()) {
    const { id, serial, tenant, dueAt, createdAt } = job;
    if (serial === null) continue;
    const where = JSON.stringify([tenant, serial]);
    for (const outcome of accepted.get(id) ?? []) {
      const { to, at, fence } = outcome;
      const index = indexOf.get(outcome) ?? Number.NaN;
      if (isTerminal(to)) ends.set(where, [...(ends.get(where) ?? []), { at, index }]);
      // By fence: an attempt that is taken and put off within one millisecond is not its own successor.
      const back = to === 'SCHEDULED' ? leases.get(id)?.find((lease) => lease.fence > fence) : undefined;
      if (back === undefined || back.dueAt === null || touched.has(id)) continue;
      const known = comebacks.get(where) ?? [];
      comebacks.set(where, [...known, { id, dueAt: back.dueAt, at: back.at }]);
    }
    // Whatever else it may wait for, or was done to it, is left out.
    const acts = touched.get(id) ?? [];
    const isOnlyMoved =
      acts.every(({ moved }) => moved !== undefined) && (starts === null || acts.length === 0);
    if (job.slot !== null || job.dedupe !== null || job.startDeadlineMs !== null || !isOnlyMoved) continue;
    const first = leases.get(id)?.[0];
    const firstAt = (starts === null ? first?.at : starts.get(id)) ?? Number.POSITIVE_INFINITY;
    const firstIndex = first?.index ?? Number.POSITIVE_INFINITY;
    const moves = acts.flatMap(({ at, result, moved }) =>
      result === 'changed' && moved?.dueAt != null ? [{ at, dueAt: moved.dueAt }] : [],
    );
    lines.set(where, [...(lines.get(where) ?? []), { id, dueAt, createdAt, firstAt, firstIndex, moves }]);
  }
  for (const [where, line] of lines) {
    for (const back of starts === null ? (comebacks.get(where) ?? []) : []) {
      const passed = line.find(
        ({ id, dueAt, createdAt, firstAt, moves }) =>
          id !== back.id &&
          moves.length === 0 &&
          Math.max(dueAt, createdAt) < back.dueAt &&
          firstAt > back.at &&
          Number.isFinite(firstAt),
      );
      if (passed === undefined) continue;
      problems.push({
        subjects: [back.id, passed.id],
        message: `Serial key ${where}: job ${back.id}, which had put itself off until ${show(back.dueAt)}, was taken at ${show(back.at)} before ${passed.id}, due ${show(passed.dueAt)}.`,
      });
    }
    for (const { at: freeAt, index } of ends.get(where) ?? []) {
      const waiting = line
        // In a complete history also within one millisecond: a job that was taken and ended in it did not wait for its own end.
        .filter(({ firstAt, firstIndex }) => (starts === null ? firstIndex > index : firstAt >= freeAt))
        // Who was moved after that is in another place by now.
        .filter(({ moves, firstAt }) => moves.every(({ at }) => at < freeAt || at > firstAt))
        .map((one) => ({ ...one, dueAt: one.moves.findLast(({ at }) => at < freeAt)?.dueAt ?? one.dueAt }))
        .filter(({ dueAt, createdAt }) => createdAt < freeAt && dueAt < freeAt);
      if (waiting.length > 1) exercise('line');
      for (const one of waiting) {
        const passed = waiting.find(
          ({ dueAt, firstAt, firstIndex }) =>
            dueAt < one.dueAt &&
            (starts === null ? firstIndex > one.firstIndex : firstAt > one.firstAt) &&
            // What never started was ended meanwhile, and whoever did so may have died before it noted that.
            (starts === null || Number.isFinite(firstAt)),
        );
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

function checkLocks(
  events: readonly HistoryEvent[],
  isComplete: boolean,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const holders = new Map<
    string,
    { node: string; fence: number; untilAt: number; token: string | undefined }
  >();
  for (const event of events) {
    if (event.kind !== 'locked') continue;
    const { name, node, fence, at, untilAt, token } = event;
    const holder = holders.get(name);
    if (event.result === 'refused') exercise('held lock');
    if (event.result === 'lost') exercise('lost lock');
    const isOwn = token !== undefined && holder?.token === token && at < holder.untilAt;
    if (event.verb === 'acquire' && isOwn) exercise('lock asked for again');
    // Its first call took effect, and the answer was lost.
    if (isComplete && isOwn && (event.result === 'refused' || fence !== holder.fence)) {
      problems.push({
        subjects: [`lock:${name}`],
        message: `Lock "${name}": ${node} held it until ${show(holder.untilAt)} (fence ${holder.fence}), asked for it again at ${show(at)}, and ${event.result === 'refused' ? 'was refused' : `was given fence ${fence}`}.`,
      });
    }
    // Where notes are missing, nobody knows who has it.
    if (isComplete && event.result === 'kept' && holder?.fence !== fence) {
      problems.push({
        subjects: [`lock:${name}`],
        message: `Lock "${name}": a ${event.verb} of ${node} at ${show(at)} under fence ${fence} was taken, and ${holder === undefined ? 'nobody held it' : `${holder.node} held it (fence ${holder.fence})`}.`,
      });
    }
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
      holders.set(name, { node, fence, untilAt: untilAt ?? at, token });
    }
  }
  return problems;
}

function checkConcurrency(
  events: readonly HistoryEvent[],
  exercise: Exercise,
): ReturnType<Invariant['check']> {
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
    if (node.running.size >= node.limit) exercise('node');
    if (ofType >= typeLimit) exercise('task');
    if (node.running.size > node.limit || ofType > typeLimit) {
      problems.push({
        subjects: [event.id],
        message: `Node ${event.node} runs ${node.running.size} handlers (${ofType} of ${event.type}) at ${show(event.at)}; its limits are ${node.limit} and ${typeLimit}.`,
      });
    }
  }
  return problems;
}
