import type { CalendarRule } from '../definition/planned-rule.ts';
import { beginChoice, type Choice, missedReason } from './catch-up.ts';
import { fireSlot } from './decide-slot.ts';
import { type Cause, type Decision, type Reason, reasons } from './decision.ts';
import { graceMsOf, longestGraceMs } from './grace.ts';
import { dueAtOf, firstSlotDueFrom, type JitterOf, newestDueSlot } from './jitter.ts';
import { coverMissed, type PlanState, record, recordSlot } from './plan-state.ts';

/** How the due slots of a rule are to be judged. */
export interface Judging {
  rule: CalendarRule;
  /** Slots due up to here are judged by how late they are at this instant. */
  asOfAt: number;
  /** What falls due in (fromAt, toAt] was held, and why. */
  held: readonly { fromAt: number; toAt: number; cause: Cause }[];
  /** What is noticed late counts as missed, as before an edit, or as before a deletion. */
  lateCause: 'late' | 'edited' | 'deleted';
}

/** Slots from one to another, all of one cause and none of them in its grace. */
interface Segment {
  fromAt: number;
  toAt: number;
  cause: Cause;
}

/** A slot that is judged by itself. */
interface NearSlot {
  slotAt: number;
  dueAt: number;
  /** null: in time. */
  cause: Cause | null;
}

/**
 * Decides every slot that is due, in slot order, until nothing is left or the pass is stopped. What lies further back than the
 * longest grace is cut into a few segments that are decided as a whole; only the slots since then, and those that are caught
 * up on, are looked at one by one. So the cost does not depend on how long the scheduler was away.
 */
export function decideDue(planState: PlanState, judging: Judging): void {
  const { rule, asOfAt } = judging;
  const { endAt } = planState.input.spec.policies;
  const throughAt = newestDueSlot(jitterOf(planState), rule.all, asOfAt);
  if (throughAt === null || throughAt <= planState.state.cursorAt) return;
  if (endIfOver(planState, rule, throughAt)) return;
  const lastAt = endAt === null ? throughAt : rule.all.previous(Math.min(throughAt, endAt) + 1);
  const firstAt = rule.all.next(planState.state.cursorAt);
  if (firstAt !== null && lastAt !== null && firstAt <= lastAt) {
    judge(planState, judging, firstAt, lastAt, throughAt);
    if (planState.stopped !== null || planState.state.ended !== null) return;
  }
  if (endIfOver(planState, rule, throughAt)) return;
  if (planState.state.cursorAt < throughAt) end(planState, rule, throughAt, reasons.endAt);
}

function jitterOf({ input }: PlanState): JitterOf {
  return { id: input.id, policies: input.spec.policies };
}

/** Ends the schedule if enough slots have fired: whatever is due after that is `ended`. */
function endIfOver(planState: PlanState, rule: CalendarRule, throughAt: number): boolean {
  const { maxRuns } = planState.input.spec.policies;
  if (maxRuns === null || planState.state.firedCount < maxRuns) return false;
  if (planState.state.cursorAt < throughAt) end(planState, rule, throughAt, reasons.maxRuns);
  return true;
}

function end(
  planState: PlanState,
  rule: CalendarRule,
  throughAt: number,
  reason: 'end at' | 'max runs',
): void {
  const fromAt = rule.all.next(planState.state.cursorAt) as number;
  const count = rule.all.countBetween(fromAt, throughAt);
  record(planState, { fromAt, toAt: throughAt, count, decision: 'ended', reason });
  if (planState.state.ended === null) planState.events.push({ kind: 'ended', reason });
  planState.state.ended = reason;
}

function judge(
  planState: PlanState,
  judging: Judging,
  firstAt: number,
  lastAt: number,
  throughAt: number,
): void {
  const { rule } = judging;
  const near = nearSlots(planState, judging, firstAt, lastAt);
  const oldLastAt = near[0] === undefined ? lastAt : rule.all.previous(near[0].slotAt);
  const segments =
    oldLastAt === null || oldLastAt < firstAt ? [] : cutByCause(planState, judging, firstAt, oldLastAt);
  const choices = choose(planState, judging, segments, near);
  for (const segment of segments) {
    if (endIfOver(planState, rule, throughAt)) return;
    const choice = choices[segment.cause];
    decideMissedPart(planState, rule, segment, choice);
    decideFiringPart(planState, rule, segment, choice, throughAt);
    if (planState.stopped !== null || planState.state.ended !== null) return;
  }
  for (const slot of near) {
    if (endIfOver(planState, rule, throughAt)) return;
    decideNear(planState, rule, slot, choices);
    if (planState.stopped !== null) return;
  }
}

