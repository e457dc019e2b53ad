/** What the calls of `duly.schedules` take and give. */

import type { OptionNames } from '../base/option-reader.ts';
import type { JobHandle } from '../jobs/job-handle.ts';
import type { DeclaredTask } from '../jobs/task-definition.ts';
import type { ScheduleDefinition } from './definition/definition.ts';
import type { Schedule, ScheduleStatus } from './schedule-view.ts';

/**
 * Names a schedule: by its name where only one has it, by its id, or by all that names it. `app: null` means one that is not declared;
 * left out, any.
 */
export type ScheduleReference =
  | string
  | { id: string }
  | { name: string; tenant?: string | null; app?: string | null };

/** Which schedules. */
export interface SchedulesFilter {
  /** Declared by this app; null: dynamic ones. */
  app?: string | null;
  tenant?: string | null;
  name?: string;
  type?: string;
  status?: Exclude<ScheduleStatus, 'deleted'>;
  /** A part of the name, the type, the tenant or the rule in words, in capitals or not. */
  search?: string;
  /** `due`: what is due next first, without what is due at no time; one page, and not with `type`, `status`, `search` or `cursor`. Default `name`. */
  order?: 'name' | 'due';
  /** 1 to 1000, default 100. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** A page of schedules. */
export interface SchedulePage {
  schedules: Schedule[];
  /** null: that was the last page. */
  nextCursor: string | null;
}

/** How to pause a schedule. */
export interface SchedulePauseOptions {
  note?: string;
  /** When it ends by itself: an instant, or so long from the store's now (`'2h'`). Left out, it is ended by `resume`. */
  until?: Date | number | string;
}

/** How to trigger a schedule. */
export interface TriggerOptions {
  /** Run beside an unfinished run instead of obeying `overlap`. */
  allow?: boolean;
  /** In place of the schedule's own. */
  input?: unknown;
  note?: string;
}

/** What became of a trigger. */
export interface TriggerResult {
  /** `created`: a job was created, perhaps behind another one. `merged`: into one that waits. `skipped`: by the overlap policy. */
  result: 'created' | 'merged' | 'skipped';
  /** The job that was created, or the one that stands for it; null when skipped. */
  job: JobHandle | null;
  reason: string | null;
}

/** How to backfill a schedule. */
export interface BackfillOptions {
  /** The first instant; a date or wall time means the schedule's zone. */
  from: Date | number | string;
  /** The last instant, included; default now. */
  to?: Date | number | string;
  /** Default `oldest` first. */
  order?: 'oldest' | 'newest';
  /** How many of its runs run at a time, default 1. */
  concurrency?: number;
  /** Also slots that have a COMPLETED run. */
  reprocess?: boolean;
  /** Run beside other runs of the schedule instead of behind them. */
  allow?: boolean;
  /** Only say what would be done. */
  dryRun?: boolean;
  note?: string;
}

/** What a backfill created, or would create. */
export interface BackfillResult {
  /** The slots that get a run, in the order of their runs. */
  slots: Date[];
  /** Ids of the jobs, one for each slot; empty after a dry run. */
  jobs: string[];
  /** Slots of the range that have a COMPLETED run already. */
  completedCount: number;
  /** Slots of the range in months that the ledger keeps only by counts, and in which some fired: which of them is no longer known. */
  compactedCount: number;
  /** Slots of the range whose run is not over yet. */
  unfinishedCount: number;
  dryRun: boolean;
}

/** Which part of the ledger. */
export interface SlotsOptions {
  /** The first slot; a date or wall time means the schedule's zone. */
  from?: Date | number | string;
  /** Slots before this instant. */
  to?: Date | number | string;
  /** 1 to 1000, default 100. */
  limit?: number;
}

/** One schedule in a comparison of what is declared with what is stored. */
export interface ScheduleDiff {
  id: string;
  name: string;
  tenant: string | null;
  /**
   * `keep`: left to the release that declared it, a newer one, or any where this process has none. `disable`: no longer declared.
   * `drift`: not declared here, and only shown. `remove`: no longer declared, with `prune`.
   */
  action: 'add' | 'edit' | 'enable' | 'none' | 'keep' | 'disable' | 'drift' | 'remove';
  /** Fields that differ, as stored and as declared. */
  fields: { field: string; stored: unknown; declared: unknown }[];
  note: string | null;
}

/** How to apply declarations. */
export interface ApplyOptions {
  /** Remove what is not declared, instead of disabling or only showing it; never what a higher release declared. */
  prune?: boolean;
  /** The app whose declarations these are; left out: the Duly's own. Needs the declarations themselves. */
  app?: string;
  /** The release of that app. Left out with another `app`: none, so that nothing is disabled. */
  release?: string;
  /** What the code of that app says of its tasks, where it is not here. Needs the declarations themselves. */
  tasks?: readonly DeclaredTask[];
}

/** What one process declares, whole: what another needs to apply it. */
export interface DeclaredSet {
  app: string;
  release: string | null;
  schedules: ScheduleDefinition[];
  /** The tasks of these schedules. */
  tasks: DeclaredTask[];
}

/** The options of the filter of schedules. */
export const filterNames: OptionNames<SchedulesFilter> = {
  app: true,
  tenant: true,
  name: true,
  type: true,
  status: true,
  search: true,
  order: true,
  limit: true,
  cursor: true,
};
/** The options of `pause`. */
export const pauseNames: OptionNames<SchedulePauseOptions> = { note: true, until: true };
/** The options of `trigger`. */
export const triggerNames: OptionNames<TriggerOptions> = { allow: true, input: true, note: true };
/** The options of `backfill`. */
export const backfillNames: OptionNames<BackfillOptions> = {
  from: true,
  to: true,
  order: true,
  concurrency: true,
  reprocess: true,
  allow: true,
  dryRun: true,
  note: true,
};
/** The options of `slots`. */
export const slotsNames: OptionNames<SlotsOptions> = { from: true, to: true, limit: true };
/** The options of `preview`. */
export const previewNames = { after: true, count: true } as const;
/** The options of `get`. */
export const getNames = { deleted: true } as const;
/** The options of what takes only a note. */
export const noteNames = { note: true } as const;
/** The options of `diff` and `apply`. */
export const applyNames: OptionNames<ApplyOptions> = { prune: true, app: true, release: true, tasks: true };
/** The statuses that schedules are listed by. */
export const statuses: readonly NonNullable<SchedulesFilter['status']>[] = [
  'active',
  'paused',
  'disabled',
  'ended',
];
