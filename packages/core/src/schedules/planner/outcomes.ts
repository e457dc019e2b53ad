import type { PlanState } from './plan-state.ts';

/**
 * Takes the end of the run that the schedule waited for into account: failures in a row pause or flag it. Runs are counted in
 * slot order. Only FAILED is a failure and only COMPLETED ends a row of them; a cancelled or expired run says nothing about
 * the task.
 */
export function noteOutcome(planState: PlanState): void {
  const { input, state } = planState;
  const { waited, active, activeCount } = input;
  const [watched] = state.watched;
  if (watched === undefined) return;
  if (waited?.id !== watched) {
    // Deleted together with its history: it will never be told, and the ones behind it must not wait for it.
    const isGone = !active.some(({ id }) => id === watched) && activeCount <= active.length;
    if (isGone) state.watched = state.watched.slice(1);
    return;
  }
  state.watched = state.watched.slice(1);
  if (waited.status === 'COMPLETED') {
    if (state.flaggedAt !== null) planState.events.push({ kind: 'recovered' });
    state.failureCount = 0;
    state.flaggedAt = null;
  } else if (waited.status === 'FAILED') {
    state.failureCount += 1;
    noteFailure(planState, waited.finishedAt);
  }
}

function noteFailure(planState: PlanState, failedAt: number): void {
  const { input, state } = planState;
  const { failureCount } = state;
  const { pauseAfterFailures, flagAfterFailures } = input.spec.policies;
  if (flagAfterFailures !== null && failureCount >= flagAfterFailures && state.flaggedAt === null) {
    state.flaggedAt = input.now;
    planState.events.push({ kind: 'flagged', failureCount });
  }
  if (pauseAfterFailures !== null && failureCount >= pauseAfterFailures && state.pause === null) {
    state.pause = {
      // Not before the last decision: what was decided after the failure stays decided.
      at: Math.min(failedAt, input.now),
      untilAt: null,
      note: `${failureCount} failures in a row`,
      cause: 'failures',
      by: null,
    };
    planState.events.push({ kind: 'paused', failureCount });
  }
}