/** The slots that may still be in their grace, oldest first; at most one a second for the longest grace. */
function nearSlots(planState: PlanState, judging: Judging, firstAt: number, lastAt: number): NearSlot[] {
  const { rule, asOfAt, held, lateCause } = judging;
  const { leaseMs } = planState.input.limits;
  const fromAt = asOfAt - longestGraceMs(leaseMs);
  const near: NearSlot[] = [];
  for (let at: number | null = lastAt; at !== null && at >= firstAt; at = rule.all.previous(at)) {
    const dueAt = dueAtOf(jitterOf(planState), rule.all, at);
    if (dueAt < fromAt) break;
    const heldCause = held.find((span) => span.fromAt < dueAt && dueAt <= span.toAt)?.cause;
    const isLate = asOfAt - dueAt > graceMsOf(rule.all, at, leaseMs);
    near.push({ slotAt: at, dueAt, cause: heldCause ?? (isLate ? lateCause : null) });
  }
  return near.reverse();
}

/** Cuts old slots where a pause begins and ends. */
function cutByCause(planState: PlanState, judging: Judging, firstAt: number, lastAt: number): Segment[] {
  const { rule, held, lateCause } = judging;
  const of = jitterOf(planState);
  const segments: Segment[] = [];
  let fromAt: number | null = firstAt;
  const cut = (toAt: number | null, cause: Cause): void => {
    if (fromAt === null || toAt === null || toAt < fromAt) return;
    const endAt = Math.min(toAt, lastAt);
    segments.push({ fromAt, toAt: endAt, cause });
    const nextAt: number | null = endAt >= lastAt ? null : rule.all.next(endAt);
    fromAt = nextAt !== null && nextAt <= lastAt ? nextAt : null;
  };
  for (const span of held) {
    const firstHeldAt = firstSlotDueFrom(of, rule.all, span.fromAt + 1);
    cut(firstHeldAt === null ? lastAt : rule.all.previous(firstHeldAt), lateCause);
    cut(newestDueSlot(of, rule.all, span.toAt), span.cause);
  }
  cut(lastAt, lateCause);
  return segments;
}

/** Which slots of each cause fire: the newest, as many as the policy says and no older than its window. */
function choose(
  planState: PlanState,
  { rule, asOfAt }: Judging,
  segments: Segment[],
  near: NearSlot[],
): Record<Cause, Choice> {
  const { policies } = planState.input.spec;
  const choices: Record<Cause, Choice> = {
    late: beginChoice(policies, 'late', asOfAt),
    paused: beginChoice(policies, 'paused', asOfAt),
    edited: beginChoice(policies, 'edited', asOfAt),
    deleted: beginChoice(policies, 'deleted', asOfAt),
  };
  const take = (cause: Cause, slotAt: number, dueAt: number): boolean => {
    const choice = choices[cause];
    if (choice.count === 0 || dueAt < choice.windowFromAt) return false;
    if (planState.state.skips.includes(slotAt)) return true;
    choice.count -= 1;
    choice.firesFromAt = slotAt;
    return true;
  };
  for (const { slotAt, dueAt, cause } of near.toReversed()) {
    if (cause !== null && !rule.isExcluded(slotAt)) take(cause, slotAt, dueAt);
  }
  for (const { fromAt, toAt, cause } of segments.toReversed()) {
    if (choices[cause].count === 0) continue;
    let at = rule.open.previous(toAt + 1);
    while (at !== null && at >= fromAt && take(cause, at, dueAtOf(jitterOf(planState), rule.all, at))) {
      at = rule.open.previous(at);
    }
  }
  return choices;
}

function decideNear(
  planState: PlanState,
  rule: CalendarRule,
  slot: NearSlot,
  choices: Record<Cause, Choice>,
): void {
  const { slotAt, cause } = slot;
  const choice = cause === null ? null : choices[cause];
  if (choice === null || slotAt >= choice.firesFromAt) {
    decideOne(planState, rule, slot);
    return;
  }
  const isBeyond = slot.dueAt < choice.windowFromAt;
  const reason = isBeyond ? reasons.beyondWindow : missedReason(cause as Cause, choice.mode);
  decideStretch(planState, rule, slotAt, slotAt, reason);
}

/** The order of decisions for a slot that is in time or caught up on; the ends were looked at before. */
function decideOne(planState: PlanState, rule: CalendarRule, { slotAt, dueAt, cause }: NearSlot): void {
  if (rule.isExcluded(slotAt)) {
    recordSlot(planState, slotAt, 'excluded', reasons.excluded);
  } else if (planState.state.skips.includes(slotAt)) {
    recordSlot(planState, slotAt, 'skipped', reasons.skipNext);
  } else {
    fireSlot(planState, {
      slotAt,
      dueAt,
      cause,
      previousSlotAt: () =>
        rule.all.pending?.slotAt === slotAt ? rule.all.pending.previousSlotAt : rule.open.previous(slotAt),
      nextSlotAt: () => nextSlotBefore(rule, slotAt, planState.input.spec.policies.endAt),
    });
  }
}

function nextSlotBefore(rule: CalendarRule, slotAt: number, endAt: number | null): number | null {
  const nextAt = rule.open.next(slotAt);
  return nextAt !== null && endAt !== null && nextAt > endAt ? null : nextAt;
}

