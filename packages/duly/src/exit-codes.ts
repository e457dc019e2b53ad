import type { ErrorCode, TerminalStatus } from '@duly/core';

/** What the command's exit code says. Documented in docs/reference/exit-codes.md; never changed, only added to. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  store: 5,
  jobFailed: 10,
  jobCancelled: 11,
  jobExpired: 12,
} as const;

/** The exit code of a command that waited for a job. */
export const outcomeExitCodes: Record<TerminalStatus, number> = {
  COMPLETED: exitCodes.ok,
  FAILED: exitCodes.jobFailed,
  CANCELLED: exitCodes.jobCancelled,
  EXPIRED: exitCodes.jobExpired,
};

const byCode: Partial<Record<ErrorCode, number>> = {
  usage: exitCodes.usage,
  invalid_duration: exitCodes.usage,
  invalid_instant: exitCodes.usage,
  invalid_option: exitCodes.usage,
  invalid_input: exitCodes.usage,
  input_not_json: exitCodes.usage,
  input_too_large: exitCodes.usage,
  metadata_invalid: exitCodes.usage,
  invalid_task: exitCodes.usage,
  duplicate_task: exitCodes.usage,
  invalid_filter: exitCodes.usage,
  invalid_cursor: exitCodes.usage,
  config_invalid: exitCodes.usage,
  config_not_found: exitCodes.usage,
  unknown_store: exitCodes.usage,
  job_not_found: exitCodes.notFound,
  job_expired_from_history: exitCodes.notFound,
  job_not_changeable: exitCodes.refused,
  invalid_transition: exitCodes.refused,
  dedupe_conflict: exitCodes.refused,
  engine_not_yet: exitCodes.store,
  store_not_found: exitCodes.store,
  store_not_a_database: exitCodes.store,
  store_read_only: exitCodes.store,
  store_full: exitCodes.store,
  store_busy: exitCodes.store,
  store_locked_by_user_transaction: exitCodes.store,
  store_unavailable: exitCodes.store,
  store_closed: exitCodes.store,
  store_corrupt: exitCodes.store,
  schema_too_new: exitCodes.store,
  sqlite_second_process: exitCodes.store,
  sqlite_unsupported: exitCodes.store,
};

/** The exit code for an error with this code. */
export function exitCodeOf(code: string): number {
  return byCode[code as ErrorCode] ?? exitCodes.failure;
}
