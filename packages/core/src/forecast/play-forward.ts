import type { ActiveRun } from '../contract/engine.ts';
import type { CalendarRule, PlanRule } from '../schedules/definition/planned-rule.ts';
import type { ScheduleSpec } from '../schedules/definition/spec.ts';
import type { ScheduleState } from '../schedules/definition/state.ts';
import { dueAtOf } from '../schedules/planner/jitter.ts';
import { plan } from '../schedules/planner/plan.ts';
import type { ForecastRuns } from './forecast-runs.ts';

/** A schedule as it stands. */
export interface ScheduleToPlay {
  id: string;
  generation: number;
  spec: ScheduleSpec;
  rule: PlanRule;
  state: ScheduleState;
}

/** How a schedule is played. */
export interface PlayOptions {
  fromAt: number;
  /** What falls due at this instant is no longer played. */
  toAt: number;
  /** The number that its runs get. */
  number: number;
  /** Draws the duration of a run. */
  drawMs(): number;
  runs: ForecastRuns;
}

/** A run that is under way at some instant of the play. */
interface OpenRun {
  id: string;
  /** Its number among the runs. */
  run: number;
  startAt: number;
  endAt: number;
}

/** A plan may ask to look again at once, for each run that it cancels; one that asks this often would ask for ever. */
const sameInstantMax = 20_000;

/**
 * Plays a schedule forward, as if workers were always free and every run completed, and adds its runs. Slots that no run can touch are
 * walked; wherever a run lasts past the next slot the planner decides, as it would on a node. Returns how many slots were left out by policy.
 */
export function playForward(schedule: ScheduleToPlay, options: PlayOptions): number {
  const { toAt, runs } = options;
  const spec = withoutWatching(schedule.spec);
  const open: OpenRun[] = [];
  let state = schedule.state;
  let now = options.fromAt;
  let dueAt: number | null = Math.max(now, firstDueAt(schedule, now));
  let waitsFor: string | null = null;
  let leftOutCount = 0;
  let stuckCount = 0;
  for (;;) {
    if (schedule.rule.kind === 'calendar' && open.length === 0 && canWalk(spec, state, now)) {
      const met = walk({ ...schedule, spec, rule: schedule.rule }, state, options);
      if (met === null) return leftOutCount;
      state = met.state;
      open.push(met.run);
      dueAt = met.dueAt;
      waitsFor = null;
    }
    const waited: OpenRun | null = open.find(({ id }) => id === waitsFor) ?? null;
    const nextAt = Math.min(dueAt ?? Number.POSITIVE_INFINITY, waited?.endAt ?? Number.POSITIVE_INFINITY);
    if (nextAt >= toAt) return leftOutCount;
    stuckCount = nextAt > now ? 0 : stuckCount + 1;
    if (stuckCount > sameInstantMax) return leftOutCount;
    now = Math.max(now, nextAt);
    const isOver = waited !== null && waited.endAt <= now;
    dropEnded(open, now);
    const decided = plan({
      id: schedule.id,
      generation: schedule.generation,
      spec,
      rule: schedule.rule,
      state,
      now,
      node: 'forecast',
      active: open.map((one) => seen(one, now)),
      activeCount: open.length,
      waited: isOver ? { id: waited.id, status: 'COMPLETED', finishedAt: waited.endAt } : null,
      limits: { leaseMs: 2_000, catchUpBudget: Number.MAX_SAFE_INTEGER },
      newJobId: nextId(runs),
    });
    for (const { id } of decided.cancel) {
      const one = open.find((run) => run.id === id);
      if (one === undefined) continue;
      one.endAt = Math.max(one.startAt, Math.min(one.endAt, now));
      runs.endAt(one.run, one.endAt);
    }
    for (const created of decided.runs) {
      const gates = open.filter(({ id }) => created.gates.includes(id)).map(({ endAt }) => endAt);
      const startAt = Math.max(now, ...gates);
      const durationMs = options.drawMs();
      const run = runs.add(startAt, durationMs, options.number);
      open.push({ id: created.id, run, startAt, endAt: startAt + durationMs });
    }
    for (const { decision, count } of decided.slots) if (isLoss(decision)) leftOutCount += count ?? 1;
    state = decided.state;
    dueAt = decided.dueAt;
    waitsFor = decided.waitsFor;
  }
}

