import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import type { ParkedClaimOptions } from '../store/parked-claim.ts';
import { nothingToSettle } from './exchange-contents.ts';
import type { ExchangeLoops } from './exchange-loops.ts';
import type { ExchangeReplies } from './exchange-replies.ts';
import type { Intake } from './intake.ts';
import type { WorkerEvents } from './worker-events.ts';

/** What becomes of a parked claim that was sent: its reply is treated as that of an exchange. */
export type ParkedReplies = Pick<ParkedClaimOptions, 'onDelivered' | 'onFailed'>;

/** What they are taken with. */
export interface ParkedRepliesOptions {
  clock: Pick<Clock, 'elapsed'>;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  intake: Pick<Intake, 'reserve' | 'lost'>;
  replies: ExchangeReplies;
  loops: Pick<ExchangeLoops, 'wake' | 'wakeWithin'>;
}

/** Creates them. */
export function createParkedReplies(options: ParkedRepliesOptions): ParkedReplies {
  const { clock, events, intake, replies, loops } = options;
  return {
    onDelivered(claim, reply, tookMs) {
      if (reply === null) {
        loops.wake();
        return;
      }
      intake.reserve(claim);
      const exchange = { batch: nothingToSettle, claim, isRepeated: false, isInternal: false };
      const waitMs = replies.take(exchange, reply, clock.elapsed() - tookMs, 'parked');
      if (waitMs <= 0) loops.wake();
      // The loop sleeps by an older reply.
      else if (reply.nextDueAt !== null) loops.wakeWithin(waitMs);
    },
    onFailed(claim, error) {
      events.emit('error', { error, doing: 'claiming what was just notified' });
      if (isUnknownOutcome(error)) {
        intake.reserve(claim);
        intake.lost(claim);
      }
      loops.wake();
    },
  };
}
