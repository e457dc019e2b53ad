import type { Origin } from '../../contract/engine.ts';
import type { SlotDetails } from '../../contract/schedules.ts';
import type { Covers } from '../definition/state.ts';
import { fireIdOf } from './fire-id.ts';
import type { Fate } from './overlap.ts';
import { addCovers, type PlanState } from './plan-state.ts';
import type { PlannedRun } from './plan-types.ts';

/** A catch-up run comes after everything that falls due in the next day; later it has waited long enough. */
const catchUpRankMs = 86_400_000;

/** Outcomes not yet seen; more than this in flight means that nothing ends any more, and the oldest no longer matter. */
const watchedMax = 1_000;

/** One run waits at a time; more are left over only when policies change or someone cancels, and then the newest ones matter. */
const waitingMax = 10;

/** Somebody asked for each of them; of more than this at a time the oldest have their turn first. */
const ownInputsMax = 100;

/** What a run is created from. */
export interface RunToCreate {
  slotAt: number | null;
  dueAt: number;
  origin: Origin;
  isCatchUp: boolean;
  previousSlotAt: number | null;
  nextSlotAt: number | null;
  covers: Covers | null;
  fate: Extract<Fate, { kind: 'create' }>;
  line?: string | null;
  allow?: boolean;
  /** A trigger with an input that is not the schedule's. */
  hasOwnInput?: boolean;
}

/** Plans a run: a job to create, perhaps behind others or in their place. */
export function createRun(planState: PlanState, create: RunToCreate): PlannedRun {
  const { input, state } = planState;
  const { policies } = input.spec;
  const { slotAt, dueAt, fate, isCatchUp, allow = false } = create;
  const id = input.newJobId();
  const run: PlannedRun = {
    id,
    slotAt,
    dueAt,
    origin: create.origin,
    gates: fate.gates,
    line: create.line ?? (policies.overlap === 'bufferAll' && !allow ? `schedule:${input.id}` : null),
    isCatchUp,
    rankDelayMs: isCatchUp ? Math.max(0, input.now - dueAt) + catchUpRankMs : 0,
    startDeadlineMs: policies.startDeadlineMs,
    finishDeadlineAt: policies.finishDeadlineMs === null ? null : dueAt + policies.finishDeadlineMs,
    fireId: fireIdOf({ scheduleId: input.id, generation: input.generation, slotAt, runId: id }),
    allow,
    details: detailsOf(planState, create),
  };
  planState.runs.push(run);
  if (allow) return run;
  endOthers(planState, fate);
  planState.active.push({
    id,
    status: run.gates.length > 0 ? 'BLOCKED' : 'PENDING',
    origin: run.origin,
    cancelRequestedAt: null,
    isPlanned: true,
  });
  planState.activeCount += 1;
  state.lastRunId = id;
  if (create.hasOwnInput) {
    state.ownInputs = [...state.ownInputs, id].slice(-ownInputsMax);
  } else if (policies.overlap === 'bufferOne' && run.gates.length > 0 && run.origin !== 'backfill') {
    noteWaiting(planState, id, create.covers);
  }
  return run;
}

function endOthers(planState: PlanState, fate: RunToCreate['fate']): void {
  planState.cancel.push(...fate.cancel);
  const terminated = new Set(fate.cancel.filter(({ mode }) => mode === 'terminate').map(({ id }) => id));
  if (terminated.size === 0) return;
  planState.active = planState.active.filter(({ id }) => !terminated.has(id));
  planState.activeCount -= terminated.size;
}

function detailsOf({ input }: PlanState, create: RunToCreate): SlotDetails {
  return {
    date: create.slotAt === null ? input.rule.dateOf(input.now) : input.rule.slotDateOf(create.slotAt),
    timezone: input.rule.timezone,
    isCatchUp: create.isCatchUp,
    previousSlotAt: create.previousSlotAt,
    nextSlotAt: create.nextSlotAt,
    covers: create.covers,
  };
}

/** Notes that a slot fired: counts it, and remembers its run where outcomes matter. */
export function noteFired(planState: PlanState, slotAt: number, runId: string): void {
  const { state } = planState;
  const { pauseAfterFailures, flagAfterFailures } = planState.input.spec.policies;
  state.firedCount += 1;
  state.lastFired = { slotAt, runId };
  state.covers = null;
  if (pauseAfterFailures !== null || flagAfterFailures !== null) {
    state.watched = [...state.watched, runId].slice(-watchedMax);
  }
}

function noteWaiting({ state, input }: PlanState, id: string, covers: Covers | null): void {
  const createdAt = state.waiting.find((one) => one.id === id)?.createdAt ?? input.now;
  const others = state.waiting.filter((one) => one.id !== id);
  state.waiting = [...others, { id, createdAt, covers }].slice(-waitingMax);
}

/** Merges a slot into a run that waits; the run learns of it. */
export function mergeInto(planState: PlanState, runId: string, slotAt: number): void {
  const { state } = planState;
  const known = state.waiting.find(({ id }) => id === runId)?.covers ?? null;
  const covers = addCovers(known, { fromAt: slotAt, toAt: slotAt, count: 1 });
  noteWaiting(planState, runId, covers);
  const planned = planState.runs.find(({ id }) => id === runId);
  if (planned === undefined) planState.mergedInto.set(runId, covers);
  else planned.details.covers = covers;
}
