// Why a slot without a row in the ledger is not decided, and what is to become of it.

import { formatDuration } from '../base/duration.ts';
import { readWallMoment } from './calendar/moment.ts';
import { currentPause } from './definition/state.ts';
import { reasons } from './planner/decision.ts';
import { graceMsOf } from './planner/grace.ts';
import { endOf } from './planner/plan-operations.ts';
import { undecidedStatus } from './planner/undecided-status.ts';
import { scheduleLeaseMs } from './schedule-lease.ts';
import type { ScheduleDeletion } from './schedule-view.ts';
import { type Answer, dueAt, type EarlierGeneration, type SlotFacts } from './slot-why-facts.ts';
import { byWhom, capital, clockOf, longDate, rough } from './slot-why-words.ts';

/** What is to become of a slot that no row holds. */
export function undecided(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { record, parsed } = loaded;
  const { planRule, spec, state } = parsed;
  const name = `schedule "${record.name}"`;
  if (loaded.deleted !== undefined) return undecidedForGood(facts, loaded.deleted);
  if (planRule.kind === 'delay') return undecidedDelay(facts);
  if (planRule.all.next(slotAt - 1) !== slotAt) return noSlot(facts);
  // The first slot of a fixed delay is the making itself; an edit may have kept it.
  if (slotAt <= state.bornAt && state.pendingSlot?.slotAt !== slotAt) {
    return none(
      `The ${name} was created at ${clockOf(facts, state.bornAt)}, after this slot, and decides nothing before that.${earlierText(facts)}`,
    );
  }
  if (slotAt <= state.cursorAt) {
    return none(
      `The decision about this slot is no longer in the ledger, or the rule of ${name} was another one then.`,
    );
  }
  const { endAt } = spec.policies;
  const end =
    endOf({ rule: planRule, spec, state }) ?? (endAt !== null && slotAt > endAt ? reasons.endAt : null);
  if (end !== null) {
    return {
      status: 'ended',
      sentences: [`It will not run: the ${name} is over before this slot${endText(facts, end)}.`],
    };
  }
  return waiting(facts, graceMsOf(planRule.all, slotAt, scheduleLeaseMs));
}

/** It is to be decided: not due yet, held, or left by the nodes. */
function waiting(facts: SlotFacts, graceMs: number): Answer {
  const { parsed, now } = facts.loaded;
  const { spec, state } = parsed;
  const due = dueAt(facts);
  if (due > now) return coming(facts, due);
  const status = undecidedStatus({ dueAt: due, now, graceMs, pause: currentPause(state, now) });
  if (status === 'held') return { status, sentences: heldSentences(facts) };
  const since = `It is due since ${clockOf(facts, due)} and no node has decided it yet`;
  const isLate = status === 'late';
  const sentences = [
    `${since}${isLate ? `, ${formatDuration(now - due)} later; is a node with the role "scheduler" running?` : '.'}`,
  ];
  // The end of a pause that has one is noted with the next decision.
  const { pause } = state;
  if (pause?.untilAt != null && due > pause.at && due < pause.untilAt) {
    sentences.unshift(`It fell in a pause that ended at ${clockOf(facts, pause.untilAt)}.`);
    sentences.push(`What becomes of it is decided by onResume: "${spec.policies.onResume}".`);
  }
  return { status, sentences };
}

/** The schedule of this name that was there at a slot, or that was deleted before it. */
function earlierText(facts: SlotFacts): string {
  const { earlier, slotAt } = facts;
  const then = earlier.find(({ bornAt, deletedAt }) => bornAt < slotAt && slotAt <= deletedAt);
  if (then !== undefined) {
    return ` An earlier one of this name was there then, created at ${clockOf(facts, then.bornAt)} and ${goneText(facts, then)}; the ledger has no decision of it about this instant.`;
  }
  const last = earlier.find(({ deletedAt }) => deletedAt < slotAt);
  return last === undefined
    ? ''
    : ` An earlier one of this name was ${goneText(facts, last)}, before this slot.`;
}

/** When an earlier schedule was deleted, and by whom. */
export function goneText(facts: SlotFacts, { deletedAt, by, note }: EarlierGeneration): string {
  return `deleted at ${clockOf(facts, deletedAt)} by ${by}${note === null ? '' : ` ("${note}")`}`;
}

function endText(facts: SlotFacts, end: string): string {
  const { maxRuns, endAt } = facts.loaded.parsed.spec.policies;
  if (end === reasons.maxRuns) {
    return `: ${maxRuns === 1 ? 'one slot has' : `${maxRuns} slots have`} fired, and "maxRuns" allows no more`;
  }
  return end === reasons.endAt && endAt !== null ? `: it lies after "endAt", ${clockOf(facts, endAt)}` : '';
}

