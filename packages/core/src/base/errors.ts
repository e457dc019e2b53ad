/**
 * Every error code with its meaning. A code is stable and never used again for something else; each has a section in
 * `docs/reference/errors.md`.
 */
export const errorCodes = {
  // What a caller wrote
  invalid_duration: 'A duration could not be read.',
  invalid_instant: 'An instant could not be read, or does not exist.',
  invalid_option: 'An option has a value that is not allowed.',
  invalid_input: "A job's input does not fit its task's schema.",
  input_not_json: "A job's input holds something that JSON cannot keep.",
  input_too_large: "A job's input is larger than allowed.",
  metadata_invalid: "A job's metadata cannot be stored.",
  result_not_json: 'A handler returned something that JSON cannot keep.',
  result_too_large: 'A handler returned more than is allowed.',
  invalid_task: 'A task is defined wrongly.',
  duplicate_task: 'Two tasks have the same name.',
  unknown_task: 'No task of this name is defined here.',
  invalid_filter: 'A filter names an unknown field or value.',
  invalid_cursor: 'A cursor was not created by this list.',
  records_conflict: 'A record was changed by someone else since it was read.',
  policy_conflict: 'Two policies of a schedule contradict each other.',
  backfill_too_large: 'A backfill would create too many jobs at once.',
  config_invalid: 'The configuration cannot be used.',
  config_not_found: 'The configuration file does not exist.',
  file_exists: 'A file that should be written is there already.',
  file_unwritable: 'A file or a folder cannot be written.',
  profile_not_found: 'There is no profile of this name.',
  requires_store_access: 'A command needs access to the store and cannot be given to a server.',
  server_unavailable: 'The server cannot be reached.',
  usage: 'The command was called wrongly.',
  output_failed: 'What the command printed could not be written.',
  node_unsupported: 'The command was called with a Node that is too old.',
  crontab_unreadable: 'A crontab, a manifest or a log of cron could not be read.',

  // Rules of schedules
  invalid_cron: 'A cron expression could not be read, or can never fire.',
  invalid_timezone: 'There is no time zone of this name.',
  invalid_rule: 'A rule is not one that Duly knows, or contradicts itself.',
  invalid_rrule: 'A recurrence rule could not be read.',
  rrule_library_missing: 'Recurrence rules need a package that is not installed.',
  rule_never_fires: 'A rule has no slot at all.',
  everything_excluded: 'What a rule excludes leaves none of its slots.',

  // Schedules
  schedule_not_found: 'There is no schedule of this name.',
  schedule_ambiguous: 'Several schedules have this name.',
  schedule_conflict: 'One process gives two rules to one schedule.',
  schedule_disabled: 'The schedule is disabled because its app no longer declares it.',

  // Jobs
  job_not_found: 'No job has this id.',
  job_pruned: 'The retention of the job is over, and its record was deleted.',
  job_not_changeable: "The job's status does not allow this action.",
  too_many_match: 'More jobs match an action than its caller expected, so nothing was changed.',
  job_failed: 'The job ended without a result.',
  wait_timeout: 'The job was not over in time.',
  group_refused: 'One part of a call was refused, so nothing of the call was done.',

  // Attempts
  lease_lost: 'The attempt no longer holds its job; its outcome was not recorded.',
  timeout: 'The attempt ran longer than its timeout.',
  cancelled: 'The job was cancelled while it ran.',
  lost: 'The job was lost too often, or must not start twice.',
  shutdown: 'The node is shutting down and the attempt has to end.',
  isolate_failed: 'The thread of an isolated task ended without an outcome.',
  handler_threw_nullish: 'A handler threw undefined or null.',

  // The user's own transactions
  tx_unknown: 'What was given as a transaction is none that Duly knows.',
  tx_unsupported: 'Nothing can be done in a transaction of your own here.',
  tx_other_store: 'The transaction is not one of the store.',
  tx_not_open: 'The transaction is over, has failed, or never began.',
  tx_rolled_back: 'The transaction that should complete the job was not committed.',
  completed_already: 'The attempt was completed already.',

  // Coordination
  lock_lost: 'A lock ended before the work under it did.',
  resigned: 'This process stands for leader no more.',

  // Nodes
  node_not_found: 'No node of this id is known to the store.',

  // Requests that go out
  target_refused: 'An outgoing request would go to an address that is not allowed.',
  target_invalid: 'The address of an outgoing request cannot be called.',
  request_failed: 'An outgoing request was not answered.',
  request_timeout: 'An outgoing request was not answered in time.',
  unexpected_status: 'An outgoing request was answered with a status that is no success.',
  command_failed: 'A program could not be started, or did not end well.',
  commands_disabled: 'This server may not run commands.',
  webhook_not_found: 'No webhook has this id.',
  alert_not_found: 'No alert rule, channel or window has this id.',
  alert_channel_in_use: 'An alert channel cannot be deleted while rules name it.',
  mail_not_set_up: 'This server cannot send e-mail.',

  // The life of a Duly
  already_started: 'start() was called twice.',
  stopped: 'The Duly was stopped.',
  inside_handler: 'Something was asked inside a handler that can only be done outside.',

  // The store
  engine_not_yet: 'The engine for this store does not exist yet.',
  unknown_store: 'The store address is not understood.',
  store_not_a_database: 'What is at the address is not a store of Duly.',
  store_read_only: 'The store cannot be written.',
  store_full: 'The disk or the store is full.',
  store_busy: 'The store was locked by others for too long.',
  store_locked_by_user_transaction: "The store is locked by the caller's own open transaction.",
  store_unavailable: 'The store cannot be reached or opened.',
  store_not_found: 'There is no store at this address.',
  store_denied: 'The store does not allow this user what was asked.',
  store_moved: 'The store was moved to another address.',
  store_arriving: 'The store is being moved here and is not all here yet.',
  store_not_empty: 'A store can only be moved to one that is empty.',
  move_incomplete: 'Not everything arrived where a store was moved to.',
  store_closed: 'The store was closed.',
  store_corrupt: 'The store holds something that cannot be right.',
  schema_too_old: 'The store was created before the first release of Duly.',
  schema_too_new: 'The store serves only newer versions of Duly.',
  driver_missing: 'The engine for this store needs a package that is not installed.',
  postgres_unsupported: 'This PostgreSQL cannot hold a store as it is.',
  sqlite_second_process: 'This SQLite version cannot safely share the file with a second process.',
  sqlite_unsupported: 'This Node has no usable SQLite.',

  // The HTTP server
  unauthenticated: 'The request carries no key, or one that is not valid.',
  forbidden: 'The key does not allow this.',
  cross_site: 'A page of another site asked for a change.',
  host_unknown: 'The request names a host that is not known to be this server.',
  route_not_found: 'There is nothing at this address.',
  method_not_allowed: 'What is at this address does not take this method.',
  request_invalid: 'A request does not have the form that its route takes.',
  body_too_large: 'The body of a request is larger than allowed.',
  body_invalid: 'The body of a request is no JSON that can be taken.',
  content_type_unsupported: 'The body of a request is of a type that the route does not take.',
  idempotency_conflict: 'An Idempotency-Key was used before for another request.',
  key_not_found: 'No key has this id.',
  value_not_found: 'There is no value of this name and key, or its time is over.',
  request_header_too_large: 'The head of the request is larger than the server accepts.',
  request_too_slow: 'The request did not arrive in time.',
  rate_limited: 'The key has sent more requests than the server accepts from it.',
  too_many_watchers: 'More watchers are connected than the server takes.',
  upgrade_required: 'The address serves WebSockets, and the request does not ask for one.',
  listen_refused: 'The server must not listen there as it is.',
  listen_failed: 'The server cannot listen there.',

  // Duly itself
  internal: 'Duly found itself in a state that should not exist.',
} as const;

