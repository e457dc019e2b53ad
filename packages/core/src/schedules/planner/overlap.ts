import { type Reason, reasons } from './decision.ts';
import type { PlanState } from './plan-state.ts';

/** What the overlap rule says about a slot that would fire. */
export type Fate =
  | { kind: 'create'; gates: string[]; cancel: PlanState['cancel'] }
  | { kind: 'skip'; reason: Reason }
  | { kind: 'merge'; into: string }
  | { kind: 'look' };

const free: Fate = { kind: 'create', gates: [], cancel: [] };

/** Applies `overlap` to the next run, given the unfinished ones. Changes nothing. */
export function overlapFate(planState: PlanState): Fate {
  if (planState.activeCount === 0) return free;
  const { overlap, bufferLimit } = planState.input.spec.policies;
  switch (overlap) {
    case 'allow':
      return free;
    case 'skip':
      return { kind: 'skip', reason: reasons.overlap };
    case 'bufferOne': {
      const waiting = waitingRun(planState);
      return waiting === null ? behindOthers(planState) : { kind: 'merge', into: waiting };
    }
    case 'bufferAll':
      // One of the unfinished runs has its turn; the others wait.
      return planState.activeCount - 1 >= bufferLimit
        ? { kind: 'skip', reason: reasons.bufferFull }
        : behindOthers(planState);
    case 'cancelOther':
    case 'terminateOther':
      // A run made in this pass can only be cancelled once it is in the store: the next pass does.
      if (planState.active.some(({ isPlanned }) => isPlanned)) return { kind: 'look' };
      return overlap === 'cancelOther' ? afterAsked(planState) : inPlaceOfOthers(planState);
  }
}

/**
 * The newest run that has not started and stands behind another one, or null. Not a run of a backfill: that one is for a slot
 * long past, and what it does would not be what the slot of today asks for. Nor a trigger that was given another input.
 */
function waitingRun(planState: PlanState): string | null {
  const { ownInputs } = planState.state;
  const run = planState.active.findLast(
    ({ id, status, origin }, i) =>
      i > 0 &&
      origin !== 'backfill' &&
      (status === 'BLOCKED' || status === 'PENDING') &&
      !ownInputs.includes(id),
  );
  return run?.id ?? unseenWaitingRun(planState);
}

/**
 * The store tells of the ten oldest runs. One that was made to wait and is not among them stands behind them, if all of them are
 * older; a newer one among them means that it is over.
 */
function unseenWaitingRun({ active, activeCount, state, input }: PlanState): string | null {
  const newest = state.waiting.at(-1);
  if (newest === undefined || activeCount <= active.length) return null;
  const isBehind = input.active.every(({ id, dueAt }) => id !== newest.id && dueAt <= newest.createdAt);
  return isBehind ? newest.id : null;
}

function behindOthers(planState: PlanState): Fate {
  return { kind: 'create', gates: gatesBehind(planState), cancel: [] };
}

/**
 * The runs that a new one waits for: those the store has told of (ten at most), and the newest one created here. Behind all of
 * them and not only the newest: should that one be cancelled while it waits, the others still shut the gate.
 */
export function gatesBehind(planState: PlanState): string[] {
  const gates = planState.active.filter(({ isPlanned }) => !isPlanned).map(({ id }) => id);
  const newest = planState.active.findLast(({ isPlanned }) => isPlanned)?.id ?? newestUnseen(planState);
  if (newest !== null && !gates.includes(newest)) gates.push(newest);
  return gates;
}

/** The newest run, where the store told of only the oldest ones. */
function newestUnseen(planState: PlanState): string | null {
  return planState.activeCount > planState.active.length ? planState.state.lastRunId : null;
}

/**
 * The runs that `cancelOther` and `terminateOther` mean: not those of a backfill. Somebody asked for each of them, for slots that the slot of
 * today does not stand for, so it neither ends them nor waits for them.
 */
function othersToEnd(planState: PlanState): PlanState['active'] {
  return planState.active.filter(({ origin }) => origin !== 'backfill');
}

function afterAsked(planState: PlanState): Fate {
  const others = othersToEnd(planState);
  const cancel = others
    .filter(({ cancelRequestedAt }) => cancelRequestedAt === null)
    .map(({ id }) => ({ id, mode: 'ask' as const }));
  const left = new Set(planState.active.filter((run) => !others.includes(run)).map(({ id }) => id));
  return { kind: 'create', gates: gatesBehind(planState).filter((id) => !left.has(id)), cancel };
}

function inPlaceOfOthers(planState: PlanState): Fate {
  const cancel = othersToEnd(planState).map(({ id }) => ({ id, mode: 'terminate' as const }));
  return { kind: 'create', gates: [], cancel };
}
