import { DulyError } from '@duly/core';

/** Reads a cursor that is a number in its list. Throws `invalid_cursor`. */
export function readPosition(cursor: string): number {
  const position = Number(cursor);
  if (/^\d{1,15}$/.test(cursor) && Number.isSafeInteger(position)) return position;
  throw invalidCursor(cursor);
}

/** The error for a cursor that its list never gave. */
export function invalidCursor(cursor: string): DulyError {
  return new DulyError('invalid_cursor', {
    message: `Expected a cursor that this list gave, got "${cursor.slice(0, 60)}".`,
    hint: 'Leave the cursor out to begin anew.',
  });
}
