import type { Due, JobError, JsonText } from '../contract/engine.ts';

/** Why an attempt's signal is aborted: the code of the signal's reason. */
export type AbortReason = 'cancelled' | 'timeout' | 'lost' | 'shutdown';

/** How a handler ended by itself. Plain data: it travels from an isolated task's thread as it is. */
export type HandlerOutcome =
  | { kind: 'returned'; result: JsonText | null }
  | { kind: 'threw'; error: JobError; thrown?: unknown }
  | { kind: 'retry-asked'; due: Due; error: JobError }
  | { kind: 'snoozed'; due: Due }
  | { kind: 'input-refused'; error: JobError }
  | { kind: 'result-refused'; error: JobError }
  /** The job was created for a newer version of the task than this one. */
  | { kind: 'newer-version' }
  /** The handler was not called: its job was asked to cancel, or its lease ended, after the attempt had begun. */
  | { kind: 'not-entered'; why: 'cancelled' | 'ended' };

/** What became of an attempt, before it is a settlement. */
export type Outcome =
  | Exclude<HandlerOutcome, { kind: 'newer-version' | 'not-entered' }>
  /** The thread of an isolated task ended without an outcome: what the handler did by then is not known. */
  | { kind: 'died'; error: JobError }
  /** `stopped`: the handler ended within the grace. Otherwise nobody knows what it still does. */
  | { kind: 'timeout'; error: JobError; stopped: boolean }
  /** `started`: the handler was entered. */
  | { kind: 'cancelled'; started: boolean; error: JobError | null }
  /** Goes back unspent. `stopped` as above; `started`: the handler was entered. */
  | { kind: 'released'; started: boolean; stopped: boolean };
