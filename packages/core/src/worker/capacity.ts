import type { Clock } from '../base/clock.ts';
import type { ClaimRequest, ExchangeReply } from '../contract/engine.ts';
import type { RunningAttempts } from './running-attempts.ts';
import { createThroughputEstimate } from './throughput.ts';

/** How many jobs a worker may start and claim. Capacity that a claim may use is reserved until the claim has its answer. */
export interface Capacity {
  /** Whether another attempt may start. */
  canStart(options: { isInternal: boolean }): boolean;
  /** How many jobs to claim with an exchange: the free capacity, or more where attempts end before the reply arrives. */
  claimLimit(): number;
  /** How many with an exchange beside another, which has reserved all and as a rule finds nothing. */
  limitBeside(): number;
  /** How many with a call that creates jobs: all that could run in a moment, because short jobs are then claimed as they are created. */
  requestLimit(): number;
  /** How many internal jobs, while there is no capacity for others. */
  internalLimit(): number;
  /** Reserves capacity for a claim. `isRequested`: it is sent with a call that creates jobs. */
  reserve(claim: ClaimRequest, options?: { isRequested: boolean }): void;
  /** A claim that was sent with a call has an answer, or none will come. What it reserved stays reserved. */
  endRequest(claim: ClaimRequest): void;
  /** Frees what a claim has reserved. */
  free(claim: ClaimRequest): void;
  isReserved(): boolean;
  /** Whether a call has reserved capacity, so that it may be free again soon. */
  isRequested(): boolean;
  /** Whether to fetch jobs ahead: attempts end so fast that the worker ran dry while the store was asked. */
  isPrefetching(): boolean;
  /** Learns from a reply whether to fetch ahead. `isMore`: more jobs are due than it brought. */
  learn(reply: Pick<ExchangeReply, 'claimed'>, options: { isMore: boolean }): void;
  /** Jobs have arrived. */
  begin(): void;
  /** An attempt ended after its handler was entered. */
  countEnded(): void;
  /** Nothing is left to run. */
  rest(): void;
}

/** What a capacity is made of. */
export interface CapacityOptions {
  clock: Pick<Clock, 'elapsed'>;
  concurrency: number;
  attempts: Pick<RunningAttempts, 'count' | 'internalCount' | 'abandonedCount' | 'isAlone'>;
  /** Jobs that wait for capacity. */
  waitingCount(): number;
  /** Whether the worker takes no jobs, whatever is free. */
  isClosed(): boolean;
}

/** Beyond this one exchange takes longer than the attempts it brings. */
const claimMax = 2_000;
/** Slots beyond the concurrency for the server's own tasks, so that long jobs do not hold back webhooks and alerts. */
const internalCapacity = 2;

/** Creates the capacity of one worker. */
export function createCapacity(options: CapacityOptions): Capacity {
  const { clock, concurrency, attempts, waitingCount } = options;
  const throughput = createThroughputEstimate(clock);
  let reserved = 0;
  /** The part of it for claims that are sent with calls that create jobs. */
  let requested = 0;
  /** As many as ended before the store could answer; 0 while there is enough to do. */
  let prefetchCount = 0;
  /** Attempts that ended since the store last answered. */
  let endedCount = 0;

  // Attempts in the capacity for internal work do not count against the concurrency.
  const freeCount = (): number =>
    concurrency - attempts.count() + Math.min(internalCapacity, attempts.internalCount());
  const takesNothing = (): boolean =>
    attempts.isAlone() || attempts.abandonedCount() >= concurrency || options.isClosed();

  function claimLimit(): number {
    if (takesNothing()) return 0;
    const capacity = Math.max(freeCount(), throughput.recentCount(), 2 * prefetchCount);
    return Math.min(claimMax, capacity - waitingCount() - reserved);
  }

  return {
    canStart({ isInternal }) {
      if (attempts.isAlone()) return false;
      return freeCount() > 0 || (isInternal && attempts.internalCount() < internalCapacity);
    },
    claimLimit,
    limitBeside: () => (takesNothing() ? 0 : freeCount() - waitingCount()),
    requestLimit() {
      const limit = claimLimit();
      if (takesNothing()) return limit;
      const capacity = Math.min(claimMax, Math.max(throughput.recentCount(), throughput.possibleCount()));
      return Math.max(limit, capacity - waitingCount() - requested);
    },
    internalLimit() {
      if (reserved > 0 || waitingCount() > 0 || attempts.isAlone() || options.isClosed()) return 0;
      return internalCapacity - attempts.internalCount();
    },
    reserve(claim, { isRequested } = { isRequested: false }) {
      reserved += claim.limit;
      if (isRequested) requested += claim.limit;
    },
    endRequest(claim) {
      requested -= claim.limit;
    },
    free(claim) {
      reserved -= claim.limit;
    },
    isReserved: () => reserved > 0,
    isRequested: () => requested > 0,
    isPrefetching: () => prefetchCount > 0,
    learn({ claimed }, { isMore }) {
      // All capacity was freed and ran dry while the store was asked, so the next jobs are fetched while these run.
      const hasRunDry = waitingCount() === 0 && attempts.count() < concurrency && endedCount >= concurrency;
      prefetchCount =
        hasRunDry && isMore ? Math.min(claimMax, Math.max(2 * prefetchCount, claimed.length)) : 0;
      endedCount = 0;
    },
    begin: () => throughput.begin(),
    countEnded() {
      throughput.count();
      endedCount++;
    },
    rest: () => throughput.rest(),
  };
}
