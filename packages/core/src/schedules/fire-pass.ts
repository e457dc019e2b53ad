import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { replyElapsed } from '../base/reply-elapsed.ts';
import type { ClaimedSchedule, Engine } from '../contract/engine.ts';
import type { ClaimSource } from '../store/enqueue-call.ts';
import { createParsedSchedules } from './definition/schedule-cache.ts';
import type { ScheduleSpec } from './definition/spec.ts';
import { createFiring } from './firing.ts';
import { seenRuns } from './planner/active-runs.ts';
import { createCatchUpBudget } from './planner/catch-up-budget.ts';
import { plan } from './planner/plan.ts';
import type { Plan, PlanEvent } from './planner/plan-types.ts';
import { scheduleLeaseMs } from './schedule-lease.ts';

// A page is planned in some milliseconds, far within the lease; other nodes take the next pages meanwhile.
const claimCountMax = 500;

/** A schedule that was decided. */
export interface Decided {
  schedule: ClaimedSchedule;
  spec: ScheduleSpec;
  plan: Plan;
}

/** What the pass is made of. */
export interface FirePassOptions {
  engine: Pick<Engine, 'claimSchedules' | 'fire' | 'get' | 'list'>;
  clock: Clock;
  node: string;
  ids: Ids;
  /** A worker of this process that takes the jobs as they are created; left out: none. */
  claimSource?: ClaimSource;
  /** The longest sleep; less while notifications are not proven. */
  maxSleepMs(): number;
  /** Told of every schedule whose decisions were recorded here. */
  onDecided?(decided: Decided): void;
  onEvent?(schedule: ClaimedSchedule, event: PlanEvent): void;
  /** Told of a schedule that cannot be decided here; its lease ends by itself and any node tries again. */
  onError(error: unknown, schedule: ClaimedSchedule): void;
}

/** Whether a claim tells of all unfinished runs of a schedule. */
const hasAllRuns = ({ active, activeCount }: ClaimedSchedule): boolean => activeCount <= active.length;

/**
 * Makes the pass that decides due schedules: takes some under a short lease, plans, and writes slots, jobs and cursor in one step each. A
 * node that dies in between has written nothing, and its lease ends; one that was too slow is told `conflict` and has written nothing
 * either. The answer is how long to sleep: exactly until the next schedule is due.
 */
export function createFirePass(options: FirePassOptions): () => Promise<number> {
  const { engine, clock, node, ids } = options;
  const parsed = createParsedSchedules();
  const catchUpBudget = createCatchUpBudget(clock);
  const fire = createFiring(options, parsed);

  /** A claim tells of the ten oldest unfinished runs; where a policy must know of more, they are read. */
  async function withRuns(schedule: ClaimedSchedule): Promise<ClaimedSchedule | null> {
    try {
      const { overlap } = parsed.parse(schedule).spec.policies;
      return { ...schedule, ...(await seenRuns(engine, schedule, overlap)) };
    } catch (error) {
      options.onError(error, schedule);
      return null;
    }
  }

  function decide(schedule: ClaimedSchedule, now: number): Decided | null {
    try {
      const { spec, state, planRule } = parsed.parse(schedule);
      const decided = plan({
        id: schedule.id,
        generation: schedule.generation,
        spec,
        rule: planRule,
        state,
        now,
        node,
        active: schedule.active,
        activeCount: schedule.activeCount,
        waited: schedule.waited,
        limits: { leaseMs: scheduleLeaseMs, catchUpBudget: catchUpBudget.left() },
        newJobId: ids.jobId,
      });
      catchUpBudget.spend(decided.runs.filter(({ isCatchUp }) => isCatchUp).length);
      parsed.next(schedule.id, decided.dueAt === null ? null : decided.dueAt - now);
      return { schedule, spec, plan: decided };
    } catch (error) {
      // One schedule that cannot be read must not keep the others from firing.
      options.onError(error, schedule);
      return null;
    }
  }

  return async () => {
    const sentElapsed = clock.elapsed();
    const reply = await engine.claimSchedules({
      node,
      token: ids.newId('claim'),
      limit: claimCountMax,
      leaseMs: scheduleLeaseMs,
      ids: null,
    });
    const repliedElapsed = replyElapsed(sentElapsed, clock.elapsed());
    const isWhole = reply.schedules.every(hasAllRuns);
    const schedules = isWhole
      ? reply.schedules
      : (await Promise.all(reply.schedules.map((one) => (hasAllRuns(one) ? one : withRuns(one))))).filter(
          (one) => one !== null,
        );
    const decided = schedules.map((one) => decide(one, reply.now)).filter((one) => one !== null);
    const nextAt = decided.length === 0 ? null : await fire(decided, reply.now);
    if (reply.more) return 0;
    const passedMs = clock.elapsed() - repliedElapsed;
    const due = Math.min(nextAt ?? Number.POSITIVE_INFINITY, reply.nextDueAt ?? Number.POSITIVE_INFINITY);
    const waitMs = Math.max(0, Math.min(due - reply.now - passedMs, options.maxSleepMs()));
    // What could not be decided is free again after its lease, and not before.
    return decided.length < reply.schedules.length ? Math.min(waitMs, scheduleLeaseMs) : waitMs;
  };
}