function coming(facts: SlotFacts, due: number): Answer {
  const { loaded, slotAt } = facts;
  const { planRule, state } = loaded.parsed;
  const inMs = due - loaded.now;
  const sentences = [`It is not due yet: it falls due at ${clockOf(facts, due)}, in ${rough(inMs)}.`];
  if (planRule.kind === 'calendar' && planRule.isExcluded(slotAt)) {
    sentences.push('A calendar of "exclude" names it, so nothing will run.');
  } else if (state.skips.includes(slotAt)) {
    sentences.push(`It will be skipped${byWhom(facts)}.`);
  }
  if (currentPause(state, loaded.now) !== null) sentences.push(`The schedule is ${pausedText(facts)}.`);
  return { status: 'pending', sentences };
}

function undecidedDelay(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { state } = loaded.parsed;
  if (state.nextSlotAt === slotAt) {
    const end = endOf({ rule: loaded.parsed.planRule, spec: loaded.parsed.spec, state });
    if (end !== null) {
      const over = `It will not run: the schedule "${loaded.record.name}" is over before this slot`;
      return { status: 'ended', sentences: [`${over}${endText(facts, end)}.`] };
    }
    return waiting(facts, graceMsOf(null, slotAt, scheduleLeaseMs));
  }
  return none(
    `The slots of a fixed delay follow from the ends of its runs, and none was at this instant.${state.nextSlotAt === null ? '' : ` The next one is ${clockOf(facts, state.nextSlotAt)}.`}`,
  );
}

function noSlot(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { planRule } = loaded.parsed;
  if (planRule.kind === 'delay') return undecidedDelay(facts);
  const [before, after] = [planRule.all.previous(slotAt), planRule.all.next(slotAt)];
  const around = [
    ...(before === null ? [] : [`the one before is ${clockOf(facts, before)}`]),
    ...(after === null ? [] : [`the one after is ${clockOf(facts, after)}`]),
  ];
  const other = otherOfTwo(facts);
  if (other !== null) return none(other);
  if (facts.missing !== null && around.length > 0) return none(`${capital(around.join(', '))}.`);
  return none(
    `${clockOf(facts, slotAt)} is no slot of the schedule "${loaded.record.name}"${around.length === 0 ? '' : `: ${around.join(', ')}`}.`,
  );
}

/** A time that comes twice, of which the rule has the other one as its slot; null: it is not that. */
function otherOfTwo({ loaded, slotAt }: SlotFacts): string | null {
  const { planRule, rule } = loaded.parsed;
  const { repeat, date, time } = rule.read(slotAt);
  if (repeat === null || planRule.kind === 'delay' || rule.kind === 'rate') return null;
  const instants = readWallMoment(`${date}T${time}`, rule.timezone)?.instants ?? [];
  const isOther = instants.some((at) => at !== slotAt && planRule.all.next(at - 1) === at);
  if (!isOther) return null;
  const which = repeat === 'first' ? ['first', 'second'] : ['second', 'first'];
  return `${time} came twice on ${longDate(date)} in ${rule.timezone}; this is the ${which[0]} of them, and the slot is the ${which[1]}, by dst.repeat: "${rule.spec.dst.repeat}".`;
}

function none(sentence: string): Answer {
  return { status: 'none', sentences: [sentence] };
}

function pausedText(facts: SlotFacts): string {
  const { state } = facts.loaded.parsed;
  const pause = state.pause as NonNullable<typeof state.pause>;
  const who =
    pause.cause === 'failures' ? 'after failures in a row' : pause.by === null ? '' : `by ${pause.by}`;
  const note = pause.note === null ? '' : ` ("${pause.note}")`;
  const until = pause.untilAt === null ? '' : `, until ${clockOf(facts, pause.untilAt)}`;
  const isDisabled = pause.cause === 'disabled';
  const sinceAt = isDisabled ? (pause.disabledAt ?? pause.at) : pause.at;
  const since = `${isDisabled ? 'disabled' : 'paused'} since ${clockOf(facts, sinceAt)}`;
  // Slots are held from here on.
  const before = sinceAt === pause.at ? '' : `, after a pause since ${clockOf(facts, pause.at)}`;
  return `${since}${who === '' ? '' : ` ${who}`}${note}${until}${before}`;
}

function heldSentences(facts: SlotFacts): string[] {
  const { onResume } = facts.loaded.parsed.spec.policies;
  return [
    `The schedule is ${pausedText(facts)}, and the slot is held.`,
    `What becomes of it is decided when the schedule goes on, by onResume: "${onResume}".`,
  ];
}

/** No row, and nobody will write one any more. */
function undecidedForGood(facts: SlotFacts, deleted: ScheduleDeletion): Answer {
  const { loaded, slotAt } = facts;
  const { planRule, state } = loaded.parsed;
  if (planRule.kind !== 'delay' && planRule.all.next(slotAt - 1) !== slotAt) return noSlot(facts);
  if (slotAt <= state.bornAt && state.pendingSlot?.slotAt !== slotAt) {
    return none(
      `The schedule "${loaded.record.name}" was created at ${clockOf(facts, state.bornAt)}, after this slot, and decided nothing before that.${earlierText(facts)}`,
    );
  }
  if (slotAt <= state.cursorAt) {
    return none('The ledger has no decision about this slot, or no longer.');
  }
  const isBefore = slotAt <= deleted.at.getTime();
  return none(`It was ${isBefore ? 'not decided yet' : 'not due yet'} when the schedule was deleted.`);
}
