import type { ClaimedJob } from '../contract/engine.ts';
import { mustRunAlone } from '../contract/job-status.ts';
import { internalQueue } from '../jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { HeartbeatResult } from '../store/heartbeats.ts';
import { type Attempt, type AttemptHost, startAttempt } from './attempt.ts';
import { createTimeouts } from './timeouts.ts';

/** The attempts of one worker, from their start until their handlers have ended. */
export interface RunningAttempts {
  /** Starts an attempt of a job that arrived at this monotonic instant. */
  start(job: ClaimedJob, task: ResolvedTask, takenElapsed: number): void;
  /** Attempts whose handlers run, abandoned handlers included. */
  count(): number;
  /** Attempts that run and are of this task. */
  countOf(type: string): number;
  /** Attempts of internal tasks. */
  internalCount(): number;
  /** Handlers that still run although their attempts are decided. */
  abandonedCount(): number;
  /** Whether an attempt runs that must be the only one in its process. */
  isAlone(): boolean;
  /** Whether no attempt is without an outcome. */
  areAllDecided(): boolean;
  /** The attempts that have no outcome yet. */
  undecided(): Attempt[];
  /** Aborts the attempt of this lease, if it runs here. */
  onHeartbeat(news: HeartbeatResult): void;
}

/** Creates the list of attempts of one worker. The callbacks of `host` are called after the list has changed. */
export function createRunningAttempts(host: Omit<AttemptHost, 'timeouts'>): RunningAttempts {
  // By fence: an old attempt of a job may still run when this worker takes the job again.
  const byFence = new Map<number, Attempt>();
  const internalFences = new Set<number>();
  let abandonedCount = 0;
  let isAlone = false;
  const timeouts = createTimeouts({ clock: host.clock, all: () => byFence.values() });
  const attemptHost: AttemptHost = {
    ...host,
    timeouts,
    onDecided(attempt, outcome, completion) {
      abandonedCount++;
      if (mustRunAlone(attempt.job)) isAlone = false;
      host.onDecided(attempt, outcome, completion);
    },
    onEnded(attempt) {
      abandonedCount--;
      byFence.delete(attempt.job.fence);
      internalFences.delete(attempt.job.fence);
      host.onEnded(attempt);
      timeouts.ended();
    },
  };

  return {
    start(job, task, takenElapsed) {
      isAlone = mustRunAlone(job);
      if (task.queue === internalQueue) internalFences.add(job.fence);
      byFence.set(job.fence, startAttempt(attemptHost, { job, task, takenElapsed }));
    },
    count: () => byFence.size,
    countOf(type) {
      let count = 0;
      for (const { job } of byFence.values()) if (job.type === type) count++;
      return count;
    },
    internalCount: () => internalFences.size,
    abandonedCount: () => abandonedCount,
    isAlone: () => isAlone,
    areAllDecided: () => byFence.size === abandonedCount,
    undecided: () => [...byFence.values()].filter((attempt) => !attempt.isZombie()),
    onHeartbeat({ fence, heartbeat, isPresumed }) {
      const attempt = byFence.get(fence);
      if (isPresumed === true) attempt?.presumeLost();
      else attempt?.abort(heartbeat.state === 'lost' ? 'lost' : 'cancelled');
    },
  };
}
