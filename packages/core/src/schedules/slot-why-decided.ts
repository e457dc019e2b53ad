// Why a slot was decided as it was, from its row in the ledger or the month that it was compacted into.

import type { CompactedSlots } from '../contract/engine.ts';
import { statusOf } from './ledger.ts';
import { type Decision, reasons } from './planner/decision.ts';
import { toCompactedMonth } from './schedule-view.ts';
import { type Answer, dueAt, type SlotFacts } from './slot-why-facts.ts';
import { runPhrase } from './slot-why-runs.ts';
import { byWhom, capital, clockOf, months, rough } from './slot-why-words.ts';

/** The one decision of all slots of a month; null: there were several. */
export function onlyDecision(compactedSlots: CompactedSlots | null): string | null {
  return compactedSlots?.counts.length === 1 ? (compactedSlots.counts[0]?.decision ?? null) : null;
}

/** What is known of a slot whose month was compacted. */
export function compactedAnswer(facts: SlotFacts, compactedSlots: CompactedSlots): Answer {
  const { month, counts } = toCompactedMonth(compactedSlots);
  const [year, number] = month.split('-').map(Number) as [number, number];
  const name = `${months[number - 1]} ${year}`;
  const reach = new Date(compactedSlots.toAt).toISOString().startsWith(month)
    ? ''
    : ` and up to ${clockOf(facts, compactedSlots.toAt)}`;
  const [only, ...others] = counts;
  const texts = counts.map(
    ({ decision, count, atLeast }) =>
      `${atLeast ? 'at least ' : ''}${count.toLocaleString('en')} ${decision}`,
  );
  const isAll = only !== undefined && others.length === 0;
  const isKnown = isAll || facts.loaded.parsed.planRule.kind !== 'delay';
  const sentences = [
    `${isKnown ? 'It was decided, and' : 'What became of a slot at this instant is no longer known:'} the ledger keeps slots of that age by month: in ${name} (UTC)${reach}: ${texts.join(', ')}.`,
  ];
  const backfills = facts.runs.filter(({ origin }) => origin === 'backfill');
  sentences.push(...backfills.map((run) => `A backfill created another run: ${runPhrase(facts, run)}.`));
  return { status: 'compacted', sentences };
}

/** When a slot of a row was decided: after it fell due, and not after the row's last decision. */
interface DecidedWhen {
  fromAt: number;
  toAt: number;
}

/** When a slot of a row was decided, as far as the row tells. */
export function decidedWhen(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): DecidedWhen {
  const lastAt = row.lastDecidedAt ?? row.decidedAt;
  if (facts.slotAt === row.fromAt) return { fromAt: row.decidedAt, toAt: row.decidedAt };
  if (facts.slotAt === row.toAt) return { fromAt: lastAt, toAt: lastAt };
  return { fromAt: Math.min(Math.max(row.decidedAt, dueAt(facts)), lastAt), toAt: lastAt };
}

/** Whether it is the row's first decision, which is the one whose node is known. */
export function isFirst({ toAt }: DecidedWhen, row: SlotFacts['row']): boolean {
  return toAt === row?.decidedAt;
}

