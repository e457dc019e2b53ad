import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import type { ClaimedJob } from '../contract/engine.ts';
import { mustRunAlone } from '../contract/job-status.ts';
import { internalQueue } from '../jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import { type HeartbeatResult, type Heartbeats, heldLeaseOf, sinceClaimMs } from '../store/heartbeats.ts';
import type { Capacity } from './capacity.ts';
import type { ClaimSource } from './intake.ts';
import type { RunningAttempts } from './running-attempts.ts';
import { createWaitingJobs, type WaitingJob } from './waiting-jobs.ts';
import type { WorkerEvents } from './worker-events.ts';

/** Claimed jobs, from their arrival until their attempts start or they are released. */
export interface Arrivals {
  /**
   * Takes claimed jobs and starts those that have capacity. `sureElapsed` is a monotonic instant before the
   * store granted the leases; those of a repeated claim were granted earlier, at `claimedAt`.
   */
  receive(source: ClaimSource, claimed: ClaimedJob[], options: { sureElapsed: number; now?: number }): void;
  /** An attempt ended: starts the jobs that have capacity now. */
  ended(job: Pick<ClaimedJob, 'type'>): void;
  /** Takes news about a lease whose job waits here. */
  onHeartbeat(news: HeartbeatResult): void;
  /** Releases all jobs that wait. */
  releaseAll(): void;
  /** Jobs that wait for capacity. */
  waitingCount(): number;
  /** Jobs of a task that run or wait for capacity. */
  countOf(type: string): number;
}

/** What arrivals are made of. */
export interface ArrivalsOptions {
  clock: Pick<Clock, 'elapsed' | 'after'>;
  tasks: ReadonlyMap<string, ResolvedTask>;
  attempts: Pick<RunningAttempts, 'start' | 'countOf' | 'areAllDecided'>;
  capacity: Pick<Capacity, 'canStart' | 'begin'>;
  heartbeats: Pick<Heartbeats, 'hold' | 'check' | 'drop' | 'enter' | 'followsStoreCalls'>;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  isDraining(): boolean;
  /** Sends the outcome of a job whose handler is not entered. */
  send(job: ClaimedJob, outcome: Outcome): void;
  /** The store's thread released a job before it could start. */
  onReleased(): void;
}

const notStarted: Outcome = { kind: 'released', started: false, stopped: true };

/** Creates the arrivals of one worker. */
export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { clock, tasks, attempts, capacity, heartbeats, events } = options;
  /** Jobs that run or wait for capacity, by task. */
  const countByType = new Map<string, number>();
  const waiting = createWaitingJobs({ clock, check: mayStart, start, release });

  function count(type: string, by: 1 | -1): void {
    const sum = (countByType.get(type) ?? 0) + by;
    if (sum === 0) countByType.delete(type);
    else countByType.set(type, sum);
  }

  /**
   * Checks the limit of the task again. Two claims may be in flight at once, and a repeated one brings what
   * it was granted before, so together they may bring more jobs than the limit.
   */
  function mayStart(job: ClaimedJob): 'start' | 'skip' | 'stop' {
    const task = tasks.get(job.type);
    if (!capacity.canStart({ isInternal: task?.queue === internalQueue })) return 'stop';
    if (mustRunAlone(job) && !attempts.areAllDecided()) return 'stop';
    const limit = task?.concurrency ?? null;
    return limit === null || attempts.countOf(job.type) < limit ? 'start' : 'skip';
  }

  function start({ job, takenElapsed }: WaitingJob): void {
    const task = tasks.get(job.type);
    if (task === undefined) {
      count(job.type, -1);
      options.send(job, notStarted);
      return;
    }
    attempts.start(job, task, takenElapsed);
  }

  function release(jobs: WaitingJob[]): void {
    for (const { job, takenElapsed } of jobs) {
      count(job.type, -1);
      if (heartbeats.enter(job, takenElapsed) === 'released') {
        heartbeats.drop([{ id: job.id, fence: job.fence }]);
        options.onReleased();
      } else options.send(job, notStarted);
    }
  }

  return {
    receive(source, claimed, { sureElapsed, now }) {
      const [first] = claimed;
      if (first === undefined) return;
      const sinceMs = source === 'repeat' ? sinceClaimMs(first, now) : 0;
      if (heartbeats.followsStoreCalls !== true)
        heartbeats.hold(claimed.map(heldLeaseOf), sureElapsed - sinceMs);
      if (source === 'repeat') heartbeats.check();
      capacity.begin();
      for (const { type } of claimed) count(type, 1);
      waiting.add(claimed);
      if (options.isDraining()) release(waiting.takeAll());
      else waiting.startReady();
    },
    ended({ type }) {
      count(type, -1);
      waiting.startReady();
    },
    onHeartbeat({ fence, heartbeat }) {
      const job = waiting.find(fence);
      if (job === null) return;
      // Its attempt is cancelled as soon as it has capacity.
      if (heartbeat.state === 'cancel') job.cancelRequestedAt = heartbeat.requestedAt;
      else {
        waiting.remove(fence);
        count(job.type, -1);
        heartbeats.drop([{ id: job.id, fence }]);
        events.emit('lost', { job, settlement: null });
      }
    },
    releaseAll: () => release(waiting.takeAll()),
    waitingCount: waiting.count,
    countOf: (type) => countByType.get(type) ?? 0,
  };
}
