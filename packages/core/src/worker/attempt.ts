import type { Clock, Timer } from '../base/clock.ts';
import { isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type {
  ClaimedJob,
  Engine,
  JobError,
  JsonText,
  Progress,
  ReportBody,
  Settlement,
} from '../contract/engine.ts';
import { isSuspect } from '../contract/job-status.ts';
import type { LogLevel, ResolvedTask } from '../jobs/task-definition.ts';
import type { AbortReason, HandlerOutcome, Outcome } from '../lifecycle/outcome.ts';
import { settlementOf } from '../lifecycle/settle.ts';
import type { Heartbeats } from '../store/heartbeats.ts';
import { userTransactionOf } from '../store/user-transaction.ts';
import { abortError, completedAlready, leaseLost, timeoutError } from './attempt-errors.ts';
import type { AttemptReport } from './attempt-report.ts';
import type { AttemptPort } from './context.ts';
import { runHandler } from './handler.ts';
import { type IsolateRun, runIsolated } from './isolate.ts';
import { toJobError } from './job-error.ts';
import { joinReports, type Reporter } from './reporter.ts';
import type { Timed, Timeouts } from './timeouts.ts';

/** What the attempts of one worker stand on, and whom they tell. One for all of them. */
export interface AttemptHost {
  engine: Pick<Engine, 'remember' | 'userTransaction' | 'info'>;
  random: Random;
  clock: Clock;
  heartbeats: Pick<Heartbeats, 'begin' | 'enter' | 'shared'>;
  reporter: Reporter;
  timeouts: Timeouts;
  /** The handler is about to be entered. */
  onEntered(job: ClaimedJob): void;
  /** The handler is not entered: the lease ended while this process stood still. */
  onLate(job: ClaimedJob): void;
  onProgress(job: ClaimedJob, progress: Progress): void;
  /**
   * Told once what became of it; null: the lease is lost, and nothing may be sent. `completion`: the handler completed the job in a
   * transaction of the user's own, which the store knows more about.
   */
  onDecided(attempt: Attempt, outcome: Outcome | null, completion: Completion | null): void;
  /** Told once, after `onDecided`, when the handler has really ended and its place is free. */
  onEnded(attempt: Attempt): void;
}

/** A completion in a transaction of the user's own, of which nobody here knows whether it is, or will be, committed. */
export interface Completion {
  settlement: Settlement;
  /** Progress and log lines that went into it, for the case that it was not. */
  report: ReportBody | null;
}

/** One job from claimed to decided, and on until its handler has ended. */
export interface Attempt extends Timed {
  readonly job: ClaimedJob;
  /** Whether the store's thread released the job before its handler was entered, because this thread was blocked. */
  readonly isReleased: boolean;
  /** Ends its report and gives what has not arrived yet. */
  takeReport(): ReturnType<AttemptReport['take']>;
  /** Whether its outcome is settled while the handler still runs. */
  isZombie(): boolean;
  /** Aborts the signal. `lost` decides at once; `cancelled` and `timeout` after the grace; `shutdown` waits for `release`. */
  abort(reason: AbortReason): void;
  /** Aborts the signal with `lost`. A handler that still returns is settled: the fence decides whether that counts. */
  presumeLost(): void;
  /** Gives the job back unspent, if nothing is decided yet. */
  release(): void;
}

/** Whether an attempt's beginning must be written before its handler runs, so that blame for a loss is sure. */
export function needsBeginning(job: ClaimedJob): boolean {
  return isSuspect(job) || job.policy.delivery === 'at-most-once';
}

// A report takes a few milliseconds, if nothing is in its way.
const reportPatienceMs = 100;
// Every lease has a fence above it.
const noFence = 0;

// What overrules what: a lost lease everything, a person's wish the rest. A shutdown waits for none of them.
const abortRank: Record<AbortReason, number> = { shutdown: 0, timeout: 1, cancelled: 2, lost: 3 };

/** Runs an attempt of a job that was taken at this monotonic instant. Nothing of it throws; everything is told to the host. */
export function startAttempt(
  host: AttemptHost,
  { job, task, takenElapsed }: { job: ClaimedJob; task: ResolvedTask; takenElapsed: number },
): Attempt {
  return new RunningAttempt(host, job, task, takenElapsed);
}

/** A class, and itself the port of its handler: a busy worker makes tens of thousands a second, and each costs one object. */
class RunningAttempt implements Attempt, AttemptPort {
  readonly job: ClaimedJob;
  isReleased = false;
  timeoutElapsed = Number.POSITIVE_INFINITY;
  readonly #host: AttemptHost;
  readonly #task: ResolvedTask;
  readonly #takenElapsed: number;
  /** Most attempts report nothing, and then nothing is made for it. */
  #report: AttemptReport | null = null;
  #hasEntered = false;
  #isDecided = false;
  #hasEnded = false;
  #aborted: AbortReason | null = null;
  #isPresumedLost = false;
  #controller: AbortController | null = null;
  #timer: Timer | null = null;
  #thread: IsolateRun | null = null;
  #completion: Completion | null = null;

  constructor(host: AttemptHost, job: ClaimedJob, task: ResolvedTask, takenElapsed: number) {
    this.job = job;
    this.#host = host;
    this.#task = task;
    this.#takenElapsed = takenElapsed;
    void this.#run();
  }

  takeReport(): ReturnType<AttemptReport['take']> {
    return this.#report?.take() ?? null;
  }

  timeOut(): void {
    this.abort('timeout');
  }

  isZombie(): boolean {
    return this.#isDecided && !this.#hasEnded;
  }

  abort(reason: AbortReason): void {
    if (this.#hasEnded || this.#isDecided) return;
    // A lease that went with a commit looks the same. Whoever settles looks at the job itself.
    if (reason === 'lost' && this.#completion !== null) return;
    const before = this.#aborted;
    if (before !== null && abortRank[before] >= abortRank[reason]) return;
    this.#aborted = reason;
    if (reason === 'lost') this.#decide(null);
    if (before === null) {
      this.#controller?.abort(abortError(reason, this.job));
      this.#thread?.abort(reason);
    }
    if (reason === 'lost') this.#thread?.kill();
    else if (reason !== 'shutdown') {
      // A cancel within the timeout's grace does not make it longer.
      if (before === 'timeout') return;
      this.timeoutElapsed = Number.POSITIVE_INFINITY;
      this.#timer = this.#host.clock.after(this.job.policy.graceMs, () => this.#endGrace());
    }
  }

  presumeLost(): void {
    if (this.#hasEnded || this.#isDecided || this.#completion !== null || this.#isPresumedLost) return;
    this.#isPresumedLost = true;
    if (this.#aborted !== null) return;
    this.#controller?.abort(abortError('lost', this.job));
    this.#thread?.abort('lost');
  }

  release(): void {
    this.#decide({ kind: 'released', started: this.#hasEntered, stopped: !this.#hasEntered });
    this.#thread?.kill();
  }

  // ---------------------------------------------------------------------------------- what the handler has

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      const reason = this.#aborted ?? (this.#isPresumedLost ? 'lost' : null);
      if (reason !== null) this.#controller.abort(abortError(reason, this.job));
    }
    return this.#controller.signal;
  }

  refusal(): 'cancelled' | 'ended' | null {
    // Without a schema nothing happened since the last check, in this very turn.
    if (this.#task.input === null) return null;
    // Released or timed out while its input was validated: another node may have the job.
    if (this.#isDecided) return 'ended';
    if (this.#aborted === 'cancelled') return 'cancelled';
    const entry = this.#host.heartbeats.enter(this.job, this.#takenElapsed);
    return this.#aborted === 'lost' || this.#isPresumedLost || entry === 'ended' ? 'ended' : null;
  }

  progress(progress: Progress): void {
    // After the outcome is sent nothing counts any more, whatever a handler that was given up still does.
    if (this.#isDecided) throw leaseLost(this.job);
    this.#openReport().progress(progress);
    this.#host.onProgress(this.job, progress);
  }

  log(level: LogLevel, message: string): void {
    if (!this.#isDecided) this.#openReport().log(level, message);
  }

  #openReport(): AttemptReport {
    this.#report ??= this.#host.reporter.open(this.job, this.#takenElapsed, () => this.abort('lost'));
    return this.#report;
  }

  async recall(step: string): Promise<JsonText | null> {
    const { value } = await this.#host.engine.remember({
      scope: `job:${this.job.id}`,
      key: step,
      put: null,
    });
    return value;
  }

  async record(step: string, result: JsonText): Promise<JsonText> {
    const { id, fence } = this.job;
    const put = { value: result, forMs: null, guard: { job: id, fence } };
    const { value, result: answer } = await this.#host.engine.remember({
      scope: `job:${id}`,
      key: step,
      put,
    });
    if (answer === 'lost' || value === null) {
      this.abort('lost');
      throw leaseLost(this.job);
    }
    return value;
  }

  async completeIn(tx: unknown, result: JsonText | null): Promise<void> {
    const { job } = this;
    const { engine, random, clock } = this.#host;
    const userTransaction = await userTransactionOf(engine, tx);
    if (this.#isDecided || this.#hasEnded) {
      // Even if the error is swallowed: what else was written in the transaction must not stay. Under no fence nothing is settled.
      const outcome: Outcome = { kind: 'returned', result };
      const settlement = settlementOf({ job, outcome, report: null, random, backoff: null });
      await userTransaction.settle({ settlement: { ...settlement, fence: noFence } }).catch(() => {});
      throw leaseLost(job);
    }
    // From here on a report of its own would wait for the user's commit, and others' with it.
    const before = this.#completion;
    // One that is on its way may wait for a lock that the user's transaction holds on the whole file, and so for this very call.
    const left = await Promise.race([this.takeReport(), clock.sleep(reportPatienceMs).then(() => null)]);
    const body = joinReports(before?.report ?? null, left);
    const outcome: Outcome = { kind: 'returned', result };
    const settlement = settlementOf({ job, outcome, report: body, random, backoff: null });
    // Before the answer: a commit may follow it at once, and with it the news that the lease is gone.
    this.#completion = { settlement, report: body };
    try {
      await userTransaction.settle({ settlement });
    } catch (error) {
      // Nothing was asked of the store.
      if (isDulyError(error, 'tx_not_open') || isDulyError(error, 'tx_other_store'))
        this.#completion = before;
      if (before !== null && isDulyError(error, 'lease_lost')) throw completedAlready(job, error);
      throw error;
    }
  }

  // ---------------------------------------------------------------------------------- its course

  async #run(): Promise<void> {
    // The caller keeps what the constructor makes before it is told anything.
    await null;
    try {
      if ((this.#isUntroubled() || (await this.#begin())) && this.#mayEnter())
        this.#decide(this.#outcomeOf(await this.#callHandler()));
    } catch (error) {
      // Not the handler's doing: its errors are outcomes. The thread of an isolated task could not be started, for instance.
      this.#decide({ kind: 'died', error: toJobError(error) });
    } finally {
      if (this.#thread !== null) await this.#thread.exited;
      this.#hasEnded = true;
      this.#host.onEnded(this);
    }
  }

  /** Whether nothing stands between it and its handler, as a rule. */
  #isUntroubled(): boolean {
    if (this.#aborted !== null || this.#isPresumedLost) return false;
    return this.job.cancelRequestedAt === null && !needsBeginning(this.job);
  }

  /** Writes the beginning, where one is due; tells whether the handler may be entered. */
  async #begin(): Promise<boolean> {
    const { job } = this;
    if (job.cancelRequestedAt !== null) this.#decide({ kind: 'cancelled', started: false, error: null });
    else if (needsBeginning(job)) {
      try {
        const state = await this.#host.heartbeats.begin({ id: job.id, fence: job.fence });
        if (state === 'lost') this.#decide(null);
        if (state === 'cancel') this.#decide({ kind: 'cancelled', started: false, error: null });
      } catch {
        // The store could not be asked. Without a written beginning the handler must not run here.
        this.#decide({ kind: 'released', started: false, stopped: true });
      }
    }
    // Told meanwhile.
    if (this.#aborted === 'cancelled') this.#decide({ kind: 'cancelled', started: false, error: null });
    else if (this.#aborted !== null || this.#isPresumedLost) {
      this.#decide({ kind: 'released', started: false, stopped: true });
    }
    return !this.#isDecided;
  }

  /** Checks, in the turn that calls the handler, what this process can know of the lease. */
  #mayEnter(): boolean {
    if (this.#isDecided) return false;
    switch (this.#host.heartbeats.enter(this.job, this.#takenElapsed)) {
      case 'held':
        return true;
      case 'cancelled':
        this.#decide({ kind: 'cancelled', started: false, error: null });
        return false;
      case 'released':
        this.isReleased = true;
        this.#decide(null);
        return false;
      case 'ended':
        // Released under its fence: if another node has the job by now, the store refuses that.
        this.#host.onLate(this.job);
        this.#decide({ kind: 'released', started: false, stopped: true });
        return false;
    }
  }

  #callHandler(): Promise<HandlerOutcome | { kind: 'died'; error: JobError }> {
    const task = this.#task;
    const { clock, timeouts } = this.#host;
    this.#hasEntered = true;
    this.#host.onEntered(this.job);
    const { timeoutMs } = this.job.policy;
    if (timeoutMs !== null) {
      this.timeoutElapsed = clock.elapsed() + timeoutMs;
      timeouts.set(this);
    }
    if (task.isolateFile === null) return runHandler(this.job, task, this);
    const { shared = null } = this.#host.heartbeats;
    this.#thread = runIsolated({ job: this.job, file: task.isolateFile, port: this, shared });
    return this.#thread.outcome;
  }

  #outcomeOf(ended: HandlerOutcome | { kind: 'died'; error: JobError }): Outcome | null {
    if (ended.kind === 'not-entered') {
      if (ended.why === 'cancelled') return { kind: 'cancelled', started: false, error: null };
      this.#host.onLate(this.job);
      return { kind: 'released', started: false, stopped: true };
    }
    if (ended.kind === 'newer-version') return { kind: 'released', started: false, stopped: true };
    if (ended.kind === 'returned' || ended.kind === 'result-refused') return ended;
    if (this.#aborted === 'cancelled') {
      return {
        kind: 'cancelled',
        started: ended.kind !== 'input-refused',
        error: 'error' in ended ? ended.error : null,
      };
    }
    if (ended.kind !== 'threw') return ended;
    // It stopped because its lease seemed lost: the node that takes the lease over decides.
    if (this.#aborted === null && this.#isPresumedLost) return null;
    if (this.#aborted === 'timeout') {
      return { kind: 'timeout', error: timeoutError(this.job, ended.error), stopped: true };
    }
    // It threw because it was told to stop, and a deploy must not cost a job its attempt.
    if (this.#aborted === 'shutdown') return { kind: 'released', started: true, stopped: true };
    return ended;
  }

  #endGrace(): void {
    if (this.#aborted === 'cancelled')
      this.#decide({ kind: 'cancelled', started: this.#hasEntered, error: null });
    else this.#decide({ kind: 'timeout', error: timeoutError(this.job, null), stopped: false });
    this.#thread?.kill();
  }

  #decide(outcome: Outcome | null): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    this.timeoutElapsed = Number.POSITIVE_INFINITY;
    this.#timer?.cancel();
    this.#host.onDecided(this, outcome, this.#completion);
  }
}
