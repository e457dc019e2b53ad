import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import { isDulyError } from '../base/errors.ts';
import { createLoop, type Loop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { ClaimRequest, Engine, ExchangeReply } from '../contract/engine.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import type { ParkedClaimOptions } from '../store/parked-claim.ts';
import { createExchangeLine, type Exchange } from './exchange-line.ts';
import type { ClaimSource, Intake } from './intake.ts';
import { createNextDue } from './next-due.ts';
import type { Batch, Outbox, Outgoing } from './outbox.ts';
import type { RunningAttempts } from './running-attempts.ts';
import type { WorkerEvents } from './worker-events.ts';

/** Exchanges outcomes for work: decides what each exchange carries, and when the next one is sent. */
export interface Exchanges extends Pick<ParkedClaimOptions, 'onDelivered' | 'onFailed'> {
  start(): void;
  /** Sends an exchange at once, if there is anything to send. */
  wake(): void;
  stop(): Promise<void>;
  /** Whether nothing runs, waits to run or is sent. */
  isQuiet(): boolean;
  /** Whether no outcome and no claim waits to be sent, or for its answer. */
  isAllSent(): boolean;
  /** Whether too many outcomes wait to be recorded, or one of them for too long. */
  isBehind(): boolean;
  /** Outcomes that the store has not recorded yet. */
  unrecordedCount(): number;
}

/** What exchanges are made of. */
export interface ExchangesOptions {
  engine: Pick<Engine, 'exchange' | 'info'>;
  clock: Clock;
  random: Random;
  leaseMs: number;
  maxSleepMs(): number;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  outbox: Outbox;
  intake: Intake;
  attempts: Pick<RunningAttempts, 'count'>;
  /** Called after each reply. */
  onChange(): void;
  /** The store was moved: nothing can be sent any more. */
  onStoreGone(): void;
}

const nothingToSettle: Batch = { settle: [], isIsolated: false };
// A store that is away is asked again after this time at the latest.
const backoffMsMax = 5_000;
// Store says there is more but gives nothing: asked again soon, not at once.
const fruitlessMs = 50;
// While outcomes cannot be recorded no work is taken: a crash would repeat all of it. Two full exchanges and what ends meanwhile are usual.
const unrecordedMax = 6_000;
const unrecordedMsMax = 2_000;

/** Creates the exchanges of one worker: a line, and a second one where the store works on several exchanges at once. */
export function createExchanges(options: ExchangesOptions): Exchanges {
  const { engine, clock, random, leaseMs, maxSleepMs, events, outbox, intake, attempts } = options;
  const nextDue = createNextDue(clock);
  const lineOptions = { engine, clock, onReply, onRefused: fail, onNothing: idleWaitMs };
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
        if (isDulyError(error, 'store_moved')) options.onStoreGone();
      },
      // Outcomes must arrive before other nodes take ended leases over (maintenance/contact.ts).
      maxBackoffMs: Math.min(backoffMsMax, leaseMs / 6),
      // Every wait that a pass answers is bounded by `maxSleepMs` already; on virtual time that is no bound at all.
      maxWaitMs: Number.POSITIVE_INFINITY,
    });
  const loop = loopOf(() => main.pass(compose));
  const secondLoop = engine.info().isParallel === true ? loopOf(passBeside) : null;

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

  /** Whether nothing runs, waits to run or is sent. */
  function isQuiet(): boolean {
    return (
      attempts.count() === 0 &&
      intake.waitingCount() === 0 &&
      outbox.waiting().length === 0 &&
      intake.lostCount() === 0 &&
      outbox.unfinishedCount() === 0 &&
      !main.isSending() &&
      !second.isSending()
    );
  }

  function compose(): Exchange | null {
    const isIsolating = outbox.isIsolating();
    const batch = outbox.takeBatch();
    const next = isIsolating ? null : intake.nextClaim();
    if (next !== null) return { batch, ...next };
    return batch.settle.length === 0 ? null : { batch, claim: null, isRepeated: false, isInternal: false };
  }

  function onReply(exchange: Exchange, reply: ExchangeReply, sentElapsed: number): number {
    return finish(exchange.isRepeated ? 'repeat' : 'exchange', exchange, reply, sentElapsed);
  }

  function finish(
    source: ClaimSource,
    exchange: Exchange,
    reply: ExchangeReply,
    sentElapsed: number,
  ): number {
    const arrivedElapsed = clock.elapsed();
    const { batch, claim, isInternal } = exchange;
    if (claim !== null) intake.answered(claim);
    outbox.recorded(batch, reply.settled);
    // A claim with a limit of 0 learns of jobs that this worker may not take yet.
    const isMore = reply.more && claim !== null && claim.limit > 0;
    intake.learn(reply, { hasClaim: claim !== null, isInternal, isMore, arrivedElapsed });
    if (claim !== null) nextDue.learn(reply, { isMore, sentElapsed, arrivedElapsed });
    intake.receive(source, reply.claimed, { sureElapsed: sentElapsed, now: reply.now });
    if (intake.isPrefetching()) secondLoop?.wake();
    events.emit('passes', { claimed: reply.claimed.length, settled: batch.settle.length });
    const isIdle = isQuiet();
    if (isIdle && claim !== null && !reply.more) events.emit('idle', { nextDueAt: reply.nextDueAt });
    options.onChange();
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

  /** Finds out what the store refused. */
  function fail(exchange: Exchange): void {
    // The store may have given leases to a repeated claim before: it is repeated again, without what was refused.
    if (exchange.claim !== null && exchange.isRepeated) intake.lost(exchange.claim, { isFirst: true });
    else if (exchange.claim !== null) intake.answered(exchange.claim);
    outbox.refused(exchange.batch, { isMixed: exchange.claim !== null });
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

  /** Takes what a claim that stood was given: its answer is that of an exchange that nobody had to begin. */
  function onDelivered(claim: ClaimRequest, reply: ExchangeReply | null, tookMs: number): void {
    if (reply === null) {
      loop.wake();
      return;
    }
    intake.reserve(claim);
    const waitMs = finish(
      'parked',
      { batch: nothingToSettle, claim, isRepeated: false, isInternal: false },
      reply,
      clock.elapsed() - tookMs,
    );
    if (waitMs <= 0) loop.wake();
    // The loop sleeps by an older answer.
    else if (reply.nextDueAt !== null) loop.wakeWithin(waitMs);
  }

  function onFailed(claim: ClaimRequest, error: Error): void {
    events.emit('error', { error, doing: 'claiming what was just notified' });
    if (isUnknownOutcome(error)) {
      intake.reserve(claim);
      intake.lost(claim);
    }
    loop.wake();
  }

  return {
    start() {
      loop.start();
      secondLoop?.start();
    },
    wake: () => loop.wake(),
    async stop() {
      await Promise.all([loop.stop(), secondLoop?.stop()]);
    },
    onDelivered,
    onFailed,
    isQuiet,
    isAllSent: () =>
      outbox.waiting().length === 0 &&
      outbox.unfinishedCount() === 0 &&
      intake.lostCount() === 0 &&
      !intake.isReserved() &&
      [main, second].every((line) => !line.isSending() && !line.mustRepeat()),
    isBehind,
    unrecordedCount,
  };
}
