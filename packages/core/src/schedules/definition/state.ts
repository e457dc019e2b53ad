import type { JsonText } from '../../contract/engine.ts';
import type { PendingSlot } from './pending-slot.ts';
import { parseStored } from './spec.ts';

/** Slots that a run stands for besides its own. */
export interface Covers {
  fromAt: number;
  toAt: number;
  count: number;
}

/** Why a schedule makes no decisions for now. */
export interface Pause {
  /** Slots that fall due after this instant are held. */
  at: number;
  /** When it ends by itself; null: when someone resumes. */
  untilAt: number | null;
  note: string | null;
  /** Who or what paused it: a person, `pauseAfterFailures`, or a declaration that is gone. */
  cause: 'person' | 'failures' | 'disabled';
  by: string | null;
  /** Of a disabled schedule that was paused before it was disabled: since when it is disabled. */
  disabledAt?: number;
  /** Of a disabled schedule: the pause that it goes back to when it is declared again. */
  kept?: Omit<Pause, 'disabledAt' | 'kept'>;
}

/** A run that waits under `bufferOne`. */
export interface WaitingRun {
  readonly id: string;
  readonly createdAt: number;
  /** What it was told so far. */
  readonly covers: Covers | null;
}

/** The planner's side of a schedule, as kept in `ScheduleRecord.state`. Never changed in place. */
export interface ScheduleState {
  /** When this generation was created. */
  readonly bornAt: number;
  /** What a rate with `anchor: 'start'` counts from; moves only when the rule changes, and not with its `startAt`. */
  readonly anchorAt: number;
  /** The last decided slot (at first: the creation). Every slot up to it has its decision. */
  readonly cursorAt: number;
  /** A slot that an edit found between its instant and its due instant, and that is not decided yet. */
  readonly pendingSlot: PendingSlot | null;
  /** The next slot to decide; null: none, or a fixed delay waits for its run. */
  readonly nextSlotAt: number | null;
  /** Fired slots, for `maxRuns`. */
  readonly firedCount: number;
  /** The last slot that fired. */
  readonly lastFired: { readonly slotAt: number; readonly runId: string } | null;
  /** The newest run that counts for overlap, whatever it came from. */
  readonly lastRunId: string | null;
  /** Slots missed since the last one that fired. */
  readonly covers: Covers | null;
  /** Runs that were made to wait under `bufferOne`, newest last; at most ten. */
  readonly waiting: readonly WaitingRun[];
  /** Slots named by skipNext, ascending. */
  readonly skips: readonly number[];
  /** skipNext for a fixed delay whose next slot is not known yet. */
  readonly skipsComing: boolean;
  readonly pause: Pause | null;
  /** Pauses that are over and whose slots are not all decided, as (fromAt, toAt] in due instants. */
  readonly held: readonly { readonly fromAt: number; readonly toAt: number }[];
  /** A pass that the catch-up budget stopped continues as of this instant; null: none was stopped. */
  readonly asOfAt: number | null;
  /** What its late slots count as: an edit that needs several steps goes on as it began. */
  readonly asOfCause: 'late' | 'edited';
  /** Triggers that were given an input of their own and may still wait: they stand for no slot. */
  readonly ownInputs: readonly string[];
  /** Nothing more will be decided; the reason of the `ended` row, or `rule` when the rule has no more slots. */
  readonly ended: 'end at' | 'max runs' | 'rule' | null;
  /** Failed runs in a row, in the order of their slots. */
  readonly failureCount: number;
  /** Since when it is flagged. */
  readonly flaggedAt: number | null;
  /** Runs whose outcome `pauseAfterFailures` or `flagAfterFailures` still has to see, oldest first. */
  readonly watched: readonly string[];
  /** Fixed delay: the run whose end the next slot counts from. */
  readonly outstanding: string | null;
  /** Fixed delay: the instant the next slot counts from. */
  readonly countsFromAt: number | null;
}

const stateVersion = 1;

/** The state of a schedule that was just created. */
export function createState(now: number): ScheduleState {
  return {
    bornAt: now,
    anchorAt: now,
    cursorAt: now,
    pendingSlot: null,
    nextSlotAt: null,
    firedCount: 0,
    lastFired: null,
    lastRunId: null,
    covers: null,
    waiting: [],
    skips: [],
    skipsComing: false,
    pause: null,
    held: [],
    asOfAt: null,
    asOfCause: 'late',
    ownInputs: [],
    ended: null,
    failureCount: 0,
    flaggedAt: null,
    watched: [],
    outstanding: null,
    countsFromAt: null,
  };
}

const firstState: Readonly<Record<string, unknown>> = { ...createState(0) };

/** The state as stored text: only what differs from the first state, for it is written with every decision. */
export function serialiseState(state: ScheduleState): JsonText {
  const stored: Record<string, unknown> = { v: stateVersion };
  for (const name in state) {
    const value = state[name as keyof ScheduleState];
    const first = firstState[name];
    const isFirst = value === first || (Array.isArray(value) && value.length === 0 && Array.isArray(first));
    if (!isFirst) stored[name] = value;
  }
  return JSON.stringify(stored);
}

/** Reads a stored state; fields that an older shape did not have get their first value. Throws `store_corrupt`. */
export function parseState(text: JsonText): ScheduleState {
  const { v, ...stored } = parseStored(text, 'state', stateVersion);
  return { ...createState(0), ...stored };
}

/** The pause that holds at an instant: one whose end has come is over, whether or not a node has noted it. */
export function currentPause({ pause }: Pick<ScheduleState, 'pause'>, now: number): Pause | null {
  return pause?.untilAt != null && pause.untilAt <= now ? null : pause;
}