function decidedBy(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string {
  const when = decidedWhen(facts, row);
  const by = isFirst(when, row) ? ` by node "${row.node}"` : '';
  if (when.fromAt === when.toAt) return `decided at ${clockOf(facts, when.fromAt)}${by}`;
  return `decided between ${clockOf(facts, when.fromAt)} and ${clockOf(facts, when.toAt)}`;
}

/** A long row of missed slots may hold excluded ones, which the calendar knows. */
function isExcludedIn(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): boolean {
  const { planRule } = facts.loaded.parsed;
  return row.decision === 'missed' && planRule.kind === 'calendar' && planRule.isExcluded(facts.slotAt);
}

/** What was decided about the slot. */
export function decisionOf(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): Decision {
  return isExcludedIn(facts, row) ? 'excluded' : (row.decision as Decision);
}

/** The reason for what was decided; null: there is none to name. */
export function reasonOf(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string | null {
  return isExcludedIn(facts, row) ? reasons.excluded : row.reason;
}

/** What became of a slot that a row holds. */
export function decided(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): Answer {
  const decision = decisionOf(facts, row);
  const sentences = decision === 'fired' ? firedSentences(facts, row) : [notFired(facts, row, decision)];
  const backfills = facts.runs.filter(({ origin }) => origin === 'backfill');
  if (backfills.length > 0)
    sentences.push(...backfills.map((run) => `A backfill created another run: ${runPhrase(facts, run)}.`));
  return { status: statusOf(decision, facts.runs), sentences };
}

function firedSentences(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string[] {
  const run = facts.runs.find(({ id }) => id === row.jobId);
  const how =
    row.reason === null
      ? ''
      : ` It was ${caughtUp[row.reason] ?? row.reason}, decided ${rough(row.decidedAt - dueAt(facts))} after it fell due.`;
  if (run === undefined) {
    return [
      `It fired at ${clockOf(facts, row.decidedAt)}, decided by node "${row.node}"; its job "${row.jobId}" is no longer stored.${how}`,
    ];
  }
  return [`${capital(runPhrase(facts, run))}.${how}`];
}

const caughtUp: Record<string, string> = {
  [reasons.caughtUp]: 'missed and caught up on',
  [reasons.afterPause]: 'held by a pause and caught up on after it',
  [reasons.beforeEdit]: 'late when the schedule was edited and caught up on',
};

function notFired(facts: SlotFacts, row: NonNullable<SlotFacts['row']>, decision: Decision): string {
  const { policies } = facts.loaded.parsed.spec;
  const when = decidedWhen(facts, row);
  const noticed = `${when.fromAt === when.toAt ? '' : 'at most '}${rough(when.toAt - dueAt(facts))}`;
  const by = decidedBy(facts, row);
  switch (reasonOf(facts, row)) {
    case reasons.endAt:
      return `It did not run: it lies after "endAt" (${by}).`;
    case reasons.maxRuns:
      return `It did not run: ${policies.maxRuns ?? 'the most'} slots had fired, and "maxRuns" allows no more (${by}).`;
    case reasons.excluded:
      return `It did not run: a calendar of "exclude" names it (${by}).`;
    case reasons.skipNext:
      return `It was skipped${byWhom(facts)} (${by}).`;
    case reasons.overlap:
      if (decision === 'merged') {
        return `An earlier run was not finished, so it was merged into the run${row.jobId === null ? '' : ` "${row.jobId}"`} that waited behind it, by overlap: "bufferOne" (${by}).`;
      }
      return `It was skipped: an earlier run was not finished, and overlap is "${policies.overlap}" (${by}).`;
    case reasons.bufferFull:
      return `It was skipped: ${policies.bufferLimit === 1 ? 'one run' : `${policies.bufferLimit} runs`} waited already, which is the "bufferLimit" (${by}).`;
    case reasons.late:
      return `It was missed: no scheduler noticed it in time. It was noticed ${noticed} after it fell due, and missed is "skip" (${by}).`;
    case reasons.lateNotLatest:
      return `It was missed: no scheduler noticed it in time, and a later slot was missed too; missed: "latest" runs only that one (${by}).`;
    case reasons.paused:
      return `It fell in a pause, and onResume is "skip" (${by}).`;
    case reasons.pausedNotLatest:
      return `It fell in a pause, and a later slot did too; onResume: "latest" runs only that one (${by}).`;
    case reasons.edited:
      return `It was late when the schedule was edited, and onEdit is "skip" (${by}).`;
    case reasons.editedNotLatest:
      return `It was late when the schedule was edited, and so was a later slot; onEdit: "latest" runs only that one (${by}).`;
    case reasons.deleted:
      return `It did not run: it had come and was not decided when the schedule was deleted (${by}).`;
    case reasons.beyondWindow:
      return `It was missed, and when it was noticed, ${noticed} after it fell due, it was older than "catchUpWindow" (${by}).`;
    case reasons.beyondLimit:
      return `It was missed, and more than ${policies.catchUpLimit} newer slots were missed too, which is the "catchUpLimit" (${by}).`;
    case reasons.startDeadline:
      return `It expired: when it was noticed, ${noticed} after it fell due, its "startDeadline" had passed, so no job was created (${by}).`;
    default:
      return `It did not run: ${decision}${row.reason === null ? '' : ` (${row.reason})`}, ${by}.`;
  }
}
