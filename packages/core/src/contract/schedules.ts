/** The contract for schedules and their ledger. */
import type { JobStatus } from './job-status.ts';
import type { ClaimedJob, ClaimRequest, JobSpec } from './jobs.ts';
import type { Actor, GroupReply, JsonText, Origin, Reply, Stamp } from './shared.ts';

/** A schedule as stored. `spec` and `state` are the planner's and opaque here. */
export interface ScheduleRecord {
  id: string;
  /** The app that declared it; null: dynamic. */
  app: string | null;
  tenant: string | null;
  name: string;
  /** Grows when a deleted schedule is created again under the same name. */
  generation: number;
  /** Grows with every write; compare-and-set. */
  version: number;
  /** Rule, policies, task, input, release, note: the user's side. */
  spec: JsonText;
  /** Cursor, counters, held slots, skipped instants: the planner's side. */
  state: JsonText;
  /** When it must be decided next; null: never (ended, paused, disabled, or it waits for a job). */
  dueAt: number | null;
  /** A job whose end makes it due at once (fixed delay, buffered overlap); null: none. */
  waitsFor: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A change to one schedule. `expectVersion` null: must not exist. */
export type ScheduleChange =
  | {
      op: 'put';
      id: string;
      app: string | null;
      tenant: string | null;
      name: string;
      expectVersion: number | null;
      /**
       * Versions begin again when a schedule is deleted and created again, so a change that was planned on an earlier generation is
       * refused by its generation. Left out: any.
       */
      expectGeneration?: number;
      spec: JsonText;
      state: JsonText;
      dueAt: number | null;
      waitsFor: string | null;
      /** What happened, for the audit row: `create`, `edit`, `pause`, `resume`, `skip-next`, `disable`. */
      action: string;
      /** Ledger rows decided by this very change (a resume that decides the held slots). */
      slots: SlotRow[];
      jobs: JobSpec[];
      /** Other runs that an overlap policy ends, before the jobs are created. Left out: none. */
      cancel?: FireGroup['cancel'];
      /** As in `fire`; one that no longer waits refuses the group (`records_conflict`). */
      slotDetails?: FireGroup['slotDetails'];
      /** For the audit row. Left out: none. */
      note?: string | null;
    }
  | {
      op: 'delete';
      id: string;
      expectVersion: number;
      /** As for `put`. */
      expectGeneration?: number;
      /** Cancels its unstarted jobs; running ones finish; the ledger stays. */
      action: string;
      /** Ledger rows of what had come and was not decided. Left out: none. */
      slots?: SlotRow[];
      /** For the audit row. Left out: none. */
      note?: string | null;
    };

/** Creates, edits and deletes schedules. */
export interface ApplySchedulesInput extends Stamp {
  groups: { actor: Actor; changes: ScheduleChange[] }[];
}

/** What became of one change; `conflict`: the version was not the expected one, and the whole group was refused. */
export interface AppliedSchedule {
  id: string;
  version: number;
  generation: number;
}

/** The answer to `applySchedules`. */
export interface ApplySchedulesReply extends Reply {
  groups: GroupReply<AppliedSchedule>[];
}

/** Asks for due schedules, under a short lease. */
export interface ClaimSchedulesInput extends Stamp {
  node: string;
  token: string;
  limit: number;
  leaseMs: number;
  /** These only, due or not (trigger, edit, resume); null: due ones. */
  ids: string[] | null;
}

/** An unfinished job of a schedule, for the overlap rule. */
export interface ActiveRun {
  id: string;
  status: JobStatus;
  slotAt: number | null;
  origin: Origin;
  dueAt: number;
  cancelRequestedAt: number | null;
}

/** A schedule under lease. */
export interface ClaimedSchedule extends ScheduleRecord {
  fence: number;
  /** Unfinished jobs, oldest first, at most 10; `activeCount` counts all. */
  active: ActiveRun[];
  activeCount: number;
  /** The end of the job it waited for, once terminal. */
  waited: { id: string; status: JobStatus; finishedAt: number } | null;
}

/** The answer to `claimSchedules`. */
export interface ClaimSchedulesReply extends Reply {
  schedules: ClaimedSchedule[];
  /** The next instant at which a schedule falls due, or the lease of one that another claim has ends; null: none. */
  nextDueAt: number | null;
  more: boolean;
}

/** A ledger row: a maximal run of consecutive slots with one decision and one reason. */
export interface SlotRow {
  fromAt: number;
  toAt: number;
  /** How many slots from `fromAt` to `toAt` have this decision; null: they were not counted. */
  count: number | null;
  decision: string;
  reason: string | null;
  node: string;
  jobId: string | null;
}

/** One schedule's decisions. */
export interface FireGroup {
  scheduleId: string;
  /** Both must still hold, else `conflict` and nothing of the group is written. */
  version: number;
  fence: number;
  state: JsonText;
  dueAt: number | null;
  waitsFor: string | null;
  slots: SlotRow[];
  jobs: JobSpec[];
  /** Other runs that an overlap policy ends. */
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  /**
   * New slot details of runs that wait (SCHEDULED, PENDING, BLOCKED). If one of them no longer does, the decision was made for a run that
   * will not hear of it: nothing of the group is written (`stale`). Left out: none.
   */
  slotDetails?: { id: string; details: JsonText }[];
}

/** Writes slots, inserts jobs and moves the cursor, all or nothing per schedule. */
export interface FireInput extends Stamp {
  node: string;
  groups: FireGroup[];
  /** Takes work in the same transaction, as with `enqueue`: a slot's job starts after one commit. */
  claim?: ClaimRequest;
}

/**
 * The answer to `fire`, per group. A repeat of a fire that took effect answers `conflict`: read the ledger. `stale`: a run of `slotDetails` has
 * started or is over; nothing was written, and the schedule is free to be claimed and planned anew at once.
 */
export interface FireReply extends Reply {
  groups: ('fired' | 'conflict' | 'stale')[];
  /** What `claim` was given; [] without one. */
  claimed: ClaimedJob[];
}

/** Reads schedules. */
export interface SchedulesInput extends Stamp {
  /** Left out: by name. `due`: the earliest due first, without those that are due at no time; these are one page, and there is no cursor. */
  order?: 'name' | 'due';
  filter: { ids?: string[]; app?: string | null; tenant?: string | null; name?: string };
  /** Name and id of the last one before those that are wanted, as a JSON array; null: from the first. */
  cursor: string | null;
  limit: number;
}

/** The answer to `schedules`. */
export interface SchedulesReply extends Reply {
  schedules: ScheduleRecord[];
  nextCursor: string | null;
}

/** Reads the ledger of one schedule, newest first. */
export interface SlotsInput extends Stamp {
  scheduleId: string;
  fromAt: number;
  beforeAt: number;
  limit: number;
}

/** Old ledger rows of one schedule and one span (a month), compacted into one. */
export interface CompactedSlots {
  generation: number;
  /** The beginning of the span, as `prune` was given it. */
  startAt: number;
  /** The first and the last slot. A run of slots that reaches over the end of its span is in the one in which it began. */
  fromAt: number;
  toAt: number;
  /** How many slots had which decision; `exact` is false where slots were not counted when they were decided. */
  counts: { decision: string; count: number; exact: boolean }[];
}

/** The answer to `slots`. */
export interface SlotsReply extends Reply {
  /** `decidedAt` and `node` are those of a row's first slot; `lastDecidedAt`: when its last one was decided, left out where it is the same. */
  slots: (SlotRow & { generation: number; decidedAt: number; lastDecidedAt?: number })[];
  /** The compacted rows of the range, newest first, at most `limit`. */
  compacted: CompactedSlots[];
}

/** What a handler is given of its slot, stored in `JobSlot.details`. */
export interface SlotDetails {
  /** Date of the slot in the schedule's zone. */
  date: string;
  timezone: string;
  isCatchUp: boolean;
  previousSlotAt: number | null;
  nextSlotAt: number | null;
  covers: { fromAt: number; toAt: number; count: number } | null;
}
