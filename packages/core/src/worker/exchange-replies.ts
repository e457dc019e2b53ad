import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import type { ExchangeReply } from '../contract/engine.ts';
import type { Exchange } from './exchange-line.ts';
import type { ClaimSource, Intake } from './intake.ts';
import type { NextDue } from './next-due.ts';
import type { Outbox } from './outbox.ts';
import type { WorkerEvents } from './worker-events.ts';

/** Passes replies to the outbox and the intake, and decides when the next exchange is sent. */
export interface ExchangeReplies {
  /** Takes the reply to an exchange. Returns how long to wait before the next one, in milliseconds. */
  take(exchange: Exchange, reply: ExchangeReply, sentElapsed: number, source?: ClaimSource): number;
}

/** What replies are taken with. */
export interface ExchangeRepliesOptions {
  clock: Pick<Clock, 'elapsed'>;
  maxSleepMs(): number;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  outbox: Pick<Outbox, 'recorded' | 'waiting'>;
  intake: Pick<Intake, 'answered' | 'learn' | 'receive' | 'isPrefetching' | 'isFull' | 'lostCount'>;
  nextDue: Pick<NextDue, 'learn' | 'waitMs'>;
  /** Whether nothing runs, waits to run or is sent. */
  isQuiet(): boolean;
  /** More jobs are to be claimed than one exchange after the other can bring. */
  onPrefetching(): void;
  /** Called after each reply. */
  onChange(): void;
}

// The store says that more jobs are due but grants none: it is asked again soon, not at once.
const fruitlessMs = 50;

/** Creates them. */
export function createExchangeReplies(options: ExchangeRepliesOptions): ExchangeReplies {
  const { clock, maxSleepMs, events, outbox, intake, nextDue, isQuiet } = options;

  function nextWaitMs(reply: ExchangeReply | null, isMore: boolean): number {
    // The wake for an unknown request is used up when the pass after it repeated an exchange instead.
    if (outbox.waiting().length > 0 || intake.lostCount() > 0 || reply === null) return 0;
    // The capacity is in use: the next attempt that ends wakes the loop.
    if (intake.isFull()) return maxSleepMs();
    const isDueAlready = isMore || (reply.nextDueAt !== null && reply.nextDueAt <= reply.now);
    if (isDueAlready) return reply.claimed.length > 0 ? 0 : fruitlessMs;
    return Math.min(maxSleepMs(), nextDue.waitMs(reply) ?? Number.POSITIVE_INFINITY);
  }

  return {
    take(exchange, reply, sentElapsed, source = exchange.isRepeated ? 'repeat' : 'exchange') {
      const arrivedElapsed = clock.elapsed();
      const { batch, claim, isInternal } = exchange;
      if (claim !== null) intake.answered(claim);
      outbox.recorded(batch, reply.settled);
      // A claim with a limit of 0 learns of jobs that this worker may not take yet.
      const isMore = reply.more && claim !== null && claim.limit > 0;
      intake.learn(reply, { hasClaim: claim !== null, isInternal, isMore, arrivedElapsed });
      if (claim !== null) nextDue.learn(reply, { isMore, sentElapsed, arrivedElapsed });
      intake.receive(source, reply.claimed, { sureElapsed: sentElapsed, now: reply.now });
      if (intake.isPrefetching()) options.onPrefetching();
      events.emit('passes', { claimed: reply.claimed.length, settled: batch.settle.length });
      const isIdle = isQuiet();
      if (isIdle && claim !== null && !reply.more) events.emit('idle', { nextDueAt: reply.nextDueAt });
      options.onChange();
      return claim === null ? nextWaitMs(null, false) : nextWaitMs(reply, isMore);
    },
  };
}
