import type { ActiveRun, ClaimedSchedule, Origin, SlotRow } from '../../contract/engine.ts';
import type { SlotDetails } from '../../contract/schedules.ts';
import type { PlanRule } from '../definition/planned-rule.ts';
import type { ScheduleSpec } from '../definition/spec.ts';
import type { Covers, ScheduleState } from '../definition/state.ts';

/** What a pass of the planner is told. Everything it decides depends on this and on nothing else. */
export interface PlanInput {
  /** Id and generation of the schedule. */
  id: string;
  generation: number;
  spec: ScheduleSpec;
  rule: PlanRule;
  state: ScheduleState;
  /** The store's instant at the claim. */
  now: number;
  /** Who decides, for the ledger. */
  node: string;
  /** Unfinished runs that count for overlap (all but triggers and backfills with `allow`), oldest first; perhaps not all. */
  active: readonly ActiveRun[];
  /** How many there are. */
  activeCount: number;
  /** The end of the job that the schedule waited for. */
  waited: ClaimedSchedule['waited'];
  limits: {
    /** Lease of a schedule that is being decided: the grace is never shorter than this and two seconds. */
    leaseMs: number;
    /** How many catch-up runs may be created now, across the node's schedules. */
    catchUpBudget: number;
  };
  /** Creates the id of a run's job. */
  newJobId: () => string;
}

/** A run to create. The firing layer adds the schedule's job (`spec.job`) and hands it to the engine. */
export interface PlannedRun {
  /** Id of its job. */
  id: string;
  /** The nominal slot; null for a trigger. */
  slotAt: number | null;
  /** Lateness and deadlines count from here. In the past for what is caught up on. */
  dueAt: number;
  origin: Origin;
  /** Jobs that must be over before it starts: gates of kind `overlap`. */
  gates: string[];
  /**
   * Runs of one line start one at a time, in due order: to be the job's serial key where it has none of its own. It keeps the
   * line whole when someone cancels a run in the middle of it, which opens the gate of the next one early.
   */
  line: string | null;
  /** Created after its time: it ranks behind live ones. */
  isCatchUp: boolean;
  /** Added to the rank's offset: 0, or so much that the run comes after everything that falls due in the next day. */
  rankDelayMs: number;
  /** How long after `dueAt` it may start; null: any time. */
  startDeadlineMs: number | null;
  /** When a person is told that it is not done; null: never. */
  finishDeadlineAt: number | null;
  fireId: string;
  /** Told to run beside others: it does not count for overlap, and `active` must leave it out. */
  allow: boolean;
  details: SlotDetails;
}

/** Something that listeners, logs and alerts want to know. */
export type PlanEvent =
  | { kind: 'paused'; failureCount: number }
  | { kind: 'flagged'; failureCount: number }
  | { kind: 'recovered' }
  | { kind: 'resumed' }
  | { kind: 'ended'; reason: string };

/** What a pass decided; written in one `fire`. */
export interface Plan {
  state: ScheduleState;
  /** When to look again; null: not by time. */
  dueAt: number | null;
  /** A job whose end is waited for. */
  waitsFor: string | null;
  /** Ledger rows in slot order. */
  slots: SlotRow[];
  runs: PlannedRun[];
  /** Runs to end before the new ones are created. */
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  /** Waiting runs into which something was merged, and the slots they learn of; null: none, a trigger. The plan holds only while they wait. */
  mergedInto: { id: string; covers: Covers | null }[];
  /** Due slots are left: because the catch-up budget is spent, or because a run created here must first be seen by the store. */
  more: boolean;
  events: PlanEvent[];
}
