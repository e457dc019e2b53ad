import type { Rule } from '@duly/core';
import { localText } from '@duly/core/internal';

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** The same with the day of the week, for people: `Sun 2027-03-14 03:00 -04:00`. */
export function dayText(instant: Date, rule: Pick<Rule, 'read'>): string {
  const { date } = rule.read(instant.getTime());
  return `${weekdays[new Date(`${date}T00:00:00Z`).getUTCDay()]} ${localText(instant, rule)}`;
}

/** What a change of the clock does to a slot, in words; empty: nothing. */
export function hazardText(slot: Date, rule: Rule): string {
  const { gap, repeat, time } = rule.read(slot.getTime());
  if (gap !== null) {
    return `${gap.time} does not exist on ${gap.date}: the first instant after the gap`;
  }
  if (repeat !== null) return `${time} comes twice: the ${repeat === 'first' ? 'first' : 'second'} time`;
  return '';
}
