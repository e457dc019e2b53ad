import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { formatInstant, parseInstant } from '../base/instant.ts';
import { quietLogger } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import type { JobError } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import { Duly } from '../duly.ts';
import { currentJob } from '../jobs/current-job.ts';
import type { DulyOptions, StopOptions } from '../options.ts';
import type { ManualClock } from './manual-clock.ts';
import { Mover } from './mover.ts';

/** One attempt that ended while virtual time went on. */
export interface Ran {
  id: string;
  type: string;
  /** The job's status after it: COMPLETED, RETRYING, FAILED, CANCELLED … */
  status: JobStatus;
  /** The virtual instant at which the attempt started. */
  at: Date;
  /** Number of the attempt. */
  attempt: number;
  result: unknown;
  error: JobError | null;
}

/** How to create a Duly on virtual time. */
export interface TestDulyOptions extends Omit<DulyOptions, 'store' | 'clock' | 'random'> {
  /** Where virtual time begins. Default 2027-01-15T10:00:00Z. */
  start?: Date | number | string;
  /** Seeds everything that is left to chance. Default 1. */
  seed?: number;
  /**
   * How long, in real time, a handler that does not wait for virtual time may be silent before time goes on without it.
   * Default 1 s: enough for real I/O of a test, and a handler that hangs still meets its timeout.
   */
  patience?: Duration;
}

const defaultStart = '2027-01-15T10:00:00Z';
const defaultPatienceMs = 1_000;

/**
 * A Duly whose time stands still until the test moves it, on a store in memory. Nothing runs by itself: jobs run inside
 * `advance` and `runDue`, each at its own instant and in order, and both return what ran.
 *
 * ```ts
 * const t = createTestDuly();
 * const remind = t.task({ name: 'remind', run: ({ input }) => `Dear ${input}` });
 * await remind.in('3 days', 'Ada');
 *
 * assert.deepEqual(await t.advance('2 days'), []);
 * const [ran] = await t.advance('1 day');
 * assert.equal(ran.result, 'Dear Ada');
 * await t.stop();
 * ```
 *
 * Retries, timeouts, start deadlines, leases, locks and expiring values follow the same virtual time. A handler may do real
 * I/O: time stands still until it is done. A handler that wants to wait for virtual time uses `t.clock.sleep(ms)`.
 */
export class TestDuly extends Duly {
  /** The virtual time. `clock.now()`, and `clock.sleep(ms)` for handlers that wait. */
  readonly clock: ManualClock;
  readonly #mover: Mover;
  #turn: Promise<unknown> = Promise.resolve();
  #isStarted = false;
  #isStopped = false;

  /** Use `createTestDuly`. */
  constructor({
    start = defaultStart,
    seed = 1,
    patience = defaultPatienceMs,
    ...options
  }: TestDulyOptions = {}) {
    const mover = new Mover(parseInstant(start, 'start'), parseDuration(patience, 'patience'));
    super({
      logger: quietLogger,
      ...options,
      store: 'sqlite::memory:',
      clock: mover.inner,
      random: seededRandom(seed),
    });
    mover.watch(this);
    this.#mover = mover;
    this.clock = mover.outer;
  }

  /** The virtual instant. */
  get now(): Date {
    return new Date(this.clock.now());
  }

  /** Lets this much time pass, runs everything that falls due in order, each at its instant, and returns what ran. */
  advance(duration: Duration): Promise<Ran[]> {
    const ms = parseDuration(duration, 'duration');
    return this.#inTurn(() => this.#mover.move(ms));
  }

  /** Lets time pass until this instant, which must not be in the past: time does not go back. */
  advanceTo(instant: Date | number | string): Promise<Ran[]> {
    const at = parseInstant(instant, 'instant');
    return this.#inTurn(() => {
      const now = this.clock.now();
      if (at >= now) return this.#mover.move(at - now);
      throw dulyError('invalid_instant', {
        message: `Expected "instant" not to be in the past, got ${formatInstant(at)}; it is ${formatInstant(now)} on virtual time.`,
        hint: 'To run what is due already, call runDue().',
        details: { field: 'instant', value: formatInstant(at) },
      });
    });
  }

  /** Runs everything that is due now, without letting time pass, and returns what ran. */
  runDue(): Promise<Ran[]> {
    return this.#inTurn(() => this.#mover.move(0));
  }

  /**
   * Lets this much time pass while nobody is there: nothing is decided, started or renewed, as if every node were down. What each
   * policy makes of it is seen with the next `advance` or `runDue`.
   */
  async outage(duration: Duration): Promise<void> {
    const ms = parseDuration(duration, 'duration');
    await this.#inTurn(() => this.#mover.skip(ms));
  }

  /** Stops. A handler that does not end by itself is given up after the drain limit, in virtual time. */
  override async stop(options?: StopOptions): Promise<void> {
    this.#isStopped = true;
    await this.#turn.catch(() => {});
    await this.#mover.stop(super.stop(options));
  }

  /** One move at a time: two that overlap would share their instants. */
  #inTurn(move: () => Promise<Ran[]>): Promise<Ran[]> {
    const job = currentJob();
    if (job !== null && this.#mover.isRunning(job.id)) {
      return Promise.reject(
        dulyError('inside_handler', {
          message: `Time cannot be moved inside the handler of job "${job.id}" (type "${job.type}"): it would wait for its own end.`,
          hint: 'Move time in the test. A handler that waits for virtual time uses clock.sleep(ms).',
          details: { id: job.id, type: job.type },
        }),
      );
    }
    const turn = this.#turn
      .catch(() => {})
      .then(async () => {
        if (!this.#isStarted && !this.#isStopped) {
          this.#isStarted = true;
          await this.start();
        }
        return move();
      });
    this.#turn = turn;
    return turn;
  }
}

/** Creates a Duly on virtual time, for tests. See `TestDuly`. */
export function createTestDuly(options?: TestDulyOptions): TestDuly {
  return new TestDuly(options);
}
