/** What can be decided about a slot. */
export type Decision = 'ended' | 'excluded' | 'skipped' | 'missed' | 'expired' | 'merged' | 'fired';

/**
 * Why a slot was decided as it was. `fired` has a reason only when it was caught up on. These are words for people: the ledger
 * keeps them, `why` and the dashboard show them, so they never change their meaning.
 */
export const reasons = {
  /** `ended`: the slot lies after `endAt`. */
  endAt: 'end at',
  /** `ended`: `maxRuns` slots have fired. */
  maxRuns: 'max runs',
  /** `excluded`: a calendar of `exclude` names it. */
  excluded: 'exclude',
  /** `skipped`: named by skipNext. */
  skipNext: 'skip next',
  /** `skipped` or `merged`: an earlier run was not finished. */
  overlap: 'overlap',
  /** `skipped`: `bufferLimit` runs wait already. */
  bufferFull: 'buffer full',
  /** `missed`: noticed later than the grace, `missed: 'skip'`. */
  late: 'late',
  /** `missed`: noticed later than the grace, `missed: 'latest'`, and a later slot was missed too. */
  lateNotLatest: 'late, not the latest',
  /** `missed`: fell in a pause, `onResume: 'skip'`. */
  paused: 'paused',
  /** `missed`: fell in a pause, `onResume: 'latest'`, and a later slot fell in it too. */
  pausedNotLatest: 'paused, not the latest',
  /** `missed`: late when an edit came, `onEdit: 'skip'`. */
  edited: 'edited',
  /** `missed`: late when an edit came, `onEdit: 'latest'`, and there was a later one. */
  editedNotLatest: 'edited, not the latest',
  /** `missed`: had come and was not decided, or was held by a pause, when the schedule was deleted. */
  deleted: 'deleted',
  /** `missed`: older than `catchUpWindow`. */
  beyondWindow: 'beyond window',
  /** `missed`: more than `catchUpLimit` newer ones were missed too. */
  beyondLimit: 'beyond limit',
  /** `expired`: `startDeadline` had passed. */
  startDeadline: 'start deadline',
  /** `fired`: noticed late and caught up on. */
  caughtUp: 'caught up',
  /** `fired`: fell in a pause and was caught up on after it. */
  afterPause: 'after pause',
  /** `fired`: late when an edit came and caught up on by it. */
  beforeEdit: 'before edit',
} as const;

/** A reason of the ledger. */
export type Reason = (typeof reasons)[keyof typeof reasons];

/** Why a slot was not decided when it came. */
export type Cause = 'late' | 'paused' | 'edited' | 'deleted';
