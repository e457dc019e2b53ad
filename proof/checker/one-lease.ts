import type { Fault, HistoryEvent } from '../history.ts';
import { endingVerbs, type Facts, isTroubled, type Lease, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

// The end of a real process is noted by another one, some time after it.
const noteMsMax = 1_000;
// A call into silence is given up, and only then noted, after 10 s.
const answerMsMax = 11_000;

/** See `promise`. */
export const oneLease: Invariant = {
  name: 'one-lease',
  promise: 'A job has at most one live lease: none is given while an earlier one holds.',
  check({ isComplete }, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const [id, leases] of facts.leases) {
      for (const [i, lease] of leases.entries()) {
        const before = leases[i - 1];
        if (before?.settledAt === null) exercise();
        if (before === undefined || !isLiveAt(before, lease.at) || isTerminated(facts, before, lease.at))
          continue;
        // A store whose clock jumped has ended all leases at once; that is told apart as a fault.
        if (isClockJumped(facts, before.renewedAt, lease.at)) continue;
        // One that was killed may have given it back or settled it, and not have noted it any more.
        if (!isComplete && hasCrashed(facts, before.node, before.at, notedBy(facts, before.node, lease.at)))
          continue;
        // What it handed in may have counted, though its answer was lost.
        if (!isComplete && hasLostAnswer(facts, before.node, before.at, lease.at + answerMsMax)) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} was ${lease.how === 'reaped' ? 'taken over' : 'claimed'} by ${lease.node} at ${show(lease.at)} (fence ${lease.fence}), while ${before.node} held it until ${show(before.untilAt)} (fence ${before.fence}).`,
        });
      }
    }
    return problems;
  },
};

/** Until when the end of a process tells why it did not note what it did at an instant: one that stood still then writes when it goes on, if it lives. */
function notedBy({ nodes }: Facts, node: string, at: number): number {
  const changes = nodes.filter((change) => change.node === node);
  const paused = changes.findLast((change) => change.state === 'paused' && change.at <= at + noteMsMax);
  const resumed = changes.find(
    (change) => change.state === 'resumed' && change.at >= (paused?.at ?? Number.POSITIVE_INFINITY),
  );
  return Math.max(at, resumed?.at ?? at) + noteMsMax;
}

// A machine that stood still excuses a lost lease for so many leases after it.
const stallLeases = 1.5;

/** See `promise`. */
export const noFalseReclaim: Invariant = {
  name: 'no-false-reclaim',
  promise: 'No lease and no lock is taken from a node that could renew it.',
  parts: ['taken', 'renewed', 'lock'],
  check({ events, isComplete }, facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const [id, leases] of facts.leases) {
      for (const [i, lease] of leases.entries()) {
        const firstUntilAt = lease.at + lease.untilAt - lease.renewedAt;
        if ((lease.settledAt ?? lease.renewedAt) > firstUntilAt) exercise('renewed');
        const before = leases[i - 1];
        if (lease.how !== 'reaped' || before === undefined || before.settledAt !== null) continue;
        exercise('taken');
        // What a reaper was given it settles at once, or its store did not answer.
        // One that is not renewed for a moment is renewed after it, unless somebody took it just then.
        const stalledFromAt = Math.max(before.at, lease.at - stallLeases * (lease.untilAt - lease.at));
        const saw = isComplete
          ? withoutBlocks(withoutBriefLosses(facts, before, lease.at), before, lease.at)
          : facts;
        if (isTroubled(saw, before.node, before.at, lease.at, { stalledFromAt })) continue;
        // Its main loop settles it. (Those of a worker are renewed by another thread.)
        if (before.how === 'reaped' && isBlocked(facts, before.node, before.at, lease.at)) continue;
        problems.push({
          subjects: [id],
          message: `Job ${id} was taken from ${before.node} at ${show(lease.at)}, which was up and could reach the store since ${show(before.at)}.`,
        });
      }
    }
    return isComplete ? [...problems, ...lockProblems(events, facts, exercise)] : problems;
  },
};

// A lock that was granted this long before an event loop was blocked is renewed by another thread.
const grantMs = 100;

/** Locks that another process got though their holder was up and could renew them. */
function lockProblems(
  events: readonly HistoryEvent[],
  facts: Facts,
  exercise: Exercise,
): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const holders = new Map<string, { node: string; fence: number; grantedAt: number; renewedAt: number }>();
  for (const event of events) {
    if (event.kind !== 'locked') continue;
    const { name, node, fence, at } = event;
    const holder = holders.get(name);
    if (event.result === 'kept' && holder?.fence === fence) {
      if (event.verb === 'release') holders.delete(name);
      else holder.renewedAt = at;
    }
    if (event.result !== 'acquired' || holder?.fence === fence) continue;
    holders.set(name, { node, fence, grantedAt: at, renewedAt: at });
    if (holder === undefined) continue;
    exercise('lock');
    const isExcuse = (fault: Fault): boolean =>
      fault.fault !== 'blocked' || fault.node !== holder.node || fault.at <= holder.grantedAt + grantMs;
    const saw = { ...facts, faults: facts.faults.filter(isExcuse) };
    if (isTroubled(saw, holder.node, holder.renewedAt, at)) continue;
    problems.push({
      subjects: [`lock:${name}`],
      message: `Lock "${name}" was taken from ${holder.node} at ${show(at)}, which was up and could reach the store since ${show(holder.renewedAt)}.`,
    });
  }
  return problems;
}

// With this many lost answers, the next call still comes at once.
const lossesMax = 2;
// After a lost answer the call is sent again, and has its own answer, within this time.
const againMs = 1_500;
// A lease is renewed this many times before it would end.
const renewalsPerLease = 6;

/**
 * The facts without the few answers that a worker lost while it held a lease. It sends such a call again, under the same token if it was a
 * claim, and is given the same leases: a lost answer alone is no excuse where that was long before the lease's end, and where the worker
 * heard of the lease before it had to assume that the lease was gone.
 */
function withoutBriefLosses(facts: Facts, lease: Lease, takenAt: number): Facts {
  const { how, node, at, untilAt, renewedAt } = lease;
  if (how !== 'claimed') return facts;
  const isLoss = (fault: Fault): boolean =>
    fault.fault === 'reply-lost' &&
    fault.node === node &&
    fault.at <= takenAt &&
    (fault.untilAt ?? fault.at) >= at;
  const losses = facts.faults.filter(isLoss);
  const isBrief = losses.every((fault) => (fault.untilAt ?? fault.at) + againMs <= untilAt);
  const leaseMs = untilAt - renewedAt;
  const isReported = silenceMs(losses) + leaseMs / renewalsPerLease < leaseMs;
  if (losses.length > lossesMax || !isBrief || !isReported) return facts;
  return { ...facts, faults: facts.faults.filter((fault) => !isLoss(fault)) };
}

/** How long the longest row of lost answers lasts between which no other answer arrived for sure. */
function silenceMs(losses: readonly Fault[]): number {
  let longestMs = 0;
  let row = { fromAt: 0, untilAt: Number.NEGATIVE_INFINITY };
  for (const { at, untilAt = at } of losses.toSorted((one, other) => one.at - other.at)) {
    row = at < row.untilAt + againMs ? { ...row, untilAt } : { fromAt: at, untilAt };
    longestMs = Math.max(longestMs, row.untilAt - row.fromAt);
  }
  return longestMs;
}

/**
 * The facts without blocked event loops. Leases that a worker has received are renewed by another thread, until their attempt must have
 * been timed out.
 */
function withoutBlocks(facts: Facts, { id, how, node, at, renewedAt }: Lease, takenAt: number): Facts {
  const timeoutMs = facts.created.get(id)?.timeoutMs ?? Number.POSITIVE_INFINITY;
  if (how !== 'claimed' || renewedAt === at || takenAt > at + timeoutMs) return facts;
  const isExcuse = ({ fault, node: blocked, at: blockedAt }: Fault): boolean =>
    fault !== 'blocked' || blocked !== node || blockedAt <= at;
  return { ...facts, faults: facts.faults.filter(isExcuse) };
}

function hasCrashed(facts: Facts, node: string, fromAt: number, toAt: number): boolean {
  return facts.nodes.some(
    (one) => one.node === node && one.state === 'crashed' && one.at >= fromAt && one.at <= toAt,
  );
}

/** Whether an exchange of this node had no answer: a real process notes so with its id behind the code. */
function hasLostAnswer(facts: Facts, node: string, fromAt: number, toAt: number): boolean {
  return facts.faults.some(
    ({ fault, detail, at }) =>
      fault === 'call-failed' &&
      detail === `exchange: store_unavailable ${node}` &&
      at >= fromAt &&
      at <= toAt,
  );
}

function isBlocked(facts: Facts, node: string, fromAt: number, toAt: number): boolean {
  return facts.faults.some(
    ({ fault, detail, at, untilAt }) =>
      fault === 'blocked' && detail === node && at <= toAt && (untilAt ?? at) >= fromAt,
  );
}

function isLiveAt(lease: Lease, at: number): boolean {
  return at < lease.untilAt && (lease.settledAt === null || lease.settledAt > at);
}

/** Whether a person's act or an overlap policy ended the lease. */
function isTerminated(facts: Facts, lease: Lease, at: number): boolean {
  return (facts.touched.get(lease.id) ?? []).some(
    (act) => act.at >= lease.at && act.at <= at && endingVerbs.includes(act.verb),
  );
}

function isClockJumped(facts: Facts, fromAt: number, toAt: number): boolean {
  return facts.faults.some(
    ({ fault, at, untilAt }) => fault === 'store-clock-jump' && at <= toAt && (untilAt ?? at) >= fromAt,
  );
}