/** A code of the register. */
export type ErrorCode = keyof typeof errorCodes;

/** What an error is made of. */
export interface DulyErrorOptions {
  /** What happened, to which thing, and what was expected; never a secret or a payload. */
  message: string;
  /** What to do about it. */
  hint?: string;
  /** Ids and values as fields, for programs. */
  details?: Record<string, unknown>;
  /** The error behind this one. */
  cause?: unknown;
}

// In the registry of symbols, so that a second copy of this package, or another thread, knows it too.
const brand: unique symbol = Symbol.for('duly.error') as never;

/** Every error that Duly throws on purpose. Recognise it with `isDulyError` and by its `code`, not by its class. */
export class DulyError extends Error {
  readonly code: ErrorCode;
  /** What to do about it, if there is something to do. */
  declare readonly hint?: string;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, { message, hint, details = {}, cause }: DulyErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (hint !== undefined) this.hint = hint;
    this.details = details;
  }

  get [brand](): true {
    return true;
  }
}

// On the prototype, so that printing an error does not list its name among its fields.
Object.defineProperty(DulyError.prototype, 'name', {
  value: 'DulyError',
  configurable: true,
  writable: true,
});

/** Makes an error with a code of the register. */
export function dulyError(code: ErrorCode, options: DulyErrorOptions): DulyError {
  const error = new DulyError(code, options);
  // The stack begins where the error was made, not here.
  Error.captureStackTrace(error, dulyError);
  return error;
}

