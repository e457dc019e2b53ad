import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { replyElapsed } from '../base/reply-elapsed.ts';
import type { ClaimedSchedule, ClaimSchedulesReply, Engine, FireGroup } from '../contract/engine.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import type { ClaimSource } from '../store/session.ts';
import { createParsedSchedules } from './definition/schedule-cache.ts';
import type { ScheduleSpec } from './definition/spec.ts';
import { serialiseState } from './definition/state.ts';
import { seenRuns } from './planner/active-runs.ts';
import { createCatchUpBudget } from './planner/catch-up-budget.ts';
import { plan } from './planner/plan.ts';
import type { Plan, PlanEvent } from './planner/plan-types.ts';
import { runSpecOf } from './planner/run-spec.ts';
import { slotDetailsOf } from './planner/slot-details.ts';

/** How long a node has to decide a schedule that it took. */
export const scheduleLeaseMs = 3_000;

// A page is planned in some milliseconds, far within the lease; other nodes take the next pages meanwhile.
const claimCountMax = 500;

// After `stale` a run that was to be told something has started, so the schedule is planned anew. After `conflict` another pass, or an
// earlier send of this one, has written the schedule, and only a claim says when it is due again.
const lookNow = 0;

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

  function groupOf({ schedule, spec, plan: decided }: Decided): FireGroup {
    const state = serialiseState(decided.state);
    parsed.wrote(schedule.id, decided.state, state);
    return {
      scheduleId: schedule.id,
      version: schedule.version,
      fence: schedule.fence,
      state,
      dueAt: decided.dueAt,
      waitsFor: decided.waitsFor,
      slots: decided.slots,
      jobs: decided.runs.map((run) => runSpecOf(schedule, spec.job, run)),
      cancel: decided.cancel,
      slotDetails: [],
    };
  }

  /** What a plan comes to for the store. A promise only where runs that wait are to be told something, which is seldom. */
  async function groupWithDetails(one: Decided): Promise<FireGroup> {
    return { ...groupOf(one), slotDetails: await slotDetailsOf(engine, one.plan.mergedInto) };
  }

  /** Writes what was decided; answers when to look at the schedules again because of it. */
  async function fire(all: Decided[], now: number): Promise<number | null> {
    const hasDetails = all.some(({ plan: { mergedInto } }) => mergedInto.length > 0);
    const groups = hasDetails
      ? await Promise.all(
          all.map((one) => (one.plan.mergedInto.length > 0 ? groupWithDetails(one) : groupOf(one))),
        )
      : all.map(groupOf);
    let nextAt: number | null = null;
    for (const [i, result] of (await fireAll(groups, all)).entries()) {
      const one = all[i] as Decided;
      const dueAt = result === null ? now + scheduleLeaseMs : result === 'fired' ? one.plan.dueAt : lookNow;
      if (dueAt !== null && (nextAt === null || dueAt < nextAt)) nextAt = dueAt;
      if (result !== 'fired') continue;
      options.onDecided?.(one);
      for (const event of one.plan.events) options.onEvent?.(one.schedule, event);
    }
    return nextAt;
  }

  /** What became of each group; null: it was refused or its outcome is unknown. The schedule is then free again after its lease. */
  async function fireAll(groups: FireGroup[], all: Decided[]): Promise<(string | null)[]> {
    const request = groups.some(({ jobs }) => jobs.length > 0)
      ? (options.claimSource?.request() ?? null)
      : null;
    try {
      const reply = await engine.fire({ node, groups, ...(request === null ? {} : { claim: request }) });
      if (request !== null) options.claimSource?.receive(request, reply.claimed);
      return reply.groups;
    } catch (error) {
      if (request !== null) options.claimSource?.receive(request, isUnknownOutcome(error) ? 'unknown' : []);
      if (groups.length === 1) {
        options.onError(error, (all[0] as Decided).schedule);
        return [null];
      }
      // One group that the store refuses must not hold up the rest. After an unknown outcome the repeat answers `conflict`.
      const results: (string | null)[] = [];
      for (const [i, group] of groups.entries())
        results.push(...(await fireAll([group], all.slice(i, i + 1))));
      return results;
    }
  }

  function sleepMs(reply: ClaimSchedulesReply, repliedElapsed: number, nextAt: number | null): number {
    const due = Math.min(nextAt ?? Number.POSITIVE_INFINITY, reply.nextDueAt ?? Number.POSITIVE_INFINITY);
    const passedMs = clock.elapsed() - repliedElapsed;
    return Math.max(0, Math.min(due - reply.now - passedMs, options.maxSleepMs()));
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
    const waitMs = sleepMs(reply, repliedElapsed, nextAt);
    // What could not be decided is free again after its lease, and not before.
    return decided.length < reply.schedules.length ? Math.min(waitMs, scheduleLeaseMs) : waitMs;
  };
}
