import type { Clock } from '../base/clock.ts';
import { createEvents, type Events } from '../base/emitter.ts';
import { isDulyError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { createLoop, type Loop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, ClaimRequest, Engine, ExchangeReply } from '../contract/engine.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import type { HeartbeatResult, Heartbeats } from '../store/heartbeats.ts';
import type { ParkedClaim, ParkedClaimOptions } from '../store/parked-claim.ts';
import type { Attempt, Completion } from './attempt.ts';
import { createDrain } from './drain.ts';
import { createExchangeLine, type Exchange } from './exchange-line.ts';
import { createIntake } from './intake.ts';
import { createNextDue } from './next-due.ts';
import { type Batch, createOutbox, type Outgoing } from './outbox.ts';
import { createReporter } from './reporter.ts';
import { createRunningAttempts } from './running-attempts.ts';
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

const defaultConcurrency = 20;
const defaultLeaseMs = 30_000;
// A store that is away is asked again after this time at the latest.
const backoffMsMax = 5_000;
// Store says there is more but gives nothing: asked again soon, not at once.
const fruitlessMs = 50;
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

  const skipped = { late: 0, released: 0 };
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
  const intake = createIntake({
    ...{ clock, ids, node, tasks, queues, concurrency, leaseMs, attempts, heartbeats, events, isBehind },
    isDraining: () => drain.hasStarted(),
    send: (job, outcome) => outbox.send(job, outcome, null),
    onReleased: () => noteSkipped('released'),
    wake: () => loop.wake(),
  });
  const drain = createDrain({
    ...{ clock, attempts },
    stopIntake(onStopped) {
      if (parkedClaim === null) onStopped();
      else parkedClaim.close().then(onStopped, onStopped);
      intake.releaseAll();
    },
    isAllSent: () =>
      outbox.waiting().length === 0 &&
      intake.lostCount() === 0 &&
      outbox.unfinishedCount() === 0 &&
      !intake.isReserved() &&
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
    return Math.min(maxSleepMs(), intake.skipPass());
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
    if (!second.mustRepeat() && (!intake.isPrefetching() || outbox.isIsolating()))
      return Number.POSITIVE_INFINITY;
    const waitMs = await second.pass(compose);
    // The first may have slept through the end of this one's work, and only it looks on.
    if (!intake.isPrefetching()) loop.wake();
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
    const claim = intake.claimBeside();
    return claim === null ? null : { batch: nothingToSettle, claim, isRepeated: false, isInternal: false };
  }

  function isQuiet(): boolean {
    return (
      attempts.count() === 0 &&
      intake.waitingCount() === 0 &&
      outbox.waiting().length === 0 &&
      intake.lostCount() === 0 &&
      outbox.unfinishedCount() === 0 &&
      !isAsking()
    );
  }

  function compose(): Exchange | null {
    const isIsolating = outbox.isIsolating();
    const batch = outbox.takeBatch();
    const next = isIsolating ? null : intake.nextClaim();
    if (next !== null) return { batch, ...next };
    return batch.settle.length === 0 ? null : { batch, claim: null, isRepeated: false, isInternal: false };
  }

  function finish(exchange: Exchange, reply: ExchangeReply, sentElapsed: number): number {
    const arrivedElapsed = clock.elapsed();
    const { batch, claim, isInternal, isRepeated } = exchange;
    if (claim !== null) intake.answered(claim);
    outbox.recorded(batch, reply.settled);
    // A claim with a limit of 0 learns of jobs that this worker may not take yet.
    const isMore = reply.more && claim !== null && claim.limit > 0;
    intake.learn(reply, { hasClaim: claim !== null, isInternal, isMore, arrivedElapsed });
    if (claim !== null) nextDue.learn(reply, { isMore, sentElapsed, arrivedElapsed });
    const source = isRepeated ? 'repeat' : 'exchange';
    intake.receive(source, reply.claimed, { sureElapsed: sentElapsed, now: reply.now });
    if (intake.isPrefetching()) secondLoop?.wake();
    events.emit('passes', { claimed: reply.claimed.length, settled: batch.settle.length });
    const isIdle = isQuiet();
    if (isIdle && claim !== null && !reply.more) events.emit('idle', { nextDueAt: reply.nextDueAt });
    drain.check();
    return claim === null ? nextWaitMs(null, false) : nextWaitMs(reply, isMore);
  }

  function nextWaitMs(reply: ExchangeReply | null, isMore: boolean): number {
    // The wake for an unknown request is used up when the pass after it repeated an exchange instead.
    if (outbox.waiting().length > 0 || intake.lostCount() > 0 || reply === null) return 0;
    // The capacity is in use: the next attempt that ends wakes the loop. Capacity that is only requested may be free again before that.
    if (intake.isFull()) return maxSleepMs();
    const isDueAlready = isMore || (reply.nextDueAt !== null && reply.nextDueAt <= reply.now);
    if (isDueAlready) return reply.claimed.length > 0 ? 0 : fruitlessMs;
    return Math.min(maxSleepMs(), nextDue.waitMs(reply) ?? Number.POSITIVE_INFINITY);
  }

  const isAsking = (): boolean => main.isSending() || second.isSending();

  /** Finds out what the store refused. */
  function fail(exchange: Exchange): void {
    // The store may have given leases to a repeated claim before: it is repeated again, without what was refused.
    if (exchange.claim !== null && exchange.isRepeated) intake.lost(exchange.claim, { isFirst: true });
    else if (exchange.claim !== null) intake.answered(exchange.claim);
    outbox.refused(exchange.batch, { isMixed: exchange.claim !== null });
  }

  // --------------------------------------------------------------------------------------------- claiming

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

  /** Takes what a claim that stood was given: its answer is that of an exchange that nobody had to begin. */
  function onDelivered(claim: ClaimRequest, reply: ExchangeReply | null, tookMs: number): void {
    if (reply === null) {
      loop.wake();
      return;
    }
    intake.reserve(claim);
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
      intake.reserve(claim);
      intake.lost(claim);
    }
    loop.wake();
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
    intake.ended(job, { isReleased });
    loop.wake();
    drain.check();
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
    onHeartbeat(news) {
      attempts.onHeartbeat(news);
      intake.onHeartbeat(news);
    },
    request: intake.request,
    receive(request, claimed) {
      intake.answerRequest(request, claimed);
      drain.check();
    },
    drain: ({ limitMs }) => drain.start(limitMs),
    abortDrain: () => drain.abort(),
    runningCount: () => attempts.count(),
    unrecordedCount,
    isIdle: () => isQuiet() && !intake.isReserved(),
    notReady() {
      if (drain.hasStarted()) return 'The worker is draining.';
      if (isBehind()) return 'Outcomes wait to be recorded because the store is slow or away.';
      if (attempts.abandonedCount() < concurrency) return null;
      return `All ${concurrency} concurrency slots are held by handlers that ignored their timeout or cancellation.`;
    },
  };
}
