import type { CreatedJob, Evidence, HistoryEvent } from '../history.ts';
import { type Facts, handles, isBlocked, isTroubled, type Lease, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

// A node that is told of nothing looks by itself at latest when the next job falls due; the rest is for the ways. Real machines are busy.
const lateMsMax = { simulated: 5_000, real: 10_000 };
// After trouble a loop asks again within 5 s.
const recoverMs = 6_000;

interface Waited {
  id: string;
  type: string;
  version: number;
  queue: string;
  readyAt: number;
  untilAt: number;
}

/** See `promise`. */
export const startsInTime: Invariant = {
  name: 'starts-in-time',
  promise:
    'A job that is due, waits for nothing and is not paused is taken at once while a worker is up, free and can reach the store.',
  parts: ['due', 'after a pause', 'beside another tenant'],
  check(evidence, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const boundMs = evidence.isComplete ? lateMsMax.simulated : lateMsMax.real;
    const given = new Set<number>();
    const lines = evidence.isComplete ? departuresOf(evidence, facts) : null;
    const pauses = pausesOf(evidence.events);
    const serials = heldSerialsOf(facts);
    for (const event of evidence.events) {
      if (event.kind !== 'claimed' || given.has(event.fence)) continue;
      // A repeated claim answers with the leases that it gave before.
      given.add(event.fence);
      const freeAt = readySince(event, facts, lines);
      if (freeAt === null) continue;
      exercise('due');
      const { id, type, version, queue } = event;
      const readyAt = afterPauses(pauses, event, freeAt, boundMs);
      if (readyAt > freeAt && event.at >= readyAt) exercise('after a pause');
      if (serials.has(id)) exercise('beside another tenant');
      if (event.at - readyAt <= boundMs) continue;
      const waited = { id, type, version, queue, readyAt, untilAt: readyAt + boundMs };
      const worker = whoWasFree(evidence, facts, waited);
      if (worker === null) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} was ready at ${show(readyAt)} and taken only at ${show(event.at)}, though ${worker} was up and free and could reach the store.`,
      });
    }
    return problems;
  },
};

/** Since when a job could have been taken; null: it may have waited for more than its time. */
function readySince(
  { id, at, fence, dueAt }: Extract<HistoryEvent, { kind: 'claimed' }>,
  { created, leases, accepted, touched }: Facts,
  lines: Lines | null,
): number | null {
  const job = created.get(id);
  // What was lost before is taken by itself, when nothing else runs there.
  if (job === undefined) return null;
  const mayWait = job.serial !== null || job.dedupe !== null || job.slot !== null;
  // Who left a line without a note is not told.
  if (mayWait && lines === null) return null;
  const others = mayWait
    ? [...linesOf(job), ...job.gates].flatMap((line) => lines?.get(line) ?? []).filter((one) => one.id !== id)
    : [];
  // The place is free from when the last of the others left it on.
  const left = others.map((one) => one.at).filter((leftAt) => leftAt <= at);
  if (leases.get(id)?.some(({ how }) => how === 'reaped')) return null;
  const before = (accepted.get(id) ?? []).filter((one) => one.fence < fence).map((one) => one.at);
  const acts = (touched.get(id) ?? []).map((one) => one.at).filter((actAt) => actAt <= at);
  return Math.max(job.createdAt, dueAt, ...before, ...acts, ...left);
}

/** By serial key, dedupe key and job: whenever one of its jobs may have left the place, or the line. */
type Lines = Map<string, { id: string; at: number }[]>;

function departuresOf({ events, final }: Evidence, { created, accepted, touched }: Facts): Lines {
  const lines: Lines = new Map();
  const leave = (line: string, id: string, at: number): void => {
    const known = lines.get(line);
    if (known === undefined) lines.set(line, [{ id, at }]);
    else known.push({ id, at });
  };
  // Some that a policy ended were deleted later, and no longer say when.
  const ended = new Map<string, number[]>();
  for (const event of events) {
    if (event.kind !== 'fired' && event.kind !== 'applied') continue;
    for (const { id } of event.cancel) ended.set(id, [...(ended.get(id) ?? []), event.at]);
  }
  const ends = new Map(final.jobs.map(({ id, finishedAt }) => [id, finishedAt]));
  for (const job of created.values()) {
    const { id } = job;
    const endedAt = ends.get(id) ?? null;
    const instants = [
      ...[...(accepted.get(id) ?? []), ...(touched.get(id) ?? [])].map(({ at }) => at),
      ...(ended.get(id) ?? []),
      ...(endedAt === null ? [] : [endedAt]),
    ];
    for (const line of [id, ...linesOf(job)]) for (const at of instants) leave(line, id, at);
  }
  return lines;
}

/** The lines that a job stands in: that of its serial key, and that behind the holder of its dedupe key. */
function linesOf({ type, tenant, serial, dedupe }: CreatedJob): string[] {
  return [
    ...(serial === null ? [] : [JSON.stringify([tenant, serial])]),
    ...(dedupe === null ? [] : [JSON.stringify([type, tenant, dedupe.key])]),
  ];
}

/** A worker that had a place for it all the time; null: none. */
function whoWasFree(evidence: Evidence, facts: Facts, waited: Waited): string | null {
  const { readyAt, untilAt } = waited;
  if (hasSuspect(facts, readyAt, untilAt)) return null;
  const workers = facts.nodes.filter(({ state, roles }) => state === 'up' && roles?.includes('worker'));
  for (const { node, concurrency = 0, concurrencyOf = {} } of workers) {
    if (!handles(facts, node, waited)) continue;
    if (isTroubled(facts, node, readyAt - recoverMs, untilAt, { isNotified: true })) continue;
    if (isBlocked(facts, node, readyAt - recoverMs, untilAt)) continue;
    const busy = busyWith(evidence.events, facts, node, readyAt, untilAt);
    const ofType = busy.filter((type) => type === waited.type).length;
    if (busy.length < concurrency && ofType < (concurrencyOf[waited.type] ?? Number.POSITIVE_INFINITY))
      return node;
  }
  return null;
}

/** The types of what a node held or ran at any time of a span, one for each. */
function busyWith(
  events: readonly HistoryEvent[],
  { leases }: Facts,
  node: string,
  fromAt: number,
  toAt: number,
): string[] {
  const types = new Map<string, string>();
  const typeOf = new Map<string, string>();
  const ended = new Map<string, number>();
  const began = new Map<string, number>();
  for (const event of events) {
    if (event.kind === 'claimed') typeOf.set(event.id, event.type);
    if (event.kind === 'began' && event.node === node) began.set(`${event.id}/${event.fence}`, event.at);
    if (event.kind === 'ended' && event.node === node) ended.set(`${event.id}/${event.fence}`, event.at);
  }
  for (const lease of [...leases.values()].flat()) {
    if (lease.node !== node || lease.how !== 'claimed') continue;
    const key = `${lease.id}/${lease.fence}`;
    // A handler that was given up keeps its place until it returns.
    const handlerAt = began.has(key) ? (ended.get(key) ?? Number.POSITIVE_INFINITY) : lease.at;
    const overAt = Math.max(lease.settledAt ?? lease.untilAt, handlerAt);
    if (lease.at <= toAt && overAt >= fromAt) types.set(key, typeOf.get(lease.id) ?? '');
  }
  return [...types.values()];
}

/** A span in which jobs of a target are not claimed. */
interface Pause {
  target: string;
  fromAt: number;
  /** When it was ended, ended by itself, or was replaced by another. */
  untilAt: number;
}

function pausesOf(events: readonly HistoryEvent[]): Pause[] {
  const pauses: Pause[] = [];
  const last = new Map<string, Pause>();
  for (const event of events) {
    if (event.kind !== 'claimsPaused') continue;
    const { target, at } = event;
    const before = last.get(target);
    if (before !== undefined) before.untilAt = Math.min(before.untilAt, at);
    if (event.state === 'resumed') continue;
    const pause = { target, fromAt: at, untilAt: event.untilAt ?? Number.POSITIVE_INFINITY };
    last.set(target, pause);
    pauses.push(pause);
  }
  return pauses;
}

/** When a job that waits for nothing since `freeAt` has been claimable for as long as a worker may take. */
function afterPauses(
  pauses: readonly Pause[],
  { type, queue }: { type: string; queue: string },
  freeAt: number,
  boundMs: number,
): number {
  const targets = ['all', `queue:${queue}`, `type:${type}`];
  const own = pauses.filter(({ target }) => targets.includes(target));
  let readyAt = freeAt;
  for (;;) {
    const next = own.find(({ fromAt, untilAt }) => fromAt <= readyAt + boundMs && untilAt > readyAt);
    if (next === undefined) return readyAt;
    readyAt = next.untilAt;
  }
}

/** Jobs with a serial key that were first claimed while a job of another tenant held the same key. */
function heldSerialsOf({ created, leases }: Facts): Set<string> {
  const bySerial = new Map<
    string,
    { id: string; tenant: string | null; fromAt: number; untilAt: number }[]
  >();
  for (const { id, serial, tenant } of created.values()) {
    const all = serial === null ? undefined : leases.get(id);
    const [first, last] = [all?.[0], all?.at(-1)];
    if (serial === null || first === undefined || last === undefined) continue;
    const held = { id, tenant, fromAt: first.at, untilAt: last.settledAt ?? last.untilAt };
    bySerial.set(serial, [...(bySerial.get(serial) ?? []), held]);
  }
  const found = new Set<string>();
  for (const all of bySerial.values()) {
    for (const one of all) {
      const isBeside = all.some(
        ({ tenant, fromAt, untilAt }) => tenant !== one.tenant && fromAt < one.fromAt && untilAt > one.fromAt,
      );
      if (isBeside) found.add(one.id);
    }
  }
  return found;
}

/** Whether a job that was lost before waited meanwhile: for one that must run alone, workers let their places run empty. */
function hasSuspect({ leases }: Facts, fromAt: number, toAt: number): boolean {
  return [...leases.values()].some((all) => isSuspectIn(all, fromAt, toAt));
}

function isSuspectIn(all: readonly Lease[], fromAt: number, toAt: number): boolean {
  const reaped = all.find(({ how }) => how === 'reaped');
  if (reaped === undefined || reaped.at > toAt) return false;
  const last = all.at(-1) as Lease;
  return (last.settledAt ?? Number.POSITIVE_INFINITY) >= fromAt;
}
