import type { ClaimedJob, Progress, Settlement } from '../contract/engine.ts';

/** What a worker tells, as it happens. Events go out after the store has answered, never before. */
export interface WorkerEvents {
  /** A handler is about to be entered. */
  started: { job: ClaimedJob };
  /** The store recorded an attempt's outcome; `status` is the job's new one. */
  settled: { job: ClaimedJob; status: Settlement['to']; settlement: Settlement };
  /** An attempt failed (whether or not it is tried again); sent with `settled`, after it. */
  failed: { job: ClaimedJob; status: Settlement['to']; settlement: Settlement };
  /** An attempt no longer counts: its outcome, if it had one, was dropped. */
  lost: { job: ClaimedJob; settlement: Settlement | null };
  /** Handlers of this many claimed jobs were not entered: this process stood still, and their leases ended or were released. */
  skipped: { late: number; released: number };
  /** A handler showed progress. */
  progress: { job: ClaimedJob; progress: Progress };
  /** A pass found nothing to do, and nothing runs. */
  idle: { nextDueAt: number | null };
  /** Something failed that no job is to blame for; the worker goes on. */
  error: { error: unknown; doing: string };
  /** One exchange was answered. */
  passes: { claimed: number; settled: number };
}
