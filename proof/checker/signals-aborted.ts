import type { Began, HistoryEvent } from '../history.ts';
import { type Facts, isAwake, isBlocked, isTroubled, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

// A heartbeat, which is a sixth of the lease, and the way there and back. Real machines are busy.
const boundMsOf = { simulated: 4_000, real: 10_000 };
// What went wrong shortly before may still be on its way.
const recoverMs = 5_000;

// The instants of real processes are estimates.
const estimateMsMax = 250;

// What keeps a node that is up and turns from seeing in time that a lease of its own has ended: the answer to its heartbeat is still to come.
const holdsHeartbeats: readonly string[] = ['call-slow', 'store-locked', 'blocked'];

interface Reason {
  at: number;
  what: string;
}

/** See `promise`. */
export const signalsAborted: Invariant = {
  name: 'signals-aborted',
  promise:
    'The signal of a handler is aborted soon after its lease was lost or had ended unheard, its job was asked to cancel or its time was up, and not before.',
  parts: ['cancelled', 'timeout', 'lost', 'shutdown', 'not renewed'],
  check({ events, isComplete }, facts, exercise) {
    const problems = tooSoon(events, facts, isComplete, exercise);
    if (isComplete) problems.push(...endedUnheard(events, facts, exercise));
    const boundMs = isComplete ? boundMsOf.simulated : boundMsOf.real;
    const began: Began[] = [];
    const overAt = new Map<string, number>();
    const apart = new Set<string>();
    const reasons = new Map<string, Reason[]>();
    const asked = new Map<string, Reason[]>();
    const report = (map: Map<string, Reason[]>, key: string, reason: Reason): void => {
      map.set(key, [...(map.get(key) ?? []), reason]);
    };
    for (const event of events) {
      if (event.kind === 'began') began.push(event);
      else if (event.kind === 'aborted' || event.kind === 'ended' || event.kind === 'settled') {
        const key = `${event.id}/${event.fence}`;
        if (!overAt.has(key)) overAt.set(key, event.at);
        if (event.kind === 'ended' && event.how === 'completed-apart') apart.add(key);
      } else if (event.kind === 'renewed' && event.state !== 'kept') {
        const what = event.state === 'lost' ? 'its lease was lost' : 'it was told of a cancel';
        report(reasons, `${event.id}/${event.fence}`, { at: event.at, what });
      } else if (event.kind === 'reaped') {
        // Whoever held it before hears of it with its next heartbeat.
        report(asked, event.id, { at: event.at, what: 'its lease was taken over' });
      } else if (event.kind === 'changed' && event.verb === 'cancel' && event.result === 'asked')
        report(asked, event.id, { at: event.at, what: 'its job was asked to cancel' });
      else if (event.kind === 'changed' && event.verb === 'terminate' && event.result === 'changed')
        report(asked, event.id, { at: event.at, what: 'its job was ended' });
    }
    for (const { id, fence, node, at } of began) {
      const key = `${id}/${fence}`;
      // It completed its job in a transaction of its own, after which a lost lease is no news.
      if (apart.has(key)) continue;
      const timeoutMs = facts.created.get(id)?.timeoutMs ?? null;
      const all = [
        ...(reasons.get(key) ?? []),
        ...(asked.get(id) ?? []).filter((one) => one.at > at),
        ...(timeoutMs === null ? [] : [{ at: at + timeoutMs, what: 'its time was up' }]),
      ];
      const late = all.find((reason) => isLate(facts, node, reason, overAt.get(key), boundMs));
      if (late === undefined) continue;
      problems.push({
        subjects: [id],
        message: `The handler of job ${id} on ${node} (fence ${fence}, begun at ${show(at)}) was not told to stop within ${boundMs} ms, though ${late.what} at ${show(late.at)}.`,
      });
    }
    return problems;
  },
};

/**
 * Handlers that went on though their worker had heard nothing of their lease for as long as one lasts. Nobody has to tell it: it counts by
 * its own monotonic clock, so a store that does not answer, or cannot be reached, is no excuse, and neither is a lost answer.
 */
function endedUnheard(
  events: readonly HistoryEvent[],
  facts: Facts,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const boundMs = boundMsOf.simulated;
  const leaseMsOf = new Map<string, number>();
  const running = new Map<string, { began: Began; reportedAt: number }>();
  const judge = (key: string, untilAt: number): void => {
    const { began, reportedAt } = running.get(key) as { began: Began; reportedAt: number };
    const endAt = reportedAt + (leaseMsOf.get(key) ?? Number.POSITIVE_INFINITY);
    if (untilAt > endAt) exercise('not renewed');
    if (untilAt <= endAt + boundMs) return;
    const { id, fence, node } = began;
    if (
      !isAwake(facts, node, reportedAt, endAt + boundMs) ||
      isHeldUp(facts, node, reportedAt, endAt + boundMs)
    )
      return;
    problems.push({
      subjects: [id],
      message: `The handler of job ${id} on ${node} (fence ${fence}) was not told to stop within ${boundMs} ms, though its worker heard of its lease at ${show(reportedAt)} for the last time, and it ended at ${show(endAt)}.`,
    });
  };
  for (const event of events) {
    if (event.kind === 'claimed') leaseMsOf.set(`${event.id}/${event.fence}`, event.untilAt - event.at);
    else if (event.kind === 'began')
      running.set(`${event.id}/${event.fence}`, { began: event, reportedAt: event.at });
    else if (event.kind === 'renewed' || event.kind === 'aborted' || event.kind === 'ended') {
      const key = `${event.id}/${event.fence}`;
      const one = running.get(key);
      if (one === undefined) continue;
      judge(key, event.at);
      if (event.kind === 'renewed' && event.state !== 'lost') one.reportedAt = event.at;
      else running.delete(key);
    } else if (event.kind === 'node' && (event.state === 'crashed' || event.state === 'stopped')) {
      for (const [key, { began }] of [...running]) {
        if (began.node !== event.node) continue;
        judge(key, event.at);
        running.delete(key);
      }
    }
  }
  return problems;
}

/** Whether a heartbeat of a node was held up, or the store's instants do not tell how long it counted. */
function isHeldUp({ faults }: Facts, node: string, fromAt: number, toAt: number): boolean {
  return faults.some(
    ({ fault, node: whose, at, untilAt }) =>
      (fault === 'store-clock-jump' ||
        (holdsHeartbeats.includes(fault) && (whose === '*' || whose === node))) &&
      at <= toAt &&
      (untilAt ?? at) >= fromAt,
  );
}

/** Signals that were aborted though the time was not up, the lease held, or the node was not stopping. */
function tooSoon(
  events: readonly HistoryEvent[],
  facts: Facts,
  isComplete: boolean,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const began = new Map<string, Began>();
  const held = new Map<string, { untilAt: number; isLost: boolean }>();
  const stopping = new Set<string>();
  for (const event of events) {
    if (event.kind === 'node' && event.state === 'stopping') stopping.add(event.node);
    else if (event.kind === 'began') began.set(`${event.id}/${event.fence}`, event);
    else if (event.kind === 'claimed')
      held.set(`${event.id}/${event.fence}`, { untilAt: event.untilAt, isLost: false });
    else if (event.kind === 'renewed' || event.kind === 'reported' || event.kind === 'settled') {
      const lease = held.get(`${event.id}/${event.fence}`);
      const answer = event.kind === 'renewed' ? event.state : event.result;
      if (lease === undefined) continue;
      if (answer === 'lost') lease.isLost = true;
      else if (event.kind === 'renewed') lease.untilAt = event.untilAt;
    } else if (event.kind === 'remembered' && event.result === 'lost' && 'job' in (event.guard ?? {})) {
      const guard = event.guard as { job: string; fence: number };
      const lease = held.get(`${guard.job}/${guard.fence}`);
      if (lease !== undefined) lease.isLost = true;
    }
    if (event.kind !== 'aborted') continue;
    const { id, fence, node, at, reason } = event;
    exercise(reason);
    const begunAt = began.get(`${id}/${fence}`)?.at ?? at;
    let why: string | null = null;
    if (reason === 'timeout') {
      const timeoutMs = facts.created.get(id)?.timeoutMs ?? null;
      const upAt = timeoutMs === null ? Number.POSITIVE_INFINITY : begunAt + timeoutMs;
      if (facts.created.has(id) && at < upAt - (isComplete ? 0 : estimateMsMax))
        why = `its time was up only ${timeoutMs} ms after ${show(begunAt)}`;
    } else if (reason === 'lost' && isComplete) {
      const lease = held.get(`${id}/${fence}`);
      // An answer that did not arrive renewed it, and its worker does not know.
      const mayBelieveSo = isTroubled(facts, node, begunAt - recoverMs, at);
      if (lease !== undefined && !lease.isLost && at < lease.untilAt && !mayBelieveSo)
        why = `its lease held until ${show(lease.untilAt)}`;
    } else if (reason === 'shutdown' && isComplete && !stopping.has(node)) why = `${node} was not stopping`;
    if (why === null) continue;
    problems.push({
      subjects: [id],
      message: `The signal of job ${id} on ${node} (fence ${fence}) was aborted (${reason}) at ${show(at)}; ${why}.`,
    });
  }
  return problems;
}

/** Whether a handler should have been told by then; `overAt`: when it was told, or was over. */
function isLate(
  facts: Facts,
  node: string,
  { at }: Reason,
  overAt: number | undefined,
  boundMs: number,
): boolean {
  if (overAt !== undefined && overAt <= at + boundMs) return false;
  if (isBlocked(facts, node, at - recoverMs, at + boundMs)) return false;
  return !isTroubled(facts, node, at - recoverMs, at + boundMs);
}