/** What was left out by policy; an exclusion or the end of a rule is what somebody wanted. */
function isLoss(decision: string): boolean {
  return decision === 'skipped' || decision === 'missed' || decision === 'merged' || decision === 'expired';
}

/** Every run is taken to complete, so nobody needs to watch for failures. */
function withoutWatching(spec: ScheduleSpec): ScheduleSpec {
  const { pauseAfterFailures, flagAfterFailures } = spec.policies;
  if (pauseAfterFailures === null && flagAfterFailures === null) return spec;
  return { ...spec, policies: { ...spec.policies, pauseAfterFailures: null, flagAfterFailures: null } };
}

/** When a node would look at it first; a run that it waits for now is taken to end now. */
function firstDueAt({ id, rule, spec, state }: ScheduleToPlay, now: number): number {
  if (state.ended !== null) return Number.POSITIVE_INFINITY;
  if (state.pause !== null) return state.pause.untilAt ?? Number.POSITIVE_INFINITY;
  if (rule.kind === 'delay') return state.outstanding !== null ? now : (state.nextSlotAt ?? now);
  const slotAt = rule.all.next(state.cursorAt);
  return slotAt === null
    ? Number.POSITIVE_INFINITY
    : dueAtOf({ id, policies: spec.policies }, rule.all, slotAt);
}

/** Whether nothing stands between the next slots and their runs but the runs themselves. */
function canWalk({ policies }: ScheduleSpec, state: ScheduleState, now: number): boolean {
  return (
    state.ended === null &&
    state.pause === null &&
    state.pendingSlot === null &&
    state.asOfAt === null &&
    state.held.length === 0 &&
    state.waiting.length === 0 &&
    policies.maxRuns === null &&
    (state.nextSlotAt === null || state.nextSlotAt > now)
  );
}

/** Walks from slot to slot until a run lasts past the next one; null: to the end. */
function walk(
  { id, rule, spec }: ScheduleToPlay & { rule: CalendarRule },
  state: ScheduleState,
  { toAt, runs, number, drawMs }: PlayOptions,
): { state: ScheduleState; run: OpenRun; dueAt: number } | null {
  const { policies } = spec;
  const { endAt } = policies;
  const of = { id, policies };
  const allows = policies.overlap === 'allow';
  let slotAt = rule.open.next(state.cursorAt);
  while (slotAt !== null && (endAt === null || slotAt <= endAt)) {
    const dueAt = policies.jitterMs === 0 ? slotAt : dueAtOf(of, rule.all, slotAt);
    if (dueAt >= toAt) return null;
    const nextSlotAt = rule.open.next(slotAt);
    if (state.skips.length > 0 && state.skips.includes(slotAt)) {
      slotAt = nextSlotAt;
      continue;
    }
    const durationMs = drawMs();
    const run = runs.add(dueAt, durationMs, number);
    // Jitter only moves a slot away.
    if (!allows && nextSlotAt !== null && nextSlotAt < dueAt + durationMs) {
      const created = { id: idOf(run), run, startAt: dueAt, endAt: dueAt + durationMs };
      const nextOfAll = rule.all.next(slotAt) ?? nextSlotAt;
      return {
        state: {
          ...state,
          cursorAt: slotAt,
          nextSlotAt: nextOfAll,
          lastRunId: created.id,
          lastFired: { slotAt, runId: created.id },
        },
        run: created,
        dueAt: dueAtOf(of, rule.all, nextOfAll),
      };
    }
    slotAt = nextSlotAt;
  }
  return null;
}

function idOf(run: number): string {
  return `run-${run}`;
}

/** Ids for the runs that a plan creates, in the order in which they are added. */
function nextId(runs: ForecastRuns): () => string {
  let created = 0;
  return () => idOf(runs.count + created++);
}

function dropEnded(open: OpenRun[], now: number): void {
  for (let i = open.length - 1; i >= 0; i--) if ((open[i] as OpenRun).endAt <= now) open.splice(i, 1);
}

function seen({ id, startAt }: OpenRun, now: number): ActiveRun {
  return {
    id,
    status: startAt > now ? 'BLOCKED' : 'RUNNING',
    slotAt: null,
    origin: 'schedule',
    dueAt: startAt,
    cancelRequestedAt: null,
  };
}
