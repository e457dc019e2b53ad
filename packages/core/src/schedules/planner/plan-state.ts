import type { ActiveRun, SlotRow } from '../../contract/engine.ts';
import { withPendingSlot } from '../definition/pending-slot.ts';
import { type CalendarRule, countCovered } from '../definition/planned-rule.ts';
import type { Covers, ScheduleState } from '../definition/state.ts';
import type { Decision, Reason } from './decision.ts';
import type { Plan, PlanEvent, PlanInput, PlannedRun } from './plan-types.ts';

/** An unfinished run as the overlap rule sees it. */
export interface SeenRun extends Pick<ActiveRun, 'id' | 'status' | 'origin' | 'cancelRequestedAt'> {
  /** Created in this pass, so the store does not know it yet. */
  isPlanned: boolean;
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** A pass of the planner in progress: its input, and what it has decided so far. */
export interface PlanState {
  readonly input: PlanInput;
  readonly state: Mutable<ScheduleState>;
  readonly rows: SlotRow[];
  readonly runs: PlannedRun[];
  readonly cancel: Plan['cancel'];
  readonly mergedInto: Map<string, Covers | null>;
  readonly events: PlanEvent[];
  active: SeenRun[];
  activeCount: number;
  catchUpBudget: number;
  /** `budget`: no more catch-up runs for now. `look`: the next decision must see a run of this pass in the store. */
  stopped: 'budget' | 'look' | null;
}

/** Creates the state of a new pass. */
export function beginPlan(input: PlanInput): PlanState {
  return {
    input:
      input.state.pendingSlot === null
        ? input
        : { ...input, rule: withPendingSlot(input.rule, input.state.pendingSlot) },
    state: { ...input.state, waiting: stillWaiting(input), ownInputs: stillApart(input) },
    rows: [],
    runs: [],
    cancel: [],
    mergedInto: new Map(),
    events: [],
    active: input.active.map(({ id, status, origin, cancelRequestedAt }) => ({
      id,
      status,
      origin,
      cancelRequestedAt,
      isPlanned: false,
    })),
    activeCount: input.activeCount,
    catchUpBudget: input.limits.catchUpBudget,
    stopped: null,
  };
}

/** The runs that may still wait: of those the store has not told of, nothing is known unless it told of all. */
function stillWaiting({ state, active, activeCount }: PlanInput): ScheduleState['waiting'] {
  if (state.waiting.length === 0) return state.waiting;
  const unstarted = new Map(
    active.map(({ id, status }) => [id, status === 'BLOCKED' || status === 'PENDING']),
  );
  const unseen = activeCount > active.length;
  return state.waiting.filter(({ id }) => unstarted.get(id) ?? unseen);
}

/** The triggers with an input of their own that may not be over yet. */
function stillApart({ state, active, activeCount }: PlanInput): ScheduleState['ownInputs'] {
  if (state.ownInputs.length === 0 || activeCount > active.length) return state.ownInputs;
  return state.ownInputs.filter((own) => active.some(({ id }) => id === own));
}

/** Forgets the pending slot once it is decided. The next slot is the rule's first after the edit. */
export function settlePendingSlot({ state }: PlanState): void {
  const { pendingSlot } = state;
  if (pendingSlot === null || state.cursorAt < pendingSlot.slotAt) return;
  state.cursorAt = Math.max(state.cursorAt, pendingSlot.editedAt);
  state.pendingSlot = null;
}

/** A run of equal decisions. */
export interface Stretch {
  fromAt: number;
  toAt: number;
  count: number | null;
  decision: Decision;
  reason: Reason | null;
  runId?: string;
}

/** Records a decision and moves the cursor. Neighbours with the same decision and reason become one row; a fired slot stays alone. */
export function record(planState: PlanState, stretch: Stretch): void {
  const { fromAt, toAt, count, decision, reason, runId = null } = stretch;
  const last = planState.rows.at(-1);
  if (
    last !== undefined &&
    last.jobId === null &&
    runId === null &&
    last.decision === decision &&
    last.reason === reason
  ) {
    last.toAt = toAt;
    last.count = last.count === null || count === null ? null : last.count + count;
  } else {
    planState.rows.push({ fromAt, toAt, count, decision, reason, node: planState.input.node, jobId: runId });
  }
  planState.state.cursorAt = toAt;
}

/** Records a decision about one slot. */
export function recordSlot(
  planState: PlanState,
  slotAt: number,
  decision: Decision,
  reason: Reason | null,
  runId?: string,
): void {
  record(planState, { fromAt: slotAt, toAt: slotAt, count: 1, decision, reason, runId });
}

/** Joins slots to those that a run stands for. */
export function addCovers(covers: Covers | null, more: Covers): Covers {
  if (covers === null) return more;
  return {
    fromAt: Math.min(covers.fromAt, more.fromAt),
    toAt: Math.max(covers.toAt, more.toAt),
    count: covers.count + more.count,
  };
}

/** Notes missed slots for the next run that fires. */
export function coverMissed(planState: PlanState, rule: CalendarRule, fromAt: number, toAt: number): void {
  const firstAt = rule.open.next(fromAt - 1);
  const lastAt = rule.open.previous(toAt + 1);
  if (firstAt === null || lastAt === null || firstAt > toAt || lastAt < fromAt) return;
  const count = countCovered(rule, firstAt, lastAt);
  planState.state.covers = addCovers(planState.state.covers, { fromAt: firstAt, toAt: lastAt, count });
}
