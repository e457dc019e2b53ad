import type { JobStatus } from '../../../contract/job-status.ts';
import { statements } from '../generated.ts';
import { enter, type JobStateRow, leaveSerial, place } from '../transitions.ts';
import type { Work } from '../work.ts';

/** Moves a waiting job to another instant; answers its status afterwards. */
export function moveDue(work: Work, row: JobStateRow, dueAt: number, event: string): JobStatus {
  const moved = { ...row, due_at: dueAt };
  if (row.status === 'BLOCKED') {
    if (row.serial !== null) work.run(statements.job.reorderGate, dueAt, row.seq);
    return place(work, moved, { status: 'BLOCKED', ready: false, event });
  }
  if (row.status === 'RETRYING') {
    return place(work, moved, { status: 'RETRYING', ready: dueAt <= work.now, event });
  }
  if (dueAt <= work.now) return enter(work, moved, event);
  // Until it is due again it does not compete for its serial place.
  leaveSerial(work, row);
  return place(work, moved, { status: 'SCHEDULED', ready: false, event });
}
