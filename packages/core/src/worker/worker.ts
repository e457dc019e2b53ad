import type { Clock } from '../base/clock.ts';
import { createEvents, type Events } from '../base/emitter.ts';
import { createIds } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, ClaimRequest, Engine } from '../contract/engine.ts';
import { isAboutJobs } from '../contract/notifications.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import type { HeartbeatResult, Heartbeats } from '../store/heartbeats.ts';
import type { ParkedClaim, ParkedClaimOptions } from '../store/parked-claim.ts';
import type { Attempt, Completion } from './attempt.ts';
import { createDrain } from './drain.ts';
import { createExchanges } from './exchanges.ts';
import { createIntake } from './intake.ts';
import { createOutbox } from './outbox.ts';
import { createReporter } from './reporter.ts';
import { createRunningAttempts } from './running-attempts.ts';
import { createSkippedJobs } from './skipped-jobs.ts';
import type { WorkerEvents } from './worker-events.ts';

/** What a worker is made of. */
export interface WorkerOptions {
  engine: Pick<Engine, 'exchange' | 'report' | 'remember' | 'subscribe' | 'get' | 'info' | 'userTransaction'>;
  clock: Clock;
  random: Random;
  node: string;
  /** By name. Tasks may be added later; the next claim asks for them too. */
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** Their creator passes their news on to `onHeartbeat`. */
  heartbeats: Heartbeats;
  /** How many attempts run at the same time. Default 20. */
  concurrency?: number;
  /** Only these queues; null: all. */
  queues?: readonly string[] | null;
  /** Default 30 s. */
  leaseMs?: number;
  /** Parks its claim while it has nothing to do; left out, or null: it is not parked. Called by `start`. */
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
  /** Takes news of the heartbeats about leases of this worker. */
  onHeartbeat(news: HeartbeatResult): void;
  /** A claim to send along with an enqueue; null: no capacity is free. Must be answered with `receive`. */
  request(): ClaimRequest | null;
  /** Takes the jobs that a request claimed, [] if none or if it failed; `unknown`: the answer was lost. */
  receive(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
  /**
   * Stops claiming, lets running attempts finish until the limit, then aborts them with reason `shutdown` and
   * releases the rest without spending an attempt. Resolves when all outcomes are recorded; a second call
   * resolves with the first.
   */
  drain(options: { limitMs: number }): Promise<void>;
  /** Ends the waiting of a drain: jobs that still run are aborted and released now. */
  abortDrain(): void;
  /** Attempts whose handlers run, abandoned handlers included. */
  runningCount(): number;
  /** Outcomes that the store has not recorded yet. */
  unrecordedCount(): number;
  /** Whether nothing runs, waits to run or is to be recorded, and no claim is on its way. */
  isIdle(): boolean;
  /** Why it takes no work although it runs; null: it does. */
  notReady(): string | null;
}

const defaultConcurrency = 20;
const defaultLeaseMs = 30_000;

/** Creates a worker. It does nothing until `start`. */
export function createWorker(options: WorkerOptions): Worker {
  const { engine, clock, random, node, tasks, heartbeats, maxSleepMs } = options;
  const { concurrency = defaultConcurrency, queues = null, leaseMs = defaultLeaseMs } = options;

  const events = createEvents<WorkerEvents>((error, name) => {
    if (name !== 'error') events.emit('error', { error, doing: `telling a listener of "${name}"` });
  });
  const ids = createIds({ clock, random });
  const skipped = createSkippedJobs(clock, (counts) => events.emit('skipped', counts));
  let unsubscribe: (() => void) | null = null;
  let parkedClaim: ParkedClaim | null = null;
  const outbox = createOutbox({
    ...{ engine, clock, random, tasks, heartbeats, events, onFinished: () => drain.check() },
    onWaiting() {
      exchanges.wake();
      drain.check();
    },
  });
  const attempts = createRunningAttempts({
    ...{ engine, clock, random, heartbeats, reporter: createReporter({ engine, clock, random }) },
    onEntered: (job) => events.emit('started', { job }),
    onLate: () => skipped.count('late'),
    onProgress: (job, progress) => events.emit('progress', { job, progress }),
    onDecided: decided,
    onEnded: ended,
  });
  const intake = createIntake({
    ...{ clock, ids, node, tasks, queues, concurrency, leaseMs, attempts, heartbeats, events },
    isBehind: () => exchanges.isBehind(),
    isDraining: () => drain.hasStarted(),
    send: (job, outcome) => outbox.send(job, outcome, null),
    onReleased: () => skipped.count('released'),
    wake: () => exchanges.wake(),
  });
  const exchanges = createExchanges({
    ...{ engine, clock, random, leaseMs, maxSleepMs, events, outbox, intake, attempts },
    onChange: () => drain.check(),
    onStoreGone: () => drain.onStoreGone(),
  });
  const drain = createDrain({
    ...{ clock, attempts },
    stopIntake(onStopped) {
      if (parkedClaim === null) onStopped();
      else parkedClaim.close().then(onStopped, onStopped);
      intake.releaseAll();
    },
    isAllSent: exchanges.isAllSent,
    onUnsent() {
      const count = outbox.waiting().length;
      const error = new Error(`${count} outcomes could not be handed in; their leases end by themselves.`);
      events.emit('error', { error, doing: 'draining' });
    },
    async stop() {
      outbox.giveUp();
      unsubscribe?.();
      await exchanges.stop();
    },
  });

  function decided(attempt: Attempt, outcome: Outcome | null, completion: Completion | null): void {
    const { job } = attempt;
    const report = attempt.takeReport();
    if (outcome === null) {
      heartbeats.drop([{ id: job.id, fence: job.fence }]);
      if (attempt.isReleased) skipped.count('released');
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
    exchanges.wake();
    drain.check();
  }

  return {
    events,
    start() {
      if (drain.hasStarted()) return;
      unsubscribe ??= engine.subscribe((notification) => {
        const isForUs = isAboutJobs(notification, tasks) && parkedClaim?.isUsed() !== true;
        // Disconnected: it may sleep less long from now on.
        if (isForUs || notification.kind === 'disconnected') exchanges.wake();
        if (notification.kind === 'cancel' && heartbeats.followsStoreCalls !== true) heartbeats.check();
      });
      parkedClaim ??= options.openParkedClaim?.(exchanges) ?? null;
      exchanges.start();
    },
    wake: () => exchanges.wake(),
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
    unrecordedCount: exchanges.unrecordedCount,
    isIdle: () => exchanges.isQuiet() && !intake.isReserved(),
    notReady() {
      if (drain.hasStarted()) return 'The worker is draining.';
      if (exchanges.isBehind()) return 'Outcomes wait to be recorded because the store is slow or away.';
      if (attempts.abandonedCount() < concurrency) return null;
      return `All ${concurrency} concurrency slots are held by handlers that ignored their timeout or cancellation.`;
    },
  };
}
