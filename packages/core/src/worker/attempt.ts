import type { Clock, Timer } from '../clock.ts';
import type { ClaimedJob, Engine, JobError, Progress } from '../engine.ts';
import { isSuspect } from '../job.ts';
import type { ResolvedTask } from '../task.ts';
import { abortError, leaseLost, timeoutError } from './attempt-errors.ts';
import type { Beats } from './beats.ts';
import type { AttemptPort } from './context.ts';
import { runHandler } from './handler.ts';
import { type IsolateRun, runIsolated } from './isolate.ts';
import { toJobError } from './job-error.ts';
import type { AbortReason, HandlerOutcome, Outcome } from './outcome.ts';
import type { AttemptReport } from './reporter.ts';

/** What an attempt is made of. */
export interface AttemptOptions {
  job: ClaimedJob;
  task: ResolvedTask;
  engine: Pick<Engine, 'remember'>;
  clock: Clock;
  beats: Pick<Beats, 'begin'>;
  report: AttemptReport;
  /** The handler is about to be entered. */
  onEntered(): void;
  onProgress(progress: Progress): void;
  /** Told once what became of it; null: the lease is lost, and nothing may be sent. */
  onDecided(outcome: Outcome | null): void;
  /** Told once, after `onDecided`, when the handler has really ended and its place is free. */
  onEnded(): void;
}

/** One job from claimed to decided, and on until its handler has ended. */
export interface Attempt {
  readonly job: ClaimedJob;
  /** Whether its outcome is settled while the handler still runs. */
  isZombie(): boolean;
  /** Aborts the signal. `lost` decides at once; `cancelled` and `timeout` after the grace; `shutdown` waits for `release`. */
  abort(reason: AbortReason): void;
  /** Gives the job back unspent, if nothing is decided yet. */
  release(): void;
}

/** Whether an attempt's beginning must be written before its handler runs, so that blame for a loss is sure. */
export function needsBeginning(job: ClaimedJob): boolean {
  return isSuspect(job) || job.policy.delivery === 'at-most-once';
}

// What overrules what: a lost lease everything, a person's wish the rest. A shutdown waits for none of them.
const abortRank: Record<AbortReason, number> = { shutdown: 0, timeout: 1, cancelled: 2, lost: 3 };

/** Runs an attempt. Nothing of it throws; everything is told by the callbacks. */
export function startAttempt(options: AttemptOptions): Attempt {
  const { job, task, engine, clock, beats, report, onDecided, onEnded } = options;
  let hasEntered = false;
  let isDecided = false;
  let hasEnded = false;
  let aborted: AbortReason | null = null;
  let controller: AbortController | null = null;
  let timer: Timer | null = null;
  let thread: IsolateRun | null = null;

  function decide(outcome: Outcome | null): void {
    if (isDecided) return;
    isDecided = true;
    timer?.cancel();
    onDecided(outcome);
  }

  function abort(reason: AbortReason): void {
    if (hasEnded || isDecided) return;
    const before = aborted;
    if (before !== null && abortRank[before] >= abortRank[reason]) return;
    aborted = reason;
    if (reason === 'lost') decide(null);
    if (before === null) {
      controller?.abort(abortError(reason, job));
      thread?.abort(reason);
    }
    if (reason === 'lost') thread?.kill();
    else if (reason !== 'shutdown') {
      // A cancel within the timeout's grace does not make it longer.
      if (before === 'timeout') return;
      timer?.cancel();
      timer = clock.after(job.policy.graceMs, endGrace);
    }
  }

  function endGrace(): void {
    if (aborted === 'cancelled') decide({ kind: 'cancelled', error: null });
    else decide({ kind: 'timeout', error: timeoutError(job, null), stopped: false });
    thread?.kill();
  }

  const port: AttemptPort = {
    get signal() {
      if (controller === null) {
        controller = new AbortController();
        if (aborted !== null) controller.abort(abortError(aborted, job));
      }
      return controller.signal;
    },
    progress(progress) {
      // After the outcome is sent nothing counts any more, whatever a handler that was given up still does.
      if (isDecided) throw leaseLost(job);
      report.progress(progress);
      options.onProgress(progress);
    },
    log(level, message) {
      if (!isDecided) report.log(level, message);
    },
    async recall(step) {
      const { value } = await engine.remember({ scope: `job:${job.id}`, key: step, put: null });
      return value;
    },
    async record(step, result) {
      const guard = { job: job.id, fence: job.fence };
      const put = { value: result, forMs: null, guard };
      const { value, result: answer } = await engine.remember({ scope: `job:${job.id}`, key: step, put });
      if (answer === 'lost' || value === null) {
        abort('lost');
        throw leaseLost(job);
      }
      return value;
    },
  };

  function callHandler(): Promise<HandlerOutcome | { kind: 'died'; error: JobError }> {
    hasEntered = true;
    options.onEntered();
    const { timeoutMs } = job.policy;
    if (timeoutMs !== null) timer = clock.after(timeoutMs, () => abort('timeout'));
    if (task.isolateFile === null) return runHandler(job, task, port);
    thread = runIsolated({ job, file: task.isolateFile, port });
    return thread.outcome;
  }

  function outcomeOf(ended: HandlerOutcome | { kind: 'died'; error: JobError }): Outcome {
    if (ended.kind === 'newer-version') return { kind: 'released', started: false, stopped: true };
    if (ended.kind === 'returned' || ended.kind === 'result-refused') return ended;
    if (aborted === 'cancelled') {
      return { kind: 'cancelled', error: 'error' in ended ? ended.error : null };
    }
    if (ended.kind !== 'threw') return ended;
    if (aborted === 'timeout') {
      return { kind: 'timeout', error: timeoutError(job, ended.error), stopped: true };
    }
    // It threw because it was told to stop, and a deploy must not cost a job its attempt.
    if (aborted === 'shutdown') return { kind: 'released', started: true, stopped: true };
    return ended;
  }

  /** Writes the beginning, where one is due; tells whether the handler may be entered. */
  async function begin(): Promise<boolean> {
    if (job.cancelRequestedAt !== null) decide({ kind: 'cancelled', error: null });
    else if (needsBeginning(job)) {
      try {
        const state = await beats.begin({ id: job.id, fence: job.fence });
        if (state === 'lost') decide(null);
        if (state === 'cancel') decide({ kind: 'cancelled', error: null });
      } catch {
        // The store could not be asked. Without a written beginning the handler must not run here.
        decide({ kind: 'released', started: false, stopped: true });
      }
    }
    // Told meanwhile.
    if (aborted === 'cancelled') decide({ kind: 'cancelled', error: null });
    else if (aborted !== null) decide({ kind: 'released', started: false, stopped: true });
    return !isDecided;
  }

  async function run(): Promise<void> {
    // The caller keeps what this function returns before it is told anything.
    await null;
    try {
      if (await begin()) decide(outcomeOf(await callHandler()));
    } catch (error) {
      // Not the handler's doing: its errors are outcomes. The thread of an isolated task could not be started, for instance.
      decide({ kind: 'died', error: toJobError(error) });
    } finally {
      if (thread !== null) await thread.exited;
      hasEnded = true;
      onEnded();
    }
  }

  void run();
  return {
    job,
    isZombie: () => isDecided && !hasEnded,
    abort,
    release() {
      decide({ kind: 'released', started: hasEntered, stopped: !hasEntered });
      thread?.kill();
    },
  };
}
