import { dulyError } from '../../base/errors.ts';
import { refuseOption } from '../../base/option-reader.ts';
import type { SlotRow } from '../../contract/engine.ts';
import { refuseForDelay } from '../definition/policies.ts';
import type { Pause, ScheduleState } from '../definition/state.ts';
import { createRun } from './create-run.ts';
import { awaitOutstanding, decideDelay } from './decide-delay.ts';
import { decideDue } from './decide-due.ts';
import { reasons } from './decision.ts';
import { newestDueSlot } from './jitter.ts';
import { noteOutcome } from './outcomes.ts';
import { type Fate, gatesBehind, overlapFate } from './overlap.ts';
import { decide, endPause, endPauseInTime, finishPlan } from './plan.ts';
import { beginPlan, type PlanState } from './plan-state.ts';
import type { Plan, PlanInput, PlannedRun } from './plan-types.ts';

/** A pass that only changes what it is told to; slots that are due stay for the next pass. */
function beginOperation(input: PlanInput): PlanState {
  const planState = beginPlan(input);
  noteOutcome(planState);
  return planState;
}

/** Who pauses, and until when. Of a schedule that is paused so already, null leaves the note or the end as it is. */
export interface PauseRequest {
  note: string | null;
  untilAt: number | null;
  by: string | null;
  cause?: Pause['cause'];
}

/**
 * Stops decisions; jobs already created go on. A schedule that is paused keeps its beginning, and gets the note and end that are given. One that is
 * disabled stays so whoever pauses it, and one that is paused when it is disabled stays paused below it.
 */
export function planPause(input: PlanInput, request: PauseRequest): Plan {
  const { note, untilAt, by, cause = 'person' } = request;
  if (untilAt !== null && untilAt <= input.now) {
    refuseOption('until', new Date(untilAt).toISOString(), 'to lie in the future');
  }
  const planState = beginOperation(input);
  endPauseInTime(planState);
  const { pause } = planState.state;
  const at = pause?.at ?? input.now;
  if (pause === null || (pause.cause === 'disabled') === (cause === 'disabled')) {
    planState.state.pause = { at, ...again(pause, { note, untilAt, cause, by }) };
  } else if (cause === 'disabled') {
    planState.state.pause = { at, untilAt, note, cause, by, disabledAt: input.now, kept: pause };
  } else {
    const kept = {
      at: pause.kept?.at ?? input.now,
      ...again(pause.kept ?? null, { note, untilAt, cause, by }),
    };
    planState.state.pause = { ...pause, disabledAt: pause.disabledAt ?? pause.at, kept };
  }
  return finishPlan(planState);
}

/** A second pause of the same cause says what it says, and the rest stays: a note is not lost because somebody pauses without one. */
function again(
  before: Pick<Pause, 'note' | 'untilAt' | 'cause'> | null,
  { note, untilAt, cause, by }: Required<PauseRequest>,
): Omit<Pause, 'at' | 'disabledAt' | 'kept'> {
  const same = before?.cause === cause ? before : null;
  return { note: note ?? same?.note ?? null, untilAt: untilAt ?? same?.untilAt ?? null, cause, by };
}

/** Ends that a schedule is disabled: it goes on, or back to the pause that was there before, if that is not over by now. */
export function planEnable(input: PlanInput): Plan {
  const { pause } = input.state;
  const kept = pause?.kept;
  if (pause === null || kept === undefined || (kept.untilAt !== null && kept.untilAt <= input.now)) {
    return planResume(input);
  }
  const planState = beginOperation(input);
  // Slots were held all the while.
  planState.state.pause = { ...kept, at: pause.at };
  return finishPlan(planState);
}

/** Goes on, and decides in the same step what fell in the pause. */
export function planResume(input: PlanInput): Plan {
  const planState = beginOperation(input);
  endPauseInTime(planState);
  endPause(planState, input.now);
  decide(planState);
  return finishPlan(planState);
}

/** Names the next slot to be skipped; asking twice names it once. `slotAt` is null where it is not known yet or there is none. */
export function planSkipNext(input: PlanInput): { plan: Plan; slotAt: number | null } {
  const planState = beginOperation(input);
  const { state } = planState;
  const slotAt = nextSlotToSkip(planState);
  if (slotAt !== null && !state.skips.includes(slotAt)) {
    state.skips = [...state.skips, slotAt].sort((a, b) => a - b);
  }
  if (slotAt === null && input.rule.kind === 'delay' && state.ended === null) state.skipsComing = true;
  return { plan: finishPlan(planState), slotAt };
}

