import type { Clock } from '../base/clock.ts';
import { isDulyError } from '../base/errors.ts';
import type { ClaimRequest, Engine, ExchangeReply } from '../contract/engine.ts';
import { isStoreTrouble } from '../store/batcher.ts';
import type { Batch, Outgoing } from './outbox.ts';

/** What one exchange carries. */
export interface Exchange {
  readonly batch: Batch;
  readonly claim: ClaimRequest | null;
  /** Whether the store may have received its claim before. */
  readonly isRepeated: boolean;
  /** Whether it asks for internal work only: its reply says nothing of other jobs. */
  readonly isInternal: boolean;
}

/** A way to the store: one exchange at a time. An exchange whose reply was lost is repeated before any other. */
export interface ExchangeLine {
  /**
   * Sends the exchange that is to be repeated, or the one that `compose` returns. Resolves with what `onReply` returns, or `onNothing` if
   * there is none. Rejects if the store did not answer.
   */
  pass(compose: () => Exchange | null): Promise<number>;
  isSending(): boolean;
  /** When the latest exchange was sent, by the monotonic clock. */
  sentElapsed(): number;
  /** Whether its next exchange is a repeated one. */
  mustRepeat(): boolean;
  /** Outcomes that were sent and are not known to be recorded, oldest first. */
  unrecorded(): readonly Outgoing[];
}

/** What a line is made of. */
export interface ExchangeLineOptions {
  engine: Pick<Engine, 'exchange'>;
  clock: Pick<Clock, 'elapsed'>;
  /** Called before an exchange is sent, at this monotonic instant. */
  onSend?(sentElapsed: number): void;
  /** Called with each reply; returns how long to wait before the next exchange, in milliseconds. */
  onReply(exchange: Exchange, reply: ExchangeReply, sentElapsed: number): number;
  /** The store refused the exchange itself: it is not repeated. */
  onRefused(exchange: Exchange): void;
  /** There was nothing to send; returns how long to wait. */
  onNothing(): number;
}

/** Creates a line. */
export function createExchangeLine(options: ExchangeLineOptions): ExchangeLine {
  const { engine, clock } = options;
  let sent: Exchange | null = null;
  let sentElapsed = 0;
  let unanswered: Exchange | null = null;

  return {
    async pass(compose) {
      const exchange = unanswered ?? compose();
      if (exchange === null) return options.onNothing();
      const { batch, claim, isRepeated } = exchange;
      sent = exchange;
      sentElapsed = clock.elapsed();
      options.onSend?.(sentElapsed);
      let reply: ExchangeReply;
      try {
        reply = await engine.exchange({
          settle: batch.settle.map(({ settlement }) => settlement),
          claim,
          ...(isRepeated ? { repeat: true } : {}),
        });
      } catch (error) {
        // A store that is full or locked now may accept the same exchange later. One that serves newer code only refuses
        // this code and none of the outcomes.
        const mayPass = isStoreTrouble(error) || isDulyError(error, 'schema_too_new');
        unanswered = mayPass ? { ...exchange, isRepeated: true } : null;
        if (unanswered === null) options.onRefused(exchange);
        throw error;
      } finally {
        sent = null;
      }
      unanswered = null;
      return options.onReply(exchange, reply, sentElapsed);
    },
    isSending: () => sent !== null,
    sentElapsed: () => sentElapsed,
    mustRepeat: () => unanswered !== null,
    unrecorded: () => (sent ?? unanswered)?.batch.settle ?? [],
  };
}
