/** Stored words that differ from the words of the contract. The engines translate them here; jobs/pauses.ts and schedules/definition translate those of the JSON that they store. */

/** Stored as the event of a change, and as the reason of a job, where the contract says `retried`. */
export const storedRetried = 'replayed';

/** Stored as the action of an audit row where the contract says `retry`. */
export const storedRetry = 'replay';

/** Stored as the event of a change where the contract says `created`. */
export const storedCreated = 'made';

/** The event of a change as the contract names it. */
export function eventOf(stored: string): string {
  if (stored === storedCreated) return 'created';
  return stored === storedRetried ? 'retried' : stored;
}

/** The reason of a job as the contract names it. */
export function reasonOf(stored: string | null): string | null {
  return stored === storedRetried ? 'retried' : stored;
}

/** The action of an audit row as the contract names it. */
export function actionOf(stored: string): string {
  return stored === storedRetry ? 'retry' : stored;
}

/** The action of the contract as the store names it. */
export function storedAction(action: string): string {
  return action === 'retry' ? storedRetry : action;
}
