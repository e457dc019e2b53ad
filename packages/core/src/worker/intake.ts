import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import type { Ids } from '../base/ids.ts';
import type { ClaimedJob, ClaimRequest, ExchangeReply } from '../contract/engine.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import type { HeartbeatResult, Heartbeats } from '../store/heartbeats.ts';
import { type Arrivals, createArrivals } from './arrivals.ts';
import { createCapacity } from './capacity.ts';
import { createClaims } from './claims.ts';
import { createLostClaims } from './lost-claims.ts';
import type { RunningAttempts } from './running-attempts.ts';
import type { WorkerEvents } from './worker-events.ts';

/** What brought jobs: an exchange, a repeated exchange, a call that creates jobs, or a parked claim. */
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
  /** Takes the jobs that a call which creates jobs has claimed. */
  answerRequest(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
  /** The answer to a claim was lost: it is sent again, next with `isFirst`. Its capacity stays reserved. */
  lost(claim: ClaimRequest, options?: { isFirst: boolean }): void;
  /** Reserves the capacity of a claim that was created elsewhere. */
  reserve(claim: ClaimRequest): void;
  /** Takes claimed jobs: the only way in. */
  receive: Arrivals['receive'];
  /** Learns from the reply to an exchange. */
  learn(reply: ExchangeReply, options: ReplyFacts): void;
  /** The attempt of a job ended. `isReleased`: its handler was not entered. */
  ended(job: ClaimedJob, options: { isReleased: boolean }): void;
  /** Takes news about a lease whose job waits for capacity. */
  onHeartbeat(news: HeartbeatResult): void;
  /** Releases all jobs that wait. */
  releaseAll(): void;
  /** Whether claims have capacity for nothing until an attempt ends. */
  isFull(): boolean;
  isPrefetching(): boolean;
  isReserved(): boolean;
  waitingCount(): number;
  /** Claims whose answers were lost and which are still to be sent again. */
  lostCount(): number;
  /**
   * A pass found nothing to claim. Returns after how long it may ask for internal work; Infinity: an event
   * comes first.
   */
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

/** Creates the intake of one worker. */
export function createIntake(options: IntakeOptions): Intake {
  const { clock, concurrency, leaseMs, attempts, heartbeats, wake } = options;
  /** When claims were created that calls carry; empty where the store's thread measures that. */
  const requestedElapsed = new Map<ClaimRequest, number>();
  let isPassSkipped = false;
  const capacity = createCapacity({
    ...{ clock, concurrency, attempts, waitingCount: () => arrivals.waitingCount() },
    isClosed: () => options.isDraining() || options.isBehind(),
  });
  const arrivals = createArrivals({ ...options, capacity });
  const { waitingCount, countOf } = arrivals;
  const claims = createClaims({ ...options, capacity, waitingCount, countOf });
  const lostClaims = createLostClaims({ clock, leaseMs, onExpired: capacity.free });

  return {
    nextClaim() {
      const repeated = lostClaims.take();
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
        lostClaims.add(request, { isFirst: false });
        wake();
        return;
      }
      capacity.free(request);
      arrivals.receive('call', claimed, { sureElapsed });
      if (!isPassSkipped) return;
      isPassSkipped = false;
      wake();
    },
    lost: (claim, { isFirst } = { isFirst: false }) => lostClaims.add(claim, { isFirst }),
    reserve: capacity.reserve,
    receive: arrivals.receive,
    learn(reply, { isMore, isInternal, hasClaim, arrivedElapsed }) {
      if (hasClaim && !isInternal) claims.learn(reply, arrivedElapsed);
      capacity.learn(reply, { isMore });
    },
    ended(job, { isReleased }) {
      if (!isReleased) capacity.countEnded();
      arrivals.ended(job);
      if (attempts.count() === 0 && waitingCount() === 0) capacity.rest();
    },
    onHeartbeat: arrivals.onHeartbeat,
    releaseAll: arrivals.releaseAll,
    isFull: () => !capacity.isRequested() && capacity.claimLimit() <= 0 && claims.internalLimit() <= 0,
    isPrefetching: capacity.isPrefetching,
    isReserved: capacity.isReserved,
    waitingCount,
    lostCount: lostClaims.count,
    skipPass() {
      // All capacity is reserved for a claim that a call carries. Its answer wakes the worker.
      isPassSkipped = capacity.isReserved();
      return claims.internalWaitMs();
    },
  };
}
