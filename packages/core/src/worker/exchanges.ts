import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import { isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Engine } from '../contract/engine.ts';
import { createExchangeContents } from './exchange-contents.ts';
import { createExchangeLine } from './exchange-line.ts';
import { createExchangeLoops } from './exchange-loops.ts';
import { createExchangeReplies } from './exchange-replies.ts';
import type { Intake } from './intake.ts';
import { createNextDue } from './next-due.ts';
import type { Outbox } from './outbox.ts';
import { createParkedReplies, type ParkedReplies } from './parked-replies.ts';
import type { RunningAttempts } from './running-attempts.ts';
import { createUnrecorded } from './unrecorded.ts';
import type { WorkerEvents } from './worker-events.ts';

/** Exchanges outcomes for work, until it is stopped. */
export interface Exchanges extends ParkedReplies {
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
  /** The store was moved: no exchange can be sent any more. */
  onStoreGone(): void;
}

/** Creates the exchanges of one worker. */
export function createExchanges(options: ExchangesOptions): Exchanges {
  const { engine, clock, random, leaseMs, maxSleepMs, events, outbox, intake, attempts } = options;
  const nextDue = createNextDue(clock);
  const contents = createExchangeContents(outbox, intake);
  const replies = createExchangeReplies({
    ...{ clock, maxSleepMs, events, outbox, intake, nextDue, isQuiet },
    onPrefetching: () => loops.wakeSecond(),
    onChange: options.onChange,
  });
  const lineOptions = {
    ...{ engine, clock, onReply: replies.take, onRefused: contents.refused },
    onNothing: () => Math.min(maxSleepMs(), intake.skipPass()),
  };
  const main = createExchangeLine({ ...lineOptions, onSend: (sentElapsed) => loops.onMainSent(sentElapsed) });
  const second = createExchangeLine(lineOptions);
  const loops = createExchangeLoops({
    ...{ clock, random, leaseMs, main, second, contents, nextDue, intake, outbox },
    isParallel: engine.info().isParallel === true,
    onError(error) {
      events.emit('error', { error, doing: 'exchanging outcomes for work' });
      if (isDulyError(error, 'store_moved')) options.onStoreGone();
    },
  });
  const unrecorded = createUnrecorded({
    clock,
    lists: () => [outbox.waiting(), main.unrecorded(), second.unrecorded()],
    unfinishedCount: outbox.unfinishedCount,
  });

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

  return {
    start: loops.start,
    wake: loops.wake,
    stop: loops.stop,
    ...createParkedReplies({ clock, events, intake, replies, loops }),
    isQuiet,
    isAllSent: () =>
      outbox.waiting().length === 0 &&
      outbox.unfinishedCount() === 0 &&
      intake.lostCount() === 0 &&
      !intake.isReserved() &&
      [main, second].every((line) => !line.isSending() && !line.mustRepeat()),
    isBehind: unrecorded.isBehind,
    unrecordedCount: unrecorded.count,
  };
}