function nextSlotToSkip({ input, state }: PlanState): number | null {
  const { rule, spec, now } = input;
  if (state.ended !== null) return null;
  if (rule.kind === 'delay') return state.nextSlotAt;
  const { policies } = spec;
  const decidedAt = newestDueSlot({ id: input.id, policies }, rule.all, now) ?? state.cursorAt;
  const slotAt = rule.open.next(Math.max(decidedAt, state.cursorAt));
  return slotAt !== null && policies.endAt !== null && slotAt > policies.endAt ? null : slotAt;
}

/** What became of a trigger. */
export type TriggerOutcome =
  | { kind: 'created'; run: PlannedRun }
  | { kind: 'skipped'; reason: string }
  | { kind: 'merged'; into: string };

/**
 * One run now: also while paused or over, excluded or not. Obeys `overlap` unless told `allow`. With an input of its own it is not merged into a run
 * that waits, and nothing is merged into it: neither would do what the other was created for.
 */
export function planTrigger(
  input: PlanInput,
  { allow, hasOwnInput = false }: { allow: boolean; hasOwnInput?: boolean },
): { plan: Plan; outcome: TriggerOutcome } {
  const planState = beginOperation(input);
  const fate = triggerFate(planState, allow, hasOwnInput);
  if (fate.kind === 'skip')
    return { plan: finishPlan(planState), outcome: { kind: 'skipped', reason: fate.reason } };
  if (fate.kind === 'merge') {
    planState.mergedInto.set(fate.into, null);
    return { plan: finishPlan(planState), outcome: { kind: 'merged', into: fate.into } };
  }
  if (fate.kind === 'look')
    throw dulyError('internal', { message: 'A trigger found a run of its own planState.' });
  const { rule, now } = planState.input;
  const run = createRun(planState, {
    slotAt: null,
    dueAt: now,
    origin: 'trigger',
    isCatchUp: false,
    previousSlotAt: rule.kind === 'delay' ? null : rule.open.previous(now + 1),
    nextSlotAt: rule.kind === 'delay' ? planState.state.nextSlotAt : rule.open.next(now),
    covers: null,
    fate,
    allow,
    hasOwnInput,
  });
  return { plan: finishPlan(planState), outcome: { kind: 'created', run } };
}

function triggerFate(planState: PlanState, allow: boolean, hasOwnInput: boolean): Fate {
  if (allow) return { kind: 'create', gates: [], cancel: [] };
  const fate = overlapFate(planState);
  return fate.kind === 'merge' && hasOwnInput
    ? { kind: 'create', gates: gatesBehind(planState), cancel: [] }
    : fate;
}

/** How a backfill is to be run. */
export interface BackfillRequest {
  /** The first and the last instant, both included. */
  fromAt: number;
  toAt: number;
  order: 'oldest' | 'newest';
  /** How many of its runs run at a time. */
  concurrency: number;
  /** Also slots that have a COMPLETED run. */
  reprocess: boolean;
  /** Beside other runs of the schedule, and they beside it. */
  allow: boolean;
}

/** What is known of the slots' runs. */
export interface SlotRuns {
  /** Slots with a COMPLETED run. */
  completed: Pick<ReadonlySet<number>, 'has'>;
  /** Slots of which it is no longer known whether they ran, and that may have; left out: none. */
  compacted?: Pick<ReadonlySet<number>, 'has'>;
  /** Slots with a run that is not finished: they are never run twice at a time. */
  unfinished: ReadonlySet<number>;
}

/** What a backfill will do. */
export interface BackfillPlan {
  plan: Plan;
  /** The slots that get a run, in the order of their runs. */
  slots: number[];
  /** Slots in the range that get none, because they have one. */
  completedCount: number;
  compactedCount: number;
  unfinishedCount: number;
}

/** More than this is created in several calls, so that each stays a short transaction. */
export const backfillCountMax = 10_000;

/**
 * Plans runs for slots of the past that have none. Decisions are not changed. The plan of a dry run is the same; the caller
 * does not write it. Throws `policy_conflict` for a fixed delay and `backfill_too_large`.
 */
