import { DulyError, dulyError } from '../../base/errors.ts';

/** What was being done when an error came. */
export interface ErrorPlace {
  /** Where the store is, without secrets. */
  place: string;
  /** Whether the call may have taken effect all the same: what would have committed it was on its way. */
  unknown: boolean;
}

/** The SQLSTATE of an error of the server; null: it came from the network or the driver. */
export function sqlStateOf(error: unknown): string | null {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  // Errors of the network have a code too (EPIPE is five letters), but no severity.
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string' ? code : null;
}

// A row was on its way to the partition that takes whatever no other one does, and just then its own was made.
const dayCreated = '23514';

// create_job: a job of the same id was created and ended beside the call.
const endedMeanwhile = 'DU010';

// The name of a view of a function set, in the server's message.
const viewOfSet = /_f\d+(?![\w.])/;

// The server had ended the session because it was idle, before the call came to it, or within a transaction, which it rolled back.
const idleTooLong = ['57P05', '25P03'];

/** Whether a transaction was never begun, or rolled back, for a reason that has passed: the same again will go through. */
export function isRetryable(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state === null) return wasNotSent(error);
  const passed = ['40001', '40P01', dayCreated, endedMeanwhile, ...idleTooLong];
  return passed.includes(state);
}

/** The connection broke after the pool had given it and before anything was sent: `pg` says so by words alone. */
function wasNotSent(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('is not queryable');
}

/** Whether the server, or a pooler before it, has no further connection for this process. */
export function isTooManyConnections(error: unknown): boolean {
  const state = sqlStateOf(error);
  // PgBouncer (max_client_conn) says it in words alone.
  return (
    state === '53300' ||
    (state === '08P01' && (error as Error).message.includes('no more connections allowed'))
  );
}

/**
 * Whether the connection must not be used again: it is broken, or leads to a server that does not take writes (a primary that became a
 * standby), while a new one may lead to the right one.
 */
export function isConnectionSpent(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === null || state === '25006' || meansGone(state);
}

/** Wraps what `pg` threw into an error with a code. Errors of Duly pass unchanged. */
export function storeError(error: unknown, at: ErrorPlace): DulyError {
  if (error instanceof DulyError) return error;
  const state = sqlStateOf(error);
  if (state === null || meansGone(state)) return unavailable(error, at);
  const { place } = at;
  const details = { place, sqlState: state };
  const said = (error as Error).message;
  switch (state) {
    case '25006':
      return dulyError('store_read_only', {
        message: `The PostgreSQL at ${place} does not take writes: it is a standby, or its transactions are read-only by default.`,
        hint: 'Give the address of the primary. After a failover the old address may still lead to the old server.',
        details,
        cause: error,
      });
    case '53100':
      return dulyError('store_full', {
        message: `The disk of the PostgreSQL at ${place} is full. Nothing of this call was stored.`,
        hint: 'Free some space; the next call goes on as if nothing had happened.',
        details,
        cause: error,
      });
    case '40001':
    case '40P01':
    case dayCreated:
    case '55P03':
    case '57014':
    case '53200':
    case '53400':
      return dulyError('store_busy', {
        message: `The PostgreSQL at ${place} could not do this in time because of what others do on it (${said}). Nothing of this call was stored.`,
        hint: 'Look for a transaction that stays open: SELECT pid, state, xact_start, query FROM pg_stat_activity ORDER BY xact_start;',
        details,
        cause: error,
      });
    case '3D000':
    case '3F000':
    case '42P01':
      if (viewOfSet.test(said)) return functionsGone(error, place);
      return dulyError('store_not_found', {
        message: `There is no store at ${place}: ${said}.`,
        hint:
          state === '3D000'
            ? 'Create the database first (createdb), or name another one in the address.'
            : 'Its tables are not there (any more). Create them with: duly migrate',
        details,
        cause: error,
      });
    case '42883':
      return functionsGone(error, place);
    case '28000':
    case '28P01':
    case '42501':
      return dulyError('store_denied', {
        message: `The PostgreSQL at ${place} does not allow this: ${said}.`,
        hint:
          state === '42501'
            ? 'Give this role the right to use the schema and its tables, or run "duly migrate" once with the role that owns them.'
            : 'Check the user, the password and pg_hba.conf.',
        details,
        cause: error,
      });
    case 'XX001':
    case 'XX002':
      return dulyError('store_corrupt', {
        message: `The PostgreSQL at ${place} says that its data are damaged: ${said}`,
        hint: "Stop, keep a copy of the server's files, and restore a backup.",
        details,
        cause: error,
      });
    default:
      return dulyError('internal', {
        message: `PostgreSQL refused a statement of Duly at ${place} (${state}): ${said}`,
        hint: 'This is a defect of Duly. Please report it with this message.',
        details,
        cause: error,
      });
  }
}

/** The server, or a pooler before it, is going, coming or not reachable; or has no connection to give. */
function meansGone(state: string): boolean {
  return (
    state.startsWith('08') ||
    state.startsWith('57P') ||
    state === '53300' ||
    state === '58000' ||
    state === '58030'
  );
}

/** A newer release drops the functions and views of releases that it no longer serves. */
function functionsGone(error: unknown, place: string): DulyError {
  return dulyError('schema_too_new', {
    message: `The store at ${place} does not have the functions that this version of Duly calls: ${(error as Error).message}.`,
    hint: 'Update Duly in this process, or restart it if its code changed. Nothing of this call was stored.',
    details: { place, sqlState: sqlStateOf(error) },
    cause: error,
  });
}

function unavailable(error: unknown, { place, unknown }: ErrorPlace): DulyError {
  const said = (error as Error)?.message || (error as { code?: string })?.code || String(error);
  return dulyError('store_unavailable', {
    message: `The PostgreSQL at ${place} ${unknown ? 'was lost before it answered' : 'cannot be reached'}: ${said}.`,
    hint: unknown
      ? 'The call may have taken effect; its answer was lost.'
      : 'Nothing of this call was stored. Check that the server runs, that its address is right and that it has connections left.',
    details: { place, unknown, sqlState: sqlStateOf(error) },
    cause: error,
  });
}
