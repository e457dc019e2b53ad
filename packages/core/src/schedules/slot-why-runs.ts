// How a run of a slot went, in words.

import { formatDuration } from '../base/duration.ts';
import type { JobRecord } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import type { SlotFacts } from './slot-why-facts.ts';
import { clockOf, lateText, short } from './slot-why-words.ts';

/** How a run went, for the middle of a sentence. */
export function runPhrase(facts: SlotFacts, run: JobRecord): string {
  const node = run.node ?? run.attempts.at(-1)?.node ?? null;
  const where = node === null ? '' : `, on node "${node}"`;
  if (run.startedAt === null) {
    if (isTerminal(run.status))
      return `its run "${run.id}" never started: it is ${run.status}${endedText(facts, run)}`;
    return `its run "${run.id}" is ${run.status} and has not started`;
  }
  // A backfill is made after the time of its slot, so being late is not a question.
  const late = run.origin === 'backfill' ? '' : `, ${lateText(run.latenessMs ?? 0)}`;
  const began = `it ran at ${clockOf(facts, run.startedAt)}${late}${where}`;
  if (run.status === 'COMPLETED')
    return `${began}, and completed after ${short((run.finishedAt ?? run.startedAt) - run.startedAt)}`;
  if (!isTerminal(run.status)) return `${began}, and is ${run.status}`;
  const error = run.error === null ? '' : ` with "${run.error.message.slice(0, 200)}"`;
  return `${began}, and is ${run.status}${endedText(facts, run)}${error}`;
}

/** Why a run was ended from outside: by its deadline, by a later slot, or by somebody. */
function endedText({ loaded, cancels }: SlotFacts, run: JobRecord): string {
  const { startDeadlineMs, overlap } = loaded.parsed.spec.policies;
  if (run.status === 'EXPIRED') {
    const deadline = startDeadlineMs === null ? '' : ` of ${formatDuration(startDeadlineMs)}`;
    return `, for its "startDeadline"${deadline} had passed before a worker could start it`;
  }
  const cancel = cancels.get(run.id);
  if (run.status !== 'CANCELLED' || cancel === undefined) return '';
  if (cancel.note !== overlapNote) {
    return ` by ${cancel.actor}${cancel.note === null ? '' : ` ("${cancel.note}")`}`;
  }
  const isOther = overlap === 'cancelOther' || overlap === 'terminateOther';
  return `: a later run took its place, by ${isOther ? `overlap: "${overlap}"` : 'the overlap policy'}`;
}

// What an engine notes in the audit of a run that it ends for another.
const overlapNote = 'overlap policy';
