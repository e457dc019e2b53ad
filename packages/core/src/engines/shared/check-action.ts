import { dulyError } from '../../base/errors.ts';
import { type JobAction, jobActions } from '../../contract/job-status.ts';

/** Refuses the group of an action that this release does not know. */
export function checkAction(action: JobAction): void {
  if (jobActions.includes(action)) return;
  throw dulyError('group_refused', {
    message: `Expected one of ${jobActions.join(', ')} as action, got "${action}".`,
  });
}
