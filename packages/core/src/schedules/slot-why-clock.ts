// What a change of the clock did to a slot, in sentences.

import { hasBit } from './calendar/cron-fields.ts';
import type { Rule } from './calendar/rule.ts';
import type { SlotWhy } from './schedule-why.ts';
import type { MissingTime, SlotFacts } from './slot-why-facts.ts';
import { longDate } from './slot-why-words.ts';

/** What a change of the clock did to the slot; null: nothing. */
export function clockChange({ loaded, slotAt }: SlotFacts): SlotWhy['clockChange'] {
  const { rule } = loaded.parsed;
  if (rule.kind === 'rate' || rule.kind === 'delay') return null;
  const { gap, repeat, time } = rule.read(slotAt);
  if (gap !== null) return { kind: 'gap', named: gap.time, which: null };
  return repeat === null ? null : { kind: 'repeat', named: time, which: repeat };
}

/** What to say about a change of the clock at the slot. */
export function clockSentences(facts: SlotFacts, change: SlotWhy['clockChange'], isSlot: boolean): string[] {
  const { loaded, slotAt, missing } = facts;
  const { rule } = loaded.parsed;
  if (missing !== null && change?.kind !== 'gap') return missingSentences(facts, missing, isSlot);
  if (change === null) return [];
  const { date, gap, time, isNamedToo } = rule.read(slotAt);
  const day = `${longDate(gap?.date ?? date)} in ${rule.timezone}`;
  if (gap !== null) {
    const isOtherDay = gap.date !== date;
    const after = isOtherDay ? `${time} on ${longDate(date)}` : time;
    // Whoever asked for another time of the gap is told of that one.
    if (missing !== null && missing.date === gap.date && missing.time !== change.named) {
      const gone = `${missing.time} did not exist on ${day}`;
      const one = isNamedBy(rule, missing.time)
        ? `so its slot is the first instant after the gap, ${after}: one slot with ${change.named}, which did not exist either`
        : `and the rule does not name it; the first instant after the gap, ${after}, is the slot of ${change.named}, which did not exist either`;
      return [`${gone}, ${one}.`];
    }
    const first = `${change.named} did not exist on ${day}, so its slot is the first instant after the gap, ${after}`;
    if (isNamedToo)
      return [`${first}, which the rule names too: they are one slot, that of ${longDate(date)}.`];
    return [isOtherDay ? `${first}; it is the slot of ${longDate(gap.date)}.` : `${first}.`];
  }
  return [
    `${change.named} came twice on ${day}; this is the ${change.which === 'first' ? 'first' : 'second'} of them.`,
  ];
}

/** Whether a cron names this time of day; of other rules it is not asked. */
function isNamedBy({ cron }: Rule, time: string): boolean {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (cron === null) return false;
  return ((cron.hours >>> hour) & 1) === 1 && hasBit(cron.minutes, minute) && hasBit(cron.seconds, second);
}

/** A time in a gap was asked for, and the rule did not move it behind the gap. */
function missingSentences(facts: SlotFacts, { date, time }: MissingTime, isSlot: boolean): string[] {
  const { rule } = facts.loaded.parsed;
  const { spec, timezone } = rule;
  const followsClock = rule.kind === 'cron' || rule.kind === 'rrule';
  const isReal = rule.cron !== null && !rule.cron.isFixed;
  const skips = !followsClock
    ? ''
    : isReal
      ? ', and an hour field with "*", a step or a range follows real time, so it has no slot'
      : spec.dst.gap === 'skip'
        ? ', and dst.gap is "skip", so it has no slot'
        : '';
  const after = rule.read(facts.slotAt).time;
  return [
    `${time} did not exist on ${longDate(date)} in ${timezone}${skips}.`,
    ...(isSlot ? [`The first instant after the gap, ${after}, is a slot of its own.`] : []),
  ];
}
