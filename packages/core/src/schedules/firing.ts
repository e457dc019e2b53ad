// Writes what was decided for due schedules: slots, jobs and cursors in one transaction.

import type { FireGroup } from '../contract/engine.ts';
import { isUnknownOutcome } from '../store/batcher.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { serialiseState } from './definition/state.ts';
import type { Decided, FirePassOptions } from './fire-pass.ts';
import { runSpecOf } from './planner/run-spec.ts';
import { slotDetailsOf } from './planner/slot-details.ts';
import { scheduleLeaseMs } from './schedule-lease.ts';

// After `stale` a run that was to be told something has started, so the schedule is planned anew. After `conflict` another pass, or an
// earlier send of this one, has written the schedule, and only a claim says when it is due again.
const lookNow = 0;

/** Creates the function that writes decisions; it answers when to look at the schedules again because of them. */
export function createFiring(
  options: FirePassOptions,
  parsed: ParsedSchedules,
): (all: Decided[], now: number) => Promise<number | null> {
  const { engine, node } = options;

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

  return fire;
}
