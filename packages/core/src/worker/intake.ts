import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import type { Ids } from '../base/ids.ts';
import type { ClaimedJob, ClaimRequest, ExchangeReply } from '../contract/engine.ts';
import { mustRunAlone } from '../contract/job-status.ts';
import { internalQueue } from '../jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import { type HeartbeatResult, type Heartbeats, heldLeaseOf, sinceClaimMs } from '../store/heartbeats.ts';
import { createCapacity } from './capacity.ts';
import { createClaims } from './claims.ts';
import type { RunningAttempts } from './running-attempts.ts';
import { createWaitingJobs, type WaitingJob } from './waiting-jobs.ts';
import type { WorkerEvents } from './worker-events.ts';

/** What brought jobs: an exchange, one that was repeated, a call that creates jobs, or a parked claim. */
export type ClaimSource = 'exchange' | 'repeat' | 'call' | 'parked';

/** A claim for an exchange. */
export interface NextClaim {
  readonly claim: ClaimRequest;
  /** Whether it was sent before, and its answer was lost. */
  readonly isRepeated: boolean;
  /** Whether it asks for internal work only. */
  readonly isInternal: boolean;
}

/** What is known of a reply beside what it says. */
export interface ReplyFacts {
  /** Whether it answers a claim. */
  hasClaim: boolean;
  /** Whether that asked for internal work only. */
  isInternal: boolean;
  /** Whether more jobs are due than it brought. */
  isMore: boolean;
  /** When it arrived, by the monotonic clock. */
  arrivedElapsed: number;
}

