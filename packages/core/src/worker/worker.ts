import type { Clock, Timer } from '../base/clock.ts';
import { createEvents, type Events } from '../base/emitter.ts';
import { isDulyError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { createLoop, type Loop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, ClaimRequest, Engine, ExchangeReply } from '../contract/engine.ts';
import { mustRunAlone } from '../contract/job-status.ts';
import { internalQueue } from '../jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import { type HeartbeatResult, type Heartbeats, heldLeaseOf, sinceClaimMs } from '../store/heartbeats.ts';
import type { ParkedClaim, ParkedClaimOptions } from '../store/parked-claim.ts';
import type { Attempt, Completion } from './attempt.ts';
import { createDrain } from './drain.ts';
import { createExchangeLine, type Exchange } from './exchange-line.ts';
import { createNextDue } from './next-due.ts';
import { type Batch, createOutbox, type Outgoing } from './outbox.ts';
import { createReporter } from './reporter.ts';
import { createRunningAttempts } from './running-attempts.ts';
import { createThroughputEstimate } from './throughput.ts';
import type { WorkerEvents } from './worker-events.ts';

/** What a worker is made of. */
export interface WorkerOptions {
  engine: Pick<Engine, 'exchange' | 'report' | 'remember' | 'subscribe' | 'get' | 'info' | 'userTransaction'>;
  clock: Clock;
  random: Random;
  node: string;
  /** By name. Tasks may be added later; the next claim asks for them too. */
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** Whoever makes them passes their news on to `onHeartbeat`. */
  heartbeats: Heartbeats;
  /** How many attempts run at the same time. Default 20. */
  concurrency?: number;
  /** Only these queues; null: all. */
  queues?: readonly string[] | null;
  /** Default 30 s. */
  leaseMs?: number;
  /** Where its claim stands while it has nothing to do; left out, or null: it asks by itself. Called by `start`. */
  openParkedClaim?(handlers: Pick<ParkedClaimOptions, 'onDelivered' | 'onFailed'>): ParkedClaim | null;
  /** How long the worker may sleep without a notification: 30 s while notifications are proven, else 1 s. */
  maxSleepMs(): number;
}

/** Claims jobs and runs them. */
export interface Worker {
  readonly events: Events<WorkerEvents>;
  start(): void;
  /** Looks for work at once. */
  wake(): void;
  /** Takes what the heartbeats tell about leases of this worker. */
  onHeartbeat(news: HeartbeatResult): void;
  /** A claim to send along with an enqueue, for the capacity that is free; null: none is. Must be answered with `receive`. */
  request(): ClaimRequest | null;
  /** Takes what a request was given, [] if nothing or if it failed; `unknown`: the answer was lost, and is asked for again. */
  receive(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
  /**
   * Stops claiming, lets running attempts finish until the limit, then aborts them with reason `shutdown` and gives back what is
   * left without spending an attempt. Resolves when everything is handed in; a second call answers with the first's end.
   */
  drain(options: { limitMs: number }): Promise<void>;
  /** Ends the waiting of a drain: what still runs is aborted and given back now. */
  abortDrain(): void;
  /** Attempts whose handlers run, those that were given up included. */
  runningCount(): number;
  /** Outcomes that the store has not recorded yet. */
  unrecordedCount(): number;
  /** Whether nothing runs, waits to run or is to be handed in, and no claim is on its way. */
  isIdle(): boolean;
  /** Why it takes no work although it runs; null: it does. */
  notReady(): string | null;
}

const nothingToSettle: Batch = { settle: [], isIsolated: false };

/** A job that was taken, and when by the monotonic clock. */
interface Waiting {
  job: ClaimedJob;
  takenElapsed: number;
}

const defaultConcurrency = 20;
const defaultLeaseMs = 30_000;
// Beyond this one exchange takes longer than the attempts it brings.
const claimMax = 2_000;
// A claimed job that waits this long for capacity is released: another worker may have some.
const waitForCapacityMs = 250;
// A job that must run alone has waited long enough for a moment when nothing runs.
const soloPatienceMs = 30_000;
// A store that is away is asked again after this time at the latest.
const backoffMsMax = 5_000;
// Store says there is more but gives nothing: asked again soon, not at once.
const fruitlessMs = 50;
// Slots beyond the concurrency for the server's own tasks, so that long jobs do not hold back webhooks and alerts.
const internalCapacity = 2;
// A full worker looks for internal work at most this often, however many jobs it hears of.
const internalEveryMs = 50;
// While outcomes cannot be recorded no work is taken: a crash would repeat all of it. Two full exchanges and what ends meanwhile are usual.
const unrecordedMax = 6_000;
const unrecordedMsMax = 2_000;

/** Makes a worker. It does nothing until `start`. */
export function createWorker(options: WorkerOptions): Worker {
  const { engine, clock, random, node, tasks, heartbeats, maxSleepMs } = options;
  const { concurrency = defaultConcurrency, queues = null, leaseMs = defaultLeaseMs } = options;

  const events = createEvents<WorkerEvents>((error, name) => {
    if (name !== 'error') events.emit('error', { error, doing: `telling a listener of "${name}"` });
  });
  const ids = createIds({ clock, random });
  const throughput = createThroughputEstimate(clock);
  const nextDue = createNextDue(clock);
  const lineOptions = { engine, clock, onReply: finish, onRefused: fail, onNothing: idleWaitMs };
  const main = createExchangeLine({
    ...lineOptions,
    onSend(sentElapsed) {
      const dueElapsed = nextDue.dueElapsed();
      if (dueElapsed !== null && dueElapsed > sentElapsed) secondLoop?.wakeWithin(dueElapsed - sentElapsed);
    },
  });
  /** Used while there is more to do than one exchange after the other can carry, and for what falls due while one is on its way. */
  const second = createExchangeLine(lineOptions);
  const loopOf = (pass: () => Promise<number>): Loop =>
    createLoop({
      clock,
      random,
      pass,
      onError(error) {
        events.emit('error', { error, doing: 'exchanging outcomes for work' });
        if (isDulyError(error, 'store_moved')) drain.onStoreGone();
      },
      // Outcomes must arrive before other nodes take ended leases over (maintenance/contact.ts).
      maxBackoffMs: Math.min(backoffMsMax, leaseMs / 6),
      // Every wait that a pass answers is bounded by `maxSleepMs` already; on virtual time that is no bound at all.
      maxWaitMs: Number.POSITIVE_INFINITY,
    });
  const loop = loopOf(() => main.pass(compose));
  const secondLoop = engine.info().isParallel === true ? loopOf(passBeside) : null;

  /** Jobs that run or wait for capacity, by task. */
  const countByType = new Map<string, number>();
  let internalElapsed = Number.NEGATIVE_INFINITY;
  /** Claimed, and without capacity yet. */
  let waiting: Waiting[] = [];
  let waitTimer: Timer | null = null;
  /** How many to fetch ahead: as many as it took at once and finished before the store could answer; 0 while it has enough to do. */
  let prefetchCount = 0;
  /** Attempts that ended since the store last answered. */
  let endedCount = 0;
  /** Capacity reserved for claims in flight; and how much of it for those that are sent with other calls. */
  let reserved = 0;
  let requested = 0;
  /** When claims were made that travel with other calls; empty where the store's thread measures that. */
  const requestedElapsed = new Map<ClaimRequest, number>();
  const skipped = { late: 0, released: 0 };
  let isPassSkipped = false;
  /** Claims that travelled with other calls whose answers were lost. Their capacity stays reserved. */
  const unknownRequests: { claim: ClaimRequest; sinceElapsed: number }[] = [];
  let soloSinceElapsed: number | null = null;
  let unsubscribe: (() => void) | null = null;
  let parkedClaim: ParkedClaim | null = null;
  const outbox = createOutbox({
    ...{ engine, clock, random, tasks, heartbeats, events, onFinished: () => drain.check() },
    onWaiting() {
      loop.wake();
      drain.check();
    },
  });
  const attempts = createRunningAttempts({
    ...{ engine, clock, random, heartbeats, reporter: createReporter({ engine, clock, random }) },
    onEntered: (job) => events.emit('started', { job }),
    onLate: () => noteSkipped('late'),
    onProgress: (job, progress) => events.emit('progress', { job, progress }),
    onDecided: decided,
    onEnded: ended,
  });
  const drain = createDrain({
    ...{ clock, attempts },
    stopIntake(onStopped) {
      if (parkedClaim === null) onStopped();
      else parkedClaim.close().then(onStopped, onStopped);
      returnJobs(waiting.splice(0));
      waitTimer?.cancel();
    },
    isAllSent: () =>
      outbox.waiting().length === 0 &&
      unknownRequests.length === 0 &&
      outbox.unfinishedCount() === 0 &&
      reserved === 0 &&
      [main, second].every((line) => !line.isSending() && !line.mustRepeat()),
    onUnsent() {
      const count = outbox.waiting().length;
      const error = new Error(`${count} outcomes could not be handed in; their leases end by themselves.`);
      events.emit('error', { error, doing: 'draining' });
    },
    async stop() {
      outbox.giveUp();
      unsubscribe?.();
      await Promise.all([loop.stop(), secondLoop?.stop()]);
    },
  });

  // --------------------------------------------------------------------------------------------- one pass

  function idleWaitMs(): number {
    // Every place is promised to a claim that travels with an enqueue. Whatever woke us is looked at once that has its answer.
    isPassSkipped = reserved > 0;
    const internalWaitMs = internalElapsed + internalEveryMs - clock.elapsed();
    return internalLimit() > 0 && internalWaitMs > 0 ? Math.min(maxSleepMs(), internalWaitMs) : maxSleepMs();
  }

  /** A second exchange beside the first: a store that works on several at once is then never without one while answers are read here. */
  async function passBeside(): Promise<number> {
    if (isDueBeside()) {
      const waitMs = await second.pass(composeBeside);
      // The first sleeps by an older answer, or will go by this one when it has its own.
      if (waitMs <= 0) loop.wake();
      else if (!main.isSending()) loop.wakeWithin(waitMs);
      return Number.POSITIVE_INFINITY;
    }
    if (!second.mustRepeat() && (prefetchCount === 0 || outbox.isIsolating()))
      return Number.POSITIVE_INFINITY;
    const waitMs = await second.pass(compose);
    // The first may have slept through the end of this one's work, and only it looks on.
    if (prefetchCount === 0) loop.wake();
    return waitMs;
  }

  /** Whether a job fell due since the first exchange went out: that one, which may wait for a disk, will not bring it. */
  function isDueBeside(): boolean {
    if (!main.isSending() || second.mustRepeat() || outbox.isIsolating()) return false;
    const dueElapsed = nextDue.dueElapsed();
    return dueElapsed !== null && main.sentElapsed() < dueElapsed && dueElapsed <= clock.elapsed();
  }

  /** Only asks for work. Capacity is reserved for the first, which as a rule finds nothing: a job without capacity waits, or is released. */
  function composeBeside(): Exchange | null {
    if (takesNothing()) return null;
    const claim = createClaim(concurrency - ordinaryCount() - waiting.length);
    if (claim === null || claim.limit === 0) return null;
    reserved += claim.limit;
    return { batch: nothingToSettle, claim, isRepeated: false, isInternal: false };
  }

  function isQuiet(): boolean {
    return (
      attempts.count() === 0 &&
      waiting.length === 0 &&
      outbox.waiting().length === 0 &&
      unknownRequests.length === 0 &&
      outbox.unfinishedCount() === 0 &&
      !isAsking()
    );
  }

  /** The next claim whose leases are asked for. After a lease there is nothing left to ask for. */
  function takeUnknownRequest(): ClaimRequest | null {
    for (let next = unknownRequests.shift(); next !== undefined; next = unknownRequests.shift()) {
      if (clock.elapsed() - next.sinceElapsed < leaseMs) return next.claim;
      reserved -= next.claim.limit;
    }
    return null;
  }

  function compose(): Exchange | null {
    const isIsolating = outbox.isIsolating();
    const unknown = isIsolating ? null : takeUnknownRequest();
    const batch = outbox.takeBatch();
    if (unknown !== null) return { batch, claim: unknown, isRepeated: true, isInternal: false };
    const ordinary = isIsolating ? null : createClaim();
    const internal = isIsolating || ordinary !== null ? null : createInternalClaim();
    const claim = ordinary ?? internal;
    if (batch.settle.length === 0 && claim === null) return null;
    reserved += claim?.limit ?? 0;
    return { batch, claim, isRepeated: false, isInternal: internal !== null };
  }

  function finish(exchange: Exchange, reply: ExchangeReply, sentElapsed: number): number {
    const arrivedElapsed = clock.elapsed();
    reserved -= exchange.claim?.limit ?? 0;
    outbox.recorded(exchange.batch, reply.settled);
    if (exchange.claim !== null && !exchange.isInternal) {
      soloSinceElapsed = reply.soloSinceAt === null ? null : arrivedElapsed - (reply.now - reply.soloSinceAt);
    }
    // It freed all its capacity and ran dry while the store was asked, and there is more: the next jobs are prefetched while this
    // one runs, so that both work at once.
    const hasRunDry = waiting.length === 0 && attempts.count() < concurrency && endedCount >= concurrency;
    // A claim for nothing is told of what this worker may not take yet.
    const isMore = reply.more && exchange.claim !== null && exchange.claim.limit > 0;
    prefetchCount =
      hasRunDry && isMore ? Math.min(claimMax, Math.max(2 * prefetchCount, reply.claimed.length)) : 0;
    endedCount = 0;
    if (exchange.claim !== null) nextDue.learn(reply, { isMore, sentElapsed, arrivedElapsed });
    const [first] = reply.claimed;
    const isOld = exchange.isRepeated && first !== undefined;
    takeClaimed(
      reply.claimed,
      exchange.isRepeated,
      sentElapsed - (isOld ? sinceClaimMs(first, reply.now) : 0),
    );
    if (prefetchCount > 0) secondLoop?.wake();
    events.emit('passes', { claimed: reply.claimed.length, settled: exchange.batch.settle.length });
    const isIdle = isQuiet();
    if (isIdle && exchange.claim !== null && !reply.more) events.emit('idle', { nextDueAt: reply.nextDueAt });
    drain.check();
    return exchange.claim === null ? nextWaitMs(null, false) : nextWaitMs(reply, isMore);
  }

  function nextWaitMs(reply: ExchangeReply | null, isMore: boolean): number {
    // The wake for an unknown request is used up when the pass after it repeated an exchange instead.
    if (outbox.waiting().length > 0 || unknownRequests.length > 0 || reply === null) return 0;
    // The capacity is in use: the next attempt that ends wakes the loop. Capacity that is only requested may be free again before that.
    if (requested === 0 && claimLimit() <= 0 && internalLimit() <= 0) return maxSleepMs();
    const isDueAlready = isMore || (reply.nextDueAt !== null && reply.nextDueAt <= reply.now);
    if (isDueAlready) return reply.claimed.length > 0 ? 0 : fruitlessMs;
    return Math.min(maxSleepMs(), nextDue.waitMs(reply) ?? Number.POSITIVE_INFINITY);
  }

  const isAsking = (): boolean => main.isSending() || second.isSending();

  /** Finds out what the store refused. */
  function fail(exchange: Exchange): void {
    // A claim that is repeated may have been given leases before: it is repeated again, without what was refused.
    if (exchange.isRepeated && exchange.claim !== null)
      unknownRequests.unshift({ claim: exchange.claim, sinceElapsed: clock.elapsed() });
    else reserved -= exchange.claim?.limit ?? 0;
    outbox.refused(exchange.batch, { isMixed: exchange.claim !== null });
  }

  // --------------------------------------------------------------------------------------------- claiming

  function takesNothing(): boolean {
    return drain.hasStarted() || attempts.isAlone() || attempts.abandonedCount() >= concurrency || isBehind();
  }

  /** Whether too many outcomes wait to be recorded, or one of them for too long. */
  function isBehind(): boolean {
    if (unrecordedCount() > unrecordedMax) return true;
    const since = clock.elapsed() - unrecordedMsMax;
    return unrecordedLists().some(([oldest]) => oldest !== undefined && oldest.decidedElapsed < since);
  }

  /** Outcomes on their way and those that wait for an exchange; in each list the oldest is the first. */
  function unrecordedLists(): (readonly Outgoing[])[] {
    return [outbox.waiting(), main.unrecorded(), second.unrecorded()];
  }

  function unrecordedCount(): number {
    return unrecordedLists().reduce((sum, list) => sum + list.length, outbox.unfinishedCount());
  }

  /** How many more jobs to claim: the free capacity, or more when attempts end so fast that capacity is free by the time of the reply. */
  function claimLimit(): number {
    if (takesNothing()) return 0;
    const capacity = Math.max(concurrency - ordinaryCount(), throughput.recentCount(), 2 * prefetchCount);
    return Math.min(claimMax, capacity - waiting.length - reserved);
  }

  /** Attempts that count against the concurrency: all but those in the capacity for internal work. */
  function ordinaryCount(): number {
    return attempts.count() - Math.min(internalCapacity, attempts.internalCount());
  }

  function isInternal(type: string): boolean {
    return tasks.get(type)?.queue === internalQueue;
  }

  /** How many internal jobs a worker may take that has no capacity for others. */
  function internalLimit(): number {
    if (drain.hasStarted() || attempts.isAlone() || isBehind() || reserved > 0 || waiting.length > 0)
      return 0;
    if (queues !== null && !queues.includes(internalQueue)) return 0;
    const free = internalCapacity - attempts.internalCount();
    if (free > 0) for (const { queue } of tasks.values()) if (queue === internalQueue) return free;
    return 0;
  }

  function createInternalClaim(): ClaimRequest | null {
    const limit = internalLimit();
    if (limit <= 0 || clock.elapsed() - internalElapsed < internalEveryMs) return null;
    internalElapsed = clock.elapsed();
    const wanted = [...tasks.values()].filter(({ queue }) => queue === internalQueue);
    return {
      token: `${node}/${ids.newId('claim')}`,
      node,
      tasks: wanted.map(({ name, version }) => ({ type: name, version, limit })),
      queues: [internalQueue],
      limit,
      leaseMs,
      idle: false,
    };
  }

  /**
   * How many to take along with a call that creates jobs: as many as could run in a moment, so that jobs which are short are taken as they are created,
   * all of them. They may be taken twice: by this call, which knows of them, and by an exchange that went out before, as a rule in vain.
   */
  function requestLimit(): number {
    const limit = claimLimit();
    if (takesNothing()) return limit;
    const capacity = Math.min(claimMax, Math.max(throughput.recentCount(), throughput.possibleCount()));
    return Math.max(limit, capacity - waiting.length - requested);
  }

  function createClaim(limit = claimLimit()): ClaimRequest | null {
    if (limit <= 0) return null;
    const isSoloOverdue = soloSinceElapsed !== null && clock.elapsed() - soloSinceElapsed > soloPatienceMs;
    // Handlers that were given up may never end; a job that waits to be alone does not wait for them for ever.
    const runningCount = isSoloOverdue ? attempts.count() - attempts.abandonedCount() : attempts.count();
    const isIdle = runningCount === 0 && waiting.length === 0 && reserved === 0;
    const wanted: ClaimRequest['tasks'] = [];
    // Otherwise it only asks whether the job still waits, and takes nothing until everything here has ended.
    const isTaking = isIdle || !isSoloOverdue;
    for (const task of tasks.values()) {
      const taken = countByType.get(task.name) ?? 0;
      const left = task.concurrency === null ? limit : Math.min(limit, task.concurrency - taken);
      if (left > 0) wanted.push({ type: task.name, version: task.version, limit: left });
    }
    if (wanted.length === 0) return null;
    return {
      token: `${node}/${ids.newId('claim')}`,
      node,
      tasks: wanted,
      queues: queues === null ? null : [...queues],
      limit: isTaking ? limit : 0,
      leaseMs,
      idle: isIdle,
    };
  }

  /** Takes what a claim that stood was given: its answer is that of an exchange that nobody had to begin. */
  function onDelivered(claim: ClaimRequest, reply: ExchangeReply | null, tookMs: number): void {
    if (reply === null) {
      loop.wake();
      return;
    }
    reserved += claim.limit;
    const waitMs = finish(
      { batch: nothingToSettle, claim, isRepeated: false, isInternal: false },
      reply,
      clock.elapsed() - tookMs,
    );
    if (waitMs <= 0) loop.wake();
    // The loop sleeps by an older answer.
    else if (reply.nextDueAt !== null) loop.wakeWithin(waitMs);
  }

  function onClaimFailed(claim: ClaimRequest, error: Error): void {
    events.emit('error', { error, doing: 'claiming what was just notified' });
    if (isUnknownOutcome(error)) {
      reserved += claim.limit;
      unknownRequests.push({ claim, sinceElapsed: clock.elapsed() });
    }
    loop.wake();
  }

  /**
   * `isOld`: the leases were given to an earlier call whose answer did not arrive. `sureElapsed`: an instant
   * before the store gave them.
   */
  function takeClaimed(jobs: ClaimedJob[], isOld: boolean, sureElapsed: number): void {
    if (jobs.length === 0) return;
    if (heartbeats.followsStoreCalls !== true) heartbeats.hold(jobs.map(heldLeaseOf), sureElapsed);
    if (isOld) heartbeats.check();
    throughput.begin();
    const takenElapsed = clock.elapsed();
    for (const job of jobs) {
      countType(job.type, 1);
      waiting.push({ job, takenElapsed });
    }
    if (drain.hasStarted()) returnJobs(waiting.splice(0));
    else startWaiting();
  }

  // --------------------------------------------------------------------------------------------- attempts

  function startWaiting(): void {
    let count = 0;
    const passedOver: typeof waiting = [];
    while (count < waiting.length && !attempts.isAlone()) {
      const one = waiting[count] as Waiting;
      if (
        ordinaryCount() >= concurrency &&
        !(isInternal(one.job.type) && attempts.internalCount() < internalCapacity)
      )
        break;
      if (mustRunAlone(one.job) && !attempts.areAllDecided()) break;
      count++;
      if (hasCapacity(one.job.type)) start(one);
      else passedOver.push(one);
    }
    if (count === waiting.length) waiting = passedOver;
    else if (count > 0) waiting.splice(0, count, ...passedOver);
    if (waiting.length > 0) waitTimer ??= clock.after(waitForCapacityMs, releaseLongWaiting);
  }

  /**
   * Whether the task's own limit lets another one start. A claim asks for no more than that, but two may be on their way at once, with
   * an enqueue and with an exchange, and one that is repeated after an unknown outcome brings what it was given before.
   */
  function hasCapacity(type: string): boolean {
    const limit = tasks.get(type)?.concurrency ?? null;
    return limit === null || attempts.countOf(type) < limit;
  }

  function start({ job, takenElapsed }: Waiting): void {
    const task = tasks.get(job.type);
    if (task === undefined) {
      countType(job.type, -1);
      outbox.send(job, { kind: 'released', started: false, stopped: true }, null);
      return;
    }
    attempts.start(job, task, takenElapsed);
  }

  function decided(attempt: Attempt, outcome: Outcome | null, completion: Completion | null): void {
    const { job } = attempt;
    const report = attempt.takeReport();
    if (outcome === null) {
      heartbeats.drop([{ id: job.id, fence: job.fence }]);
      if (attempt.isReleased) noteSkipped('released');
      else events.emit('lost', { job, settlement: null });
      drain.check();
    } else if (completion !== null) {
      outbox.sendCompleted(job, outcome, completion, report);
    } else {
      outbox.send(job, outcome, report);
    }
  }

  function ended({ job, isReleased }: Attempt): void {
    // Only now: a handler that is decided and still runs frees no capacity.
    if (!isReleased) {
      throughput.count();
      endedCount++;
    }
    countType(job.type, -1);
    startWaiting();
    if (attempts.count() === 0 && waiting.length === 0) throughput.rest();
    loop.wake();
    drain.check();
  }

  function countType(type: string, by: 1 | -1): void {
    const count = (countByType.get(type) ?? 0) + by;
    if (count === 0) countByType.delete(type);
    else countByType.set(type, count);
  }

  /** Counts a job whose handler was not entered. One event for all of a turn: there may be thousands. */
  function noteSkipped(why: 'late' | 'released'): void {
    if (skipped.late + skipped.released === 0) {
      clock.after(0, () => {
        const counts = { ...skipped };
        skipped.late = 0;
        skipped.released = 0;
        events.emit('skipped', counts);
      });
    }
    skipped[why]++;
  }

  function returnJobs(jobs: Waiting[]): void {
    for (const { job, takenElapsed } of jobs) {
      countType(job.type, -1);
      if (heartbeats.enter(job, takenElapsed) === 'released') {
        heartbeats.drop([{ id: job.id, fence: job.fence }]);
        noteSkipped('released');
        continue;
      }
      outbox.send(job, { kind: 'released', started: false, stopped: true }, null);
    }
  }

  function releaseLongWaiting(): void {
    waitTimer = null;
    const before = clock.elapsed() - waitForCapacityMs;
    const tooLong = waiting.filter(({ takenElapsed }) => takenElapsed <= before);
    waiting = waiting.filter(({ takenElapsed }) => takenElapsed > before);
    returnJobs(tooLong);
    startWaiting();
  }

  function onHeartbeat(news: HeartbeatResult): void {
    attempts.onHeartbeat(news);
    const { fence, heartbeat } = news;
    const index = waiting.findIndex(({ job }) => job.fence === fence);
    if (index === -1) return;
    const { job } = waiting[index] as { job: ClaimedJob };
    // Its attempt is cancelled as soon as it has a place.
    if (heartbeat.state === 'cancel') job.cancelRequestedAt = heartbeat.requestedAt;
    else {
      waiting.splice(index, 1);
      countType(job.type, -1);
      heartbeats.drop([{ id: job.id, fence: job.fence }]);
      events.emit('lost', { job, settlement: null });
    }
  }

  return {
    events,
    start() {
      if (drain.hasStarted()) return;
      unsubscribe ??= engine.subscribe((notification) => {
        // Disconnected: it may sleep less long from now on.
        if ((notification === 'jobs' && parkedClaim?.isUsed() !== true) || notification === 'disconnected')
          loop.wake();
        if (notification === 'cancel' && heartbeats.followsStoreCalls !== true) heartbeats.check();
      });
      parkedClaim ??= options.openParkedClaim?.({ onDelivered, onFailed: onClaimFailed }) ?? null;
      loop.start();
      secondLoop?.start();
    },
    wake: () => loop.wake(),
    onHeartbeat,
    request() {
      const claim = createClaim(requestLimit());
      if (claim === null || claim.limit === 0) return null;
      reserved += claim.limit;
      requested += claim.limit;
      if (heartbeats.followsStoreCalls !== true) requestedElapsed.set(claim, clock.elapsed());
      return claim;
    },
    receive(request, claimed) {
      requested -= request.limit;
      const askedElapsed = requestedElapsed.get(request) ?? clock.elapsed();
      requestedElapsed.delete(request);
      if (claimed === 'unknown') {
        unknownRequests.push({ claim: request, sinceElapsed: clock.elapsed() });
        loop.wake();
        return;
      }
      reserved -= request.limit;
      takeClaimed(claimed, false, askedElapsed);
      if (isPassSkipped) {
        isPassSkipped = false;
        loop.wake();
      }
      drain.check();
    },
    drain: ({ limitMs }) => drain.start(limitMs),
    abortDrain: () => drain.abort(),
    runningCount: () => attempts.count(),
    unrecordedCount,
    isIdle: () => isQuiet() && reserved === 0,
    notReady() {
      if (drain.hasStarted()) return 'The worker is draining.';
      if (isBehind()) return 'Outcomes wait to be recorded because the store is slow or away.';
      if (attempts.abandonedCount() < concurrency) return null;
      return `All ${concurrency} concurrency slots are held by handlers that ignored their timeout or cancellation.`;
    },
  };
}
