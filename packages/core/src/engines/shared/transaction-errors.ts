import { type DulyError, dulyError } from '../../base/errors.ts';

/** What was given as `tx` is of no kind that the store takes. */
export function unknownTx(place: string, hint: string): DulyError {
  return dulyError('tx_unknown', {
    message: `What was given as "tx" is no transaction that can be used with the store at ${place}.`,
    hint,
    details: { place },
  });
}

/** The transaction is one of another database, or of another store in it. */
export function otherStore(place: string, cause?: unknown): DulyError {
  return dulyError('tx_other_store', {
    message: `The transaction is not one of the database that holds the store at ${place}; nothing was done.`,
    hint: 'A job can only be created in a transaction of the very database that keeps it.',
    details: { place },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Nothing can be done in the transaction (any more). */
export function notOpen(place: string, why: string, cause?: unknown): DulyError {
  return dulyError('tx_not_open', {
    message: `The transaction cannot be used with the store at ${place}: ${why}.`,
    hint: 'Begin it before, and commit it after the call; await the call before you commit.',
    details: { place },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Here nothing can be done in a transaction of the user's own. */
export function unsupportedTx(place: string): DulyError {
  return dulyError('tx_unsupported', {
    message: `The store at ${place} cannot work inside a transaction of your own.`,
    hint: 'Create the job after you have committed. Stores on PostgreSQL and SQLite can.',
    details: { place },
  });
}
