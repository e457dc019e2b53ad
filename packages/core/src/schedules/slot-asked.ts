/** Which slot of a schedule somebody means. */
import { readMoment, readWallMoment } from './calendar/moment.ts';
import type { Kept } from './schedule-deleted.ts';
import type { MissingTime } from './schedule-why.ts';

/** The instant that is meant: of a wall time that comes twice the one that is a slot, of one in a gap the instant after it. */
export function readSlot(
  slot: Date | number | string,
  { parsed }: Kept,
): { askedAt: number; missing: MissingTime | null } {
  const { rule, planRule } = parsed;
  const moment = typeof slot === 'string' ? readWallMoment(slot, rule.timezone) : null;
  const instants = moment?.instants ?? [];
  const missing = moment === null || instants.length > 0 ? null : { date: moment.date, time: moment.time };
  const meantAt = readMoment(slot, 'slot', rule.timezone);
  if (planRule.kind === 'delay') return { askedAt: meantAt, missing };
  const { all } = planRule;
  // The slots of a rate have the milliseconds of the instant that it counts from, and nobody types those.
  const withinMs = rule.kind === 'rate' && meantAt % 1_000 === 0 ? 1_000 : 1;
  for (const at of instants.length === 0 ? [meantAt] : instants) {
    const slotAt = all.next(at - 1);
    if (slotAt !== null && slotAt < at + withinMs) return { askedAt: slotAt, missing };
  }
  return { askedAt: meantAt, missing };
}

/** Whether a ledger row holds this slot: a row of many slots holds only those that the rule names. */
export function isSlotOf(
  row: { fromAt: number; toAt: number; count?: number | null },
  slotAt: number,
  { parsed }: Kept,
): boolean {
  // The end of a row that was not counted may be the instant of a deletion, by a process that could not read the rule.
  if (row.fromAt === slotAt || (row.toAt === slotAt && row.count !== null)) return true;
  const { planRule } = parsed;
  return planRule.kind === 'delay' || planRule.all.next(slotAt - 1) === slotAt;
}
