import type { Clock } from '../base/clock.ts';
import { createLoop, type Loop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import { retryMsMax } from '../store/retry-time.ts';
import type { ExchangeContents } from './exchange-contents.ts';
import type { ExchangeLine } from './exchange-line.ts';
import type { Intake } from './intake.ts';
import type { NextDue } from './next-due.ts';
import type { Outbox } from './outbox.ts';

/**
 * Decides when exchanges are sent: a loop sends them one after the other. Where the store works on several at
 * once, a second loop sends another beside it, for more jobs or for a job that falls due meanwhile.
 */
export interface ExchangeLoops {
  start(): void;
  /** Sends an exchange at once, if there is anything to send. */
  wake(): void;
  /** Sends one after this long, if none was sent before. */
  wakeWithin(ms: number): void;
  /** Sends a second exchange at once, if one is needed. */
  wakeSecond(): void;
  /** An exchange of the main line is sent now. */
  onMainSent(sentElapsed: number): void;
  stop(): Promise<void>;
}

/** What the loops are made of. */
export interface ExchangeLoopsOptions {
  clock: Clock;
  random: Random;
  leaseMs: number;
  main: Pick<ExchangeLine, 'pass' | 'isSending' | 'sentElapsed'>;
  second: Pick<ExchangeLine, 'pass' | 'mustRepeat'>;
  /** Whether the store works on several exchanges at once. */
  isParallel: boolean;
  contents: Pick<ExchangeContents, 'compose' | 'composeBeside'>;
  nextDue: Pick<NextDue, 'dueElapsed'>;
  intake: Pick<Intake, 'isPrefetching'>;
  outbox: Pick<Outbox, 'isIsolating'>;
  onError(error: unknown): void;
}

/** Creates the loops of one worker. */
export function createExchangeLoops(options: ExchangeLoopsOptions): ExchangeLoops {
  const { clock, random, leaseMs, main, second, contents, nextDue, intake, outbox, onError } = options;
  const loopOf = (pass: () => Promise<number>): Loop =>
    createLoop({
      clock,
      random,
      pass,
      onError,
      // Outcomes must arrive before other nodes take ended leases over (maintenance/contact.ts).
      maxBackoffMs: (error) => Math.min(retryMsMax(error), leaseMs / 6),
      // Replies bound each wait by `maxSleepMs` already; on virtual time that is no bound at all.
      maxWaitMs: Number.POSITIVE_INFINITY,
    });
  const loop = loopOf(() => main.pass(contents.compose));
  const secondLoop = options.isParallel ? loopOf(passSecond) : null;

  /** Sends a second exchange, so that the store works on one while the reply to the other is read. */
  async function passSecond(): Promise<number> {
    if (isDueBeside()) {
      const waitMs = await second.pass(contents.composeBeside);
      // The main loop sleeps by an older reply, unless it waits for its own.
      if (waitMs <= 0) loop.wake();
      else if (!main.isSending()) loop.wakeWithin(waitMs);
      return Number.POSITIVE_INFINITY;
    }
    if (!second.mustRepeat() && (!intake.isPrefetching() || outbox.isIsolating()))
      return Number.POSITIVE_INFINITY;
    const waitMs = await second.pass(contents.compose);
    // The main loop may have slept meanwhile, and only it sends the next exchange.
    if (!intake.isPrefetching()) loop.wake();
    return waitMs;
  }

  /** Whether a job fell due since the main exchange was sent, which will not bring it. */
  function isDueBeside(): boolean {
    if (!main.isSending() || second.mustRepeat() || outbox.isIsolating()) return false;
    const dueElapsed = nextDue.dueElapsed();
    return dueElapsed !== null && main.sentElapsed() < dueElapsed && dueElapsed <= clock.elapsed();
  }

  return {
    start() {
      loop.start();
      secondLoop?.start();
    },
    wake: loop.wake,
    wakeWithin: loop.wakeWithin,
    wakeSecond: () => secondLoop?.wake(),
    onMainSent(sentElapsed) {
      const dueElapsed = nextDue.dueElapsed();
      if (dueElapsed !== null && dueElapsed > sentElapsed) secondLoop?.wakeWithin(dueElapsed - sentElapsed);
    },
    async stop() {
      await Promise.all([loop.stop(), secondLoop?.stop()]);
    },
  };
}