/** What a worker claims, and what becomes of the jobs until their attempts start. */
export interface Intake {
  /** The claim for the next exchange; null: none. Must be ended with `answered` or `lost`. */
  nextClaim(): NextClaim | null;
  /** The same for an exchange beside another. */
  claimBeside(): ClaimRequest | null;
  /** The claim for a call that creates jobs. Must be ended with `answerRequest`. */
  request(): ClaimRequest | null;
  /** A claim has its answer, so that its capacity is free. */
  answered(claim: ClaimRequest): void;
  /** Takes what a call that creates jobs was given. */
  answerRequest(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
  /** The answer to a claim was lost: it is asked for again, before others with `isFirst`. Its capacity stays reserved. */
  lost(claim: ClaimRequest, options?: { isFirst: boolean }): void;
  /** Reserves the capacity of a claim that was created elsewhere. */
  reserve(claim: ClaimRequest): void;
  /**
   * Takes claimed jobs: the only way in. Starts those that have capacity. `sureElapsed` is a monotonic instant before the store gave the
   * leases; a repeated claim was given them longer ago, at `claimedAt`.
   */
  receive(source: ClaimSource, claimed: ClaimedJob[], options: { sureElapsed: number; now?: number }): void;
  /** Learns from the reply to an exchange. */
  learn(reply: ExchangeReply, options: ReplyFacts): void;
  /** The attempt of a job ended. `isReleased`: its handler was not entered. */
  ended(job: ClaimedJob, options: { isReleased: boolean }): void;
  /** Takes news about a lease whose job waits here. */
  onHeartbeat(news: HeartbeatResult): void;
  /** Releases all jobs that wait. */
  releaseAll(): void;
  /** Whether claims have capacity for nothing until an attempt ends. */
  isFull(): boolean;
  isPrefetching(): boolean;
  isReserved(): boolean;
  waitingCount(): number;
  /** Claims whose answers were lost and are still to be asked for. */
  lostCount(): number;
  /** A pass found nothing to claim. Returns after how long it may ask for internal work; Infinity: an event comes first. */
  skipPass(): number;
}

/** What an intake is made of. */
export interface IntakeOptions {
  clock: Clock;
  ids: Pick<Ids, 'newId'>;
  node: string;
  tasks: ReadonlyMap<string, ResolvedTask>;
  queues: readonly string[] | null;
  concurrency: number;
  leaseMs: number;
  attempts: Omit<RunningAttempts, 'undecided' | 'onHeartbeat'>;
  heartbeats: Pick<Heartbeats, 'hold' | 'check' | 'drop' | 'enter' | 'followsStoreCalls'>;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  isDraining(): boolean;
  /** Whether too many outcomes wait to be recorded for taking more jobs. */
  isBehind(): boolean;
  /** Sends the outcome of a job whose handler is not entered. */
  send(job: ClaimedJob, outcome: Outcome): void;
  /** The store's thread released a job before it could start. */
  onReleased(): void;
  /** There may be something to claim. */
  wake(): void;
}

const notStarted: Outcome = { kind: 'released', started: false, stopped: true };

/** Creates the intake of one worker. */
export function createIntake(options: IntakeOptions): Intake {
  const { clock, tasks, leaseMs, attempts, heartbeats, events, wake } = options;
  /** Jobs that run or wait for capacity, by task. */
  const countByType = new Map<string, number>();
  /** Claims whose answers were lost. Their capacity stays reserved. */
  const lostClaims: { claim: ClaimRequest; sinceElapsed: number }[] = [];
  /** When claims were created that calls carry; empty where the store's thread measures that. */
  const requestedElapsed = new Map<ClaimRequest, number>();
  let isPassSkipped = false;
  const capacity = createCapacity({
    ...{ clock, concurrency: options.concurrency, attempts, waitingCount: () => waiting.count() },
    isClosed: () => options.isDraining() || options.isBehind(),
  });
  const waiting = createWaitingJobs({ clock, check: mayStart, start, release });
  const claims = createClaims({
    ...options,
    ...{ capacity, waitingCount: waiting.count, countOf: (type) => countByType.get(type) ?? 0 },
  });

  /** The next claim that is asked for again. After a lease has passed there is nothing left to ask for. */
  function takeLostClaim(): ClaimRequest | null {
    for (let next = lostClaims.shift(); next !== undefined; next = lostClaims.shift()) {
      if (clock.elapsed() - next.sinceElapsed < leaseMs) return next.claim;
      capacity.free(next.claim);
    }
    return null;
  }

  function count(type: string, by: 1 | -1): void {
    const sum = (countByType.get(type) ?? 0) + by;
    if (sum === 0) countByType.delete(type);
    else countByType.set(type, sum);
  }

  /**
   * Two claims may be in flight at once, with a call and with an exchange, and a repeated one brings what it was given before. So
   * together they may bring more of a task than its own limit.
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

  function lost(claim: ClaimRequest, { isFirst } = { isFirst: false }): void {
    const entry = { claim, sinceElapsed: clock.elapsed() };
    if (isFirst) lostClaims.unshift(entry);
    else lostClaims.push(entry);
  }

  const receive: Intake['receive'] = (source, claimed, { sureElapsed, now }) => {
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
  };

  return {
    nextClaim() {
      const repeated = takeLostClaim();
      if (repeated !== null) return { claim: repeated, isRepeated: true, isInternal: false };
      const ordinary = claims.create(capacity.claimLimit());
      const claim = ordinary ?? claims.createInternal();
      if (claim === null) return null;
      capacity.reserve(claim);
      return { claim, isRepeated: false, isInternal: ordinary === null };
    },
    claimBeside() {
      const claim = claims.create(capacity.limitBeside());
      if (claim === null || claim.limit === 0) return null;
      capacity.reserve(claim);
      return claim;
    },
    request() {
      const claim = claims.create(capacity.requestLimit());
      if (claim === null || claim.limit === 0) return null;
      capacity.reserve(claim, { isRequested: true });
      if (heartbeats.followsStoreCalls !== true) requestedElapsed.set(claim, clock.elapsed());
      return claim;
    },
    answered: capacity.free,
    answerRequest(request, claimed) {
      capacity.endRequest(request);
      const sureElapsed = requestedElapsed.get(request) ?? clock.elapsed();
      requestedElapsed.delete(request);
      if (claimed === 'unknown') {
        lost(request);
        wake();
        return;
      }
      capacity.free(request);
      receive('call', claimed, { sureElapsed });
      if (!isPassSkipped) return;
      isPassSkipped = false;
      wake();
    },
    lost,
    reserve: capacity.reserve,
    receive,
    learn(reply, { isMore, isInternal, hasClaim, arrivedElapsed }) {
      if (hasClaim && !isInternal) claims.learn(reply, arrivedElapsed);
      capacity.learn(reply, { isMore });
    },
    ended({ type }, { isReleased }) {
      if (!isReleased) capacity.countEnded();
      count(type, -1);
      waiting.startReady();
      if (attempts.count() === 0 && waiting.count() === 0) capacity.rest();
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
    isFull: () => !capacity.isRequested() && capacity.claimLimit() <= 0 && claims.internalLimit() <= 0,
    isPrefetching: capacity.isPrefetching,
    isReserved: capacity.isReserved,
    waitingCount: waiting.count,
    lostCount: () => lostClaims.length,
    skipPass() {
      // All capacity is reserved for a claim that a call carries. What woke the worker is looked at once that has its answer.
      isPassSkipped = capacity.isReserved();
      return claims.internalWaitMs();
    },
  };
}
