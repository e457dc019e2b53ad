import type { ExchangeInput, ExchangeReply, Settlement } from '../../../contract/engine.ts';
import { canTransition, isTerminal } from '../../../contract/job-status.ts';
import { attemptsOf } from '../../shared/job-row.ts';
import { statements } from '../generated.ts';
import type { JobRow } from '../rows.ts';
import {
  attemptEntry,
  type Ending,
  enter,
  finish,
  finishReturned,
  type JobStateRow,
  leaveSerial,
  type Returned,
  readJobState,
} from '../transitions.ts';
import type { Work } from '../work.ts';
import { claim, emptyClaim, peek } from './claim.ts';
import { dueAtOf } from './job-spec.ts';
import { appendLogs } from './report.ts';

/** See the contract. */
export function exchange(work: Work, input: ExchangeInput): Omit<ExchangeReply, 'now'> {
  const repeat = input.repeat === true;
  const settled = settleAll(work, input.settle, repeat);
  if (input.claim === null) return { settled, claimed: [], more: false, soloSinceAt: null, nextDueAt: null };
  return { settled, ...claim(work, input.claim, repeat) };
}

/** Reply of an empty claim, read without a transaction; null: a transaction is needed. */
export function checkExchange(
  work: Work,
  { settle: ended, claim: request, repeat }: ExchangeInput,
): Omit<ExchangeReply, 'now'> | null {
  if (ended.length > 0 || request === null || repeat === true) return null;
  const nothing = emptyClaim(peek(work, request.tasks));
  return nothing && { settled: [], ...nothing };
}

/** For so few one by one is cheaper than a list. */
const listMin = 4;

/** Records what became of attempts. Most of them simply returned, and these are written together. */
function settleAll(work: Work, settlements: Settlement[], repeat: boolean): ('done' | 'lost')[] {
  const returned = settlements.length < listMin ? [] : settlements.filter(isPlainSuccess);
  if (returned.length < listMin) return settlements.map((settlement) => settle(work, settlement, repeat));
  const list = new Map<string, Returned>();
  const together = new Set<Settlement>();
  for (const one of returned) {
    // The same job a second time in one call is judged by itself, after the first has ended it.
    if (list.has(one.id)) continue;
    list.set(one.id, [one.id, one.fence, one.result, one.spends ? 1 : 0]);
    together.add(one);
  }
  const ended = finishReturned(work, [...list.values()], 'returned');
  return settlements.map((one) =>
    together.has(one) && ended.has(one.id) ? 'done' : settle(work, one, repeat),
  );
}

function isPlainSuccess({ to, reason, loss, report, error }: Settlement): boolean {
  return to === 'COMPLETED' && reason === 'returned' && loss === 'none' && report === null && error === null;
}

/** Records what became of one attempt, if its lease still holds. */
function settle(work: Work, settlement: Settlement, repeat: boolean): 'done' | 'lost' {
  const row = readJobState(work, settlement.id);
  if (row === undefined || row.fence !== settlement.fence || row.status !== 'RUNNING') {
    return repeat && wasSettled(work, settlement) ? 'done' : 'lost';
  }
  if (!canTransition('RUNNING', settlement.to)) return 'lost';

  // This claim would have been the first start, or the first since a retry, and the handler was not entered: the job has not started.
  const isUnstarted =
    !settlement.started &&
    settlement.to !== 'COMPLETED' &&
    row.started_at === row.claimed_at &&
    (row.spent === 0 || row.reason === 'retried');
  const spent = row.spent + (settlement.spends ? 1 : 0);
  const losses = row.losses + (settlement.loss === 'none' ? 0 : 1);
  const begunLosses = row.begun_losses + (settlement.loss === 'begun' ? 1 : 0);
  if (settlement.report !== null) appendLogs(work, row, settlement.report.logs);
  // What was asked to cancel does not come back, only to be cancelled then: its backoff may be an hour.
  const ending = endingOf(settlement, row.cancel_requested_at !== null);
  if (ending !== null) {
    finish(work, row, {
      ...ending,
      result: settlement.result,
      error: settlement.error,
      report: settlement.report,
      spent,
      losses,
      begunLosses,
      isUnstarted,
      event: settlement.loss === 'none' ? undefined : 'lost',
    });
  } else {
    rescheduleAttempt(work, row, settlement, { spent, losses, begunLosses, isUnstarted });
  }
  return 'done';
}

/** How a settlement ends its job; null: it does not. */
function endingOf(
  { to, reason }: Settlement,
  isAskedToCancel: boolean,
): Pick<Ending, 'status' | 'reason'> | null {
  if (isTerminal(to)) return { status: to, reason };
  return isAskedToCancel ? { status: 'CANCELLED', reason: 'cancelled' } : null;
}

/** Whether an earlier, equal call settled this attempt: its fence ended with this reason, whatever the job did since. */
function wasSettled(work: Work, { id, fence, reason, to }: Settlement): boolean {
  const row = work.get<JobRow>(statements.job.live, id) ?? work.get<JobRow>(statements.job.finished, id);
  if (row === undefined) return false;
  const reasons: (string | null)[] = isTerminal(to) ? [reason] : [reason, 'cancelled'];
  return attemptsOf(row, null).some((attempt) => attempt.fence === fence && reasons.includes(attempt.reason));
}

const events: Record<string, string> = {
  snoozed: 'snoozed',
  released: 'released',
  lost: 'lost',
};

function rescheduleAttempt(
  work: Work,
  row: JobStateRow,
  settlement: Settlement,
  counts: { spent: number; losses: number; begunLosses: number; isUnstarted: boolean },
): void {
  const { to } = settlement;
  const isRelease = to === 'PENDING';
  // A released job keeps its due time, and so its place in the order.
  const due = settlement.due === null ? row.due_at : dueAtOf(work, settlement.due);
  const isReady = isRelease || (to === 'RETRYING' && due <= work.now);
  const progress = settlement.report?.progress ?? null;
  const isUnused = isRelease && !settlement.started;
  work.run(statements.settle.again, {
    seq: row.seq,
    status: to,
    reason: settlement.reason,
    rank: isReady ? due + row.rank_offset : null,
    due,
    now: work.now,
    solo: settlement.solo ?? null,
    attempt: isUnused ? row.attempt - 1 : row.attempt,
    unstarted: counts.isUnstarted ? 1 : 0,
    spent: counts.spent,
    losses: counts.losses,
    begunLosses: counts.begunLosses,
    percent: progress?.percent ?? null,
    message: progress?.message ?? null,
    step: progress?.step ?? null,
    stepOf: progress?.of ?? null,
    error: settlement.error === null ? null : JSON.stringify(settlement.error),
    entry: isUnused ? null : attemptEntry(work, row, settlement),
  });
  work.run(statements.settle.trimAttempts, row.seq);
  work.changed(row.id, row.type, to, events[settlement.reason] ?? 'failed', progress?.percent ?? row.percent);
  work.notifications.add('jobs', row.type);
  if (to === 'SCHEDULED') {
    // Put off: it competes for its serial place again when it is due.
    leaveSerial(work, row);
    if (due <= work.now)
      enter(work, { ...row, status: 'SCHEDULED', reason: settlement.reason, due_at: due }, 'due');
  }
}