export function planBackfill(input: PlanInput, request: BackfillRequest, runs: SlotRuns): BackfillPlan {
  const planState = beginOperation(input);
  const { rule, now } = planState.input;
  if (rule.kind === 'delay') return refuseForDelay('backfill');
  const slots: number[] = [];
  let completedCount = 0;
  let compactedCount = 0;
  let unfinishedCount = 0;
  const { endAt } = input.spec.policies;
  const dueThroughAt = newestDueSlot({ id: input.id, policies: input.spec.policies }, rule.all, now);
  const toAt = Math.min(request.toAt, dueThroughAt ?? request.fromAt - 1, endAt ?? Number.POSITIVE_INFINITY);
  for (let at = rule.open.next(request.fromAt - 1); at !== null && at <= toAt; at = rule.open.next(at)) {
    if (runs.unfinished.has(at)) unfinishedCount += 1;
    else if (runs.completed.has(at) && !request.reprocess) completedCount += 1;
    else if (runs.compacted?.has(at) && !request.reprocess) compactedCount += 1;
    else slots.push(at);
    if (slots.length > backfillCountMax) refuseLargeBackfill(request);
  }
  if (request.order === 'newest') slots.reverse();
  createBackfillRuns(planState, slots, request);
  return { plan: finishPlan(planState), slots, completedCount, compactedCount, unfinishedCount };
}

function createBackfillRuns(
  planState: PlanState,
  slots: number[],
  { concurrency, allow }: BackfillRequest,
): void {
  const { rule, now } = planState.input;
  if (rule.kind === 'delay') return;
  const behind = allow ? [] : gatesBehind(planState);
  const created: string[] = [];
  for (const [i, slotAt] of slots.entries()) {
    // One line for each place: a run follows the one `concurrency` before it, and a cancelled one does not let two start.
    const ahead = created[i - concurrency];
    const run = createRun(planState, {
      slotAt,
      dueAt: now,
      origin: 'backfill',
      isCatchUp: true,
      previousSlotAt: rule.open.previous(slotAt),
      nextSlotAt: rule.open.next(slotAt),
      covers: null,
      fate: { kind: 'create', gates: ahead === undefined ? behind : [ahead], cancel: [] },
      line: `backfill:${planState.input.id}:${now}:${i % concurrency}`,
      allow,
    });
    created.push(run.id);
  }
}

function refuseLargeBackfill({ fromAt, toAt }: BackfillRequest): never {
  throw dulyError('backfill_too_large', {
    message: `The range from ${new Date(fromAt).toISOString()} to ${new Date(toAt).toISOString()} holds more than ${backfillCountMax} slots to run.`,
    hint: 'Backfill it in several shorter ranges.',
    details: { maxCount: backfillCountMax },
  });
}

/**
 * What a deletion does. To the runs that are known: unstarted ones are cancelled, started ones finish. To the slots that have come, due or
 * not, and were not decided or are held: they are `missed`, for nobody will decide them later. The ledger stays.
 */
export function planDelete(input: PlanInput): {
  slots: SlotRow[];
  cancelled: string[];
  finishing: string[];
  unseenCount: number;
} {
  const { active, activeCount } = input;
  const isStarted = (status: string): boolean => status === 'RUNNING' || status === 'RETRYING';
  return {
    slots: decideAllCome(input),
    cancelled: active.filter(({ status }) => !isStarted(status)).map(({ id }) => id),
    finishing: active.filter(({ status }) => isStarted(status)).map(({ id }) => id),
    unseenCount: Math.max(0, activeCount - active.length),
  };
}

function decideAllCome(input: PlanInput): SlotRow[] {
  const { spec, state, now } = input;
  if (state.ended !== null) return [];
  // Without jitter everything is due that has come.
  const policies = { ...spec.policies, jitterMs: 0 };
  const pendingSlot = state.pendingSlot && { ...state.pendingSlot, dueAt: state.pendingSlot.slotAt };
  const planState = beginPlan({ ...input, spec: { ...spec, policies }, state: { ...state, pendingSlot } });
  const { rule } = planState.input;
  const held = [{ fromAt: Number.NEGATIVE_INFINITY, toAt: now, cause: 'deleted' as const }];
  if (rule.kind === 'calendar') decideDue(planState, { rule, asOfAt: now, held, lateCause: 'deleted' });
  else if (!awaitOutstanding(planState, rule)) decideDelay(planState, rule, { held, lateCause: 'deleted' });
  return planState.rows;
}

/** Why nothing more will fire, also before a slot was recorded as `ended`; null: something may. */
export function endOf({
  rule,
  spec,
  state,
}: Pick<PlanInput, 'rule' | 'spec' | 'state'>): ScheduleState['ended'] {
  const { maxRuns, endAt } = spec.policies;
  if (state.ended !== null) return state.ended;
  if (maxRuns !== null && state.firedCount >= maxRuns) return reasons.maxRuns;
  const nextAt = rule.kind === 'delay' ? state.nextSlotAt : rule.all.next(state.cursorAt);
  return endAt !== null && nextAt !== null && nextAt > endAt ? reasons.endAt : null;
}