/** The slots of a segment that its policy leaves behind: beyond the window, then the rest. */
function decideMissedPart(planState: PlanState, rule: CalendarRule, segment: Segment, choice: Choice): void {
  const { fromAt, cause } = segment;
  const toAt =
    choice.firesFromAt > segment.toAt ? segment.toAt : (rule.all.previous(choice.firesFromAt) ?? fromAt - 1);
  if (toAt < fromAt) return;
  const inWindowAt =
    choice.windowFromAt === Number.NEGATIVE_INFINITY
      ? fromAt
      : (firstSlotDueFrom(jitterOf(planState), rule.all, choice.windowFromAt) ?? toAt + 1);
  if (inWindowAt > fromAt) {
    const lastBeyondAt = inWindowAt > toAt ? toAt : (rule.all.previous(inWindowAt) as number);
    decideStretch(planState, rule, fromAt, lastBeyondAt, reasons.beyondWindow);
  }
  if (inWindowAt <= toAt) {
    decideStretch(planState, rule, Math.max(fromAt, inWindowAt), toAt, missedReason(cause, choice.mode));
  }
}

/** The slots of a segment that fire, one by one; what is excluded between them as a whole. */
function decideFiringPart(
  planState: PlanState,
  rule: CalendarRule,
  { fromAt, toAt, cause }: Segment,
  choice: Choice,
  throughAt: number,
): void {
  let at: number | null = Math.max(fromAt, choice.firesFromAt);
  while (at !== null && at <= toAt) {
    if (endIfOver(planState, rule, throughAt)) return;
    const openAt = rule.open.next(at - 1);
    if (openAt === null || openAt > toAt) {
      recordExcluded(planState, rule, at, toAt);
      return;
    }
    if (openAt > at) recordExcluded(planState, rule, at, rule.all.previous(openAt) as number);
    decideOne(planState, rule, {
      slotAt: openAt,
      dueAt: dueAtOf(jitterOf(planState), rule.all, openAt),
      cause,
    });
    if (planState.stopped !== null) return;
    at = rule.all.next(openAt);
  }
}

function recordExcluded(planState: PlanState, rule: CalendarRule, fromAt: number, toAt: number): void {
  const count = rule.all.countBetween(fromAt, toAt);
  record(planState, { fromAt, toAt, count, decision: 'excluded', reason: reasons.excluded });
}

/** Missed slots as a whole, but for those that skipNext names. */
function decideStretch(
  planState: PlanState,
  rule: CalendarRule,
  fromAt: number,
  toAt: number,
  reason: Reason,
): void {
  let at: number | null = fromAt;
  for (const skipAt of planState.state.skips) {
    if (at === null || skipAt < at || skipAt > toAt) continue;
    if (rule.all.next(skipAt - 1) !== skipAt || rule.isExcluded(skipAt)) continue;
    const beforeAt = rule.all.previous(skipAt);
    if (beforeAt !== null && beforeAt >= at) decideMissed(planState, rule, at, beforeAt, reason);
    recordSlot(planState, skipAt, 'skipped', reasons.skipNext);
    at = rule.all.next(skipAt);
  }
  if (at !== null && at <= toAt) decideMissed(planState, rule, at, toAt, reason);
}

// Up to so many slots, missed and excluded ones are told apart in rows of their own.
const listedMax = 256;

/**
 * Missed slots, with the excluded ones among them in rows of their own while there are few. Where there are many, they are one row that
 * counts the missed ones only; which of its slots are excluded is asked of the calendar.
 */
function decideMissed(
  planState: PlanState,
  rule: CalendarRule,
  fromAt: number,
  toAt: number,
  reason: Reason,
): void {
  const missed = { decision: 'missed' as const, reason };
  const { all, open } = rule;
  const firstOpenAt = open === all ? fromAt : open.next(fromAt - 1);
  if (firstOpenAt === null || firstOpenAt > toAt) {
    recordExcluded(planState, rule, fromAt, toAt);
    return;
  }
  coverMissed(planState, rule, fromAt, toAt);
  const count = open.countBetween(fromAt, toAt);
  if (open === all || (count !== null && all.countBetween(fromAt, toAt) === count)) {
    record(planState, { fromAt, toAt, count, ...missed });
    return;
  }
  const apart = listApart(rule, fromAt, toAt, missed);
  if (apart === null) record(planState, { fromAt, toAt, count, ...missed });
  else for (const { slotAt, decision, reason } of apart) recordSlot(planState, slotAt, decision, reason);
}

/** Each slot's own decision, or null when there are too many to look at. */
function listApart(
  { all, open }: CalendarRule,
  fromAt: number,
  toAt: number,
  missed: { decision: Decision; reason: Reason },
): { slotAt: number; decision: Decision; reason: Reason }[] | null {
  const apart: { slotAt: number; decision: Decision; reason: Reason }[] = [];
  let openAt = open.next(fromAt - 1);
  for (let at: number | null = fromAt; at !== null && at <= toAt; at = all.next(at)) {
    if (apart.length === listedMax) return null;
    if (openAt !== null && openAt < at) openAt = open.next(at - 1);
    apart.push(
      at === openAt
        ? { slotAt: at, ...missed }
        : { slotAt: at, decision: 'excluded', reason: reasons.excluded },
    );
  }
  return apart;
}
