/** The contract for looking: jobs, counts, figures, the feed, the audit. */
import type { JobStatus } from './job-status.ts';
import type { JobFilter, JobRecord, LogLine } from './jobs.ts';
import type { Actor, JsonText, Reply, Stamp } from './shared.ts';

/** Reads jobs by id, wherever they are. */
export interface GetInput extends Stamp {
  ids: string[];
}

/** The answer to `get`, per id; null: not there. */
export interface GetReply extends Reply {
  jobs: (JobRecord | null)[];
  /** The newest instant at which a job was created that has been pruned since: an id created later was never here; null: none was pruned. */
  prunedCreatedAt: number | null;
}

/** Finds the holder of a dedupe key. */
export interface HolderInput extends Stamp {
  type: string;
  tenant: string | null;
  key: string;
}

/** Reads jobs by filter, by creation, newest first. */
export interface ListInput extends Stamp {
  filter: JobFilter;
  cursor: string | null;
  limit: number;
  /** Returns `states` instead of `jobs`: enough to count jobs and to act on them. */
  statesOnly?: boolean;
}

/** What an action needs to know of a job. */
export type JobState = Pick<JobRecord, 'id' | 'status' | 'fence' | 'updatedAt' | 'dead'>;

/** The answer to `list`. */
export interface ListReply extends Reply {
  /** May be fewer than asked for, even none, while there are more. None with `statesOnly`. */
  jobs: JobRecord[];
  /** With `statesOnly`, the same page by states. */
  states?: JobState[];
  /** null, and nothing else, says that this was the last page. */
  nextCursor: string | null;
}

/** Reads log lines of one job, oldest first. */
export interface LogsInput extends Stamp {
  id: string;
  /** Lines after this number. */
  after: number;
  limit: number;
}

/** The answer to `logs`. */
export interface LogsReply extends Reply {
  /** `n` numbers all lines of the job, over its attempts. */
  lines: (Omit<LogLine, 'line'> & { n: number; attempt: number })[];
}

/** Counts jobs; each count stops at `cap` and then says so. */
export interface CountsInput extends Stamp {
  cap: number;
}

/** A count that was stopped at its cap says `capped`. */
export interface Count {
  count: number;
  capped: boolean;
}

/** The answer to `counts`. */
export interface CountsReply extends Reply {
  status: Record<JobStatus, Count>;
  /** Ready and running jobs by queue and type: what a worker could take, and since when the oldest waits. */
  lanes: { queue: string; type: string; version: number; ready: Count; oldestDueAt: number | null }[];
  /** Jobs under lease by node and type: who is busy with what, at this instant. */
  running: { node: string; type: string; count: number }[];
}

/** Looks at the jobs that wait for their time, SCHEDULED or RETRYING, and fall due within this time: after now, and before `withinMs` are over. */
export interface UpcomingInput extends Stamp {
  withinMs: number;
  /** They are counted in steps of this length, the first of which begins now. */
  stepMs: number;
  /** So many are counted of each type; which, when there are more, is the store's choice. */
  cap: number;
  /** So many of the earliest are told by themselves. */
  limit: number;
  /** null: only those of no tenant. Left out: of all. */
  tenant?: string | null;
}

/** The answer to `upcoming`. */
export interface UpcomingReply extends Reply {
  /** The steps in which some fall due, the earliest first. */
  steps: { fromAt: number; count: number }[];
  /** Whether there are more than were counted. */
  capped: boolean;
  /** The earliest due first, of one instant by id. */
  jobs: JobRecord[];
}

/** Sums up finished jobs, by type and by schedule. */
export interface StatsInput extends Stamp {
  sinceAt: number;
  /** Of these types; null: of all of which a job ended. */
  types: string[] | null;
  /** Of the runs of these schedules, each by itself; left out: of none. */
  scheduleIds?: string[];
}

/** How some jobs ended. A percentile is the nearest rank: a value that was observed; null: there was none. */
export interface Outcomes {
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
  /** The last attempt of completed runs. */
  durationMsP50: number | null;
  durationMsP95: number | null;
  /** From due to start. */
  waitMsP50: number | null;
  waitMsP95: number | null;
  /** When the last of them completed; null: none did. */
  lastCompletedAt: number | null;
}

/** The answer to `stats`. */
export interface StatsReply extends Reply {
  /** Of the newest 100,000 that ended. */
  /** The one of which a job ended last is first; of those that ended in the same instant, by name. */
  types: (Outcomes & { type: string })[];
  /** Of the newest 200 of each, in the order asked. */
  schedules: (Outcomes & { scheduleId: string })[];
}

/** Sums up finished jobs in equal steps of time. */
export interface TrendInput extends Stamp {
  /** Where the first step begins. */
  fromAt: number;
  stepMs: number;
  stepCount: number;
  /** Only of this type; null: of all. */
  type: string | null;
  /** Only runs of this schedule; null: all jobs. */
  scheduleId: string | null;
  /** Of a step in which more jobs ended about so many are looked at, spread over it: what a step costs does not grow with what ended in it. */
  sampleCount: number;
}

/** What ended from `fromAt` until the next step begins. */
export interface TrendStep extends Omit<Outcomes, 'lastCompletedAt'> {
  fromAt: number;
  /**
   * Only a part was looked at. Percentiles are those of that part; how many ended is still counted, and how many did not complete too, except
   * where a type or a schedule is asked for: then what an index does not tell is estimated.
   */
  sampled: boolean;
  waitMsP99: number | null;
  /** From due to start, of the runs that schedules created at their slots. */
  latenessMsP50: number | null;
  latenessMsP95: number | null;
  latenessMsP99: number | null;
}

/** The answer to `trend`, oldest step first. */
export interface TrendReply extends Reply {
  steps: TrendStep[];
}

/** One change of one job. */
export interface Change {
  /** Grows; the place to go on from. */
  position: number;
  at: number;
  id: string;
  type: string;
  status: JobStatus;
  /** What happened: a job event, `progress`, `log` (lines were added), or an action. */
  event: string;
  percent: number | null;
}

/** Reads the feed of changes after a position, in order, without gaps. */
export interface ChangesInput extends Stamp {
  /** null: from now on. */
  after: number | null;
  limit: number;
}

/** The answer to `changes`. */
export interface ChangesReply extends Reply {
  changes: Change[];
  position: number;
  /** The position is older than what is kept: read the jobs themselves again. */
  gap: boolean;
}

/** One action on a job, schedule, record or value. */
export interface AuditRow {
  position: number;
  at: number;
  actor: Actor;
  action: string;
  /** `job:<id>`, `schedule:<id>`, `record:<kind>/<key>`, `value:<name>/<key>`. */
  subject: string;
  before: JsonText | null;
  after: JsonText | null;
  note: string | null;
}

/** Reads the audit, newest first. */
export interface AuditInput extends Stamp {
  subject: string | null;
  /** Rows before this position; null: from the newest. */
  before: number | null;
  limit: number;
}

/** The answer to `audit`. */
export interface AuditReply extends Reply {
  rows: AuditRow[];
}
