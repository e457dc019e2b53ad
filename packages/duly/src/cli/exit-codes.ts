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
  interrupted: 130,
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
  crontab_unreadable: exitCodes.usage,
  metadata_invalid: exitCodes.usage,
  duplicate_task: exitCodes.usage,
  unknown_store: exitCodes.usage,
  policy_conflict: exitCodes.usage,
  rule_never_fires: exitCodes.usage,
  everything_excluded: exitCodes.usage,
  backfill_too_large: exitCodes.usage,
  schedule_ambiguous: exitCodes.usage,
  schedule_conflict: exitCodes.usage,
  schedule_disabled: exitCodes.refused,
  job_not_found: exitCodes.notFound,
  job_pruned: exitCodes.notFound,
  node_not_found: exitCodes.notFound,
  key_not_found: exitCodes.notFound,
  schedule_not_found: exitCodes.notFound,
  job_not_changeable: exitCodes.refused,
  too_many_match: exitCodes.refused,
  file_exists: exitCodes.refused,
  file_unwritable: exitCodes.refused,
  engine_not_yet: exitCodes.store,
  move_incomplete: exitCodes.store,
  requires_store_access: exitCodes.usage,
  server_unavailable: exitCodes.store,
  profile_not_found: exitCodes.notFound,
  schema_too_old: exitCodes.store,
  schema_too_new: exitCodes.store,
  driver_missing: exitCodes.store,
};

// What a name begins with says who has to act: the caller, or whoever keeps the store.
const byFamily: [RegExp, number][] = [
  [/^(invalid|input|config)_/, exitCodes.usage],
  [/^(store|sqlite|postgres)_/, exitCodes.store],
];

/** The exit code for an error with this code. */
export function exitCodeOf(code: string): number {
  const family = byFamily.find(([pattern]) => pattern.test(code));
  return byCode[code as ErrorCode] ?? family?.[1] ?? exitCodes.failure;
}