/** Whether this is an error of Duly (with this code, if one is given), from whichever copy of the package. */
export function isDulyError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is DulyError & { code: Code } {
  if (typeof error !== 'object' || error === null || (error as DulyError)[brand] !== true) return false;
  return code === undefined || (error as DulyError).code === code;
}

/** An error as plain data: survives JSON and `postMessage`. `fromPlainError` makes an error of it again. */
export interface PlainError {
  /** Whether it was a `DulyError`; then `code` is of the register. */
  duly: boolean;
  name: string;
  message: string;
  /** The code of a `DulyError`, or of another error that has one (`ENOSPC`). */
  code: string | null;
  hint: string | null;
  details: Record<string, unknown>;
  stack: string | null;
  cause: PlainError | null;
}

// A chain of causes longer than this is a cycle or of no use to a reader.
const causeDepthMax = 8;

/** Turns anything that was thrown into plain data; never throws itself. */
export function toPlainError(error: unknown): PlainError {
  return plainErrorAt(error, 0);
}

function plainErrorAt(error: unknown, depth: number): PlainError {
  try {
    if (typeof error !== 'object' || error === null) return plainFromValue(error);
    const { name, message, stack, code, hint, details, cause } = error as Partial<DulyError> & {
      code?: unknown;
    };
    if (typeof message !== 'string' && !(error instanceof Error)) return plainFromValue(error);
    return {
      duly: isDulyError(error),
      name: typeof name === 'string' ? name : 'Error',
      message: typeof message === 'string' ? message : '',
      code: typeof code === 'string' ? code : null,
      hint: typeof hint === 'string' ? hint : null,
      details:
        isDulyError(error) && isRecord(details) ? (plainValue(details, 0) as Record<string, unknown>) : {},
      stack: typeof stack === 'string' ? stack : null,
      cause: cause === undefined || depth >= causeDepthMax ? null : plainErrorAt(cause, depth + 1),
    };
  } catch {
    // A getter or a proxy that throws while it is read.
    return { ...plainFromValue(undefined), message: 'An error that cannot be read was thrown.' };
  }
}

function plainFromValue(value: unknown): PlainError {
  let message: string;
  if (typeof value === 'string') message = value;
  else if (typeof value === 'object' && value !== null)
    message = `A value that is not an error was thrown: ${tagOf(value)}.`;
  else message = `A value that is not an error was thrown: ${String(value)}.`;
  return {
    duly: false,
    name: 'NotAnError',
    message,
    code: null,
    hint: null,
    details: {},
    stack: null,
    cause: null,
  };
}

/** Makes an error of what `toPlainError` gave: a `DulyError` if it was one, else an `Error` with the same fields. */
export function fromPlainError(plain: PlainError): Error {
  const cause = plain.cause === null ? undefined : fromPlainError(plain.cause);
  let error: Error;
  if (plain.duly) {
    error = new DulyError(plain.code as ErrorCode, {
      message: plain.message,
      hint: plain.hint ?? undefined,
      details: plain.details,
      cause,
    });
  } else {
    error = new Error(plain.message, cause === undefined ? undefined : { cause });
    if (plain.code !== null) Object.assign(error, { code: plain.code });
  }
  // Hidden like the fields of a fresh error, so that it prints the same way.
  if (error.name !== plain.name) hide(error, 'name', plain.name);
  hide(error, 'stack', plain.stack ?? `${plain.name}: ${plain.message}`);
  return error;
}

function hide(error: Error, field: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, field, { value, configurable: true, writable: true, enumerable: false });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Details as JSON would keep them; what it cannot keep becomes a word about it. */
function plainValue(value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object') return value === undefined ? undefined : String(value);
  if (depth > causeDepthMax) return `[${tagOf(value)}]`;
  if (Array.isArray(value)) return value.map((one) => plainValue(one, depth + 1) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Error) return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainValue(one, depth + 1)]));
}
