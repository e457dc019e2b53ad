/** The rules of the proofs' schedules written down a second time: no calendar, only counting. Only the zones and the forms that proofs use. */
import type { CalendarRule, PlanRule } from '../../packages/core/src/schedules/definition/planned-rule.ts';
import { behindMs, type ZonedCron, zone, zonedSlots } from './zoned-slots.ts';

/** What a stored rule says. */
export interface WrittenRule {
  rate?: number;
  delay?: number;
  cron?: string;
  anchor?: 'start' | 'epoch';
  timezone?: string;
  dst?: ZonedCron['dst'];
  exclude?: unknown;
}

const second = 1_000;
const minute = 60 * second;

/** A rule that counts; null: a form that this page does not know. `anchorAt` is what a rate counts from. */
export function countedRule(written: WrittenRule, startAt: number | null, anchorAt: number): PlanRule | null {
  const isExcluded = excludedBy(written.exclude);
  const isZoned = written.timezone === zone;
  const timezone = isZoned ? zone : 'UTC';
  const dateOf = (at: number): string =>
    new Date(at - (isZoned ? behindMs(at) : 0)).toISOString().slice(0, 10);
  if (isExcluded === null) return null;
  if (written.delay !== undefined) {
    const delayMs = written.delay;
    // Only for those who look ahead; the proofs look back.
    const after = (at: number): number => Math.max(at + delayMs, startAt ?? 0);
    return { kind: 'delay', timezone, dateOf, slotDateOf: dateOf, delayMs, after, isExcluded };
  }
  const fromAt = startAt ?? Number.NEGATIVE_INFINITY;
  const steps = listed(written, anchorAt, fromAt) ?? counted(written, startAt, anchorAt, fromAt);
  if (steps === null) return null;
  const { next, previous } = steps;
  const countBetween = (): null => null;
  const all = { next, previous, countBetween };
  const skip =
    (step: (at: number) => number | null) =>
    (at: number): number | null => {
      let found = step(at);
      while (found !== null && isExcluded(found)) found = step(found);
      return found;
    };
  const open = { next: skip(next), previous: skip(previous), countBetween };
  return {
    kind: 'calendar',
    timezone,
    dateOf,
    slotDateOf: dateOf,
    all,
    open,
    isExcluded,
  } satisfies CalendarRule;
}

type Steps = Pick<CalendarRule['all'], 'next' | 'previous'>;

/** Slots at equal distances. */
function counted(
  written: WrittenRule,
  startAt: number | null,
  anchorAt: number,
  fromAt: number,
): Steps | null {
  const grid = gridOf(written, startAt, anchorAt);
  if (grid === null) return null;
  return {
    next(afterAt) {
      const after = Math.max(afterAt, fromAt - 1);
      return grid.baseAt + (Math.floor((after - grid.baseAt) / grid.everyMs) + 1) * grid.everyMs;
    },
    previous(beforeAt) {
      const at = grid.baseAt + (Math.ceil((beforeAt - grid.baseAt) / grid.everyMs) - 1) * grid.everyMs;
      return at < fromAt ? null : at;
    },
  };
}

// Worlds last minutes, and their clocks jump by hours.
const listedDays = 10;

/** Slots by the clocks of a zone, one by one. */
function listed({ cron, timezone, dst }: WrittenRule, anchorAt: number, fromAt: number): Steps | null {
  if (timezone !== zone || cron === undefined || dst === undefined) return null;
  const slots = zonedSlots({ cron, dst }, anchorAt, listedDays)?.filter((at) => at >= fromAt);
  if (slots === undefined) return null;
  return {
    next: (afterAt) => slots.find((at) => at > afterAt) ?? null,
    previous: (beforeAt) => slots.findLast((at) => at < beforeAt) ?? null,
  };
}

function gridOf(
  { rate, cron, anchor }: WrittenRule,
  startAt: number | null,
  anchorAt: number,
): { baseAt: number; everyMs: number } | null {
  if (rate !== undefined) return { baseAt: anchor === 'epoch' ? 0 : (startAt ?? anchorAt), everyMs: rate };
  if (cron === '* * * * *') return { baseAt: 0, everyMs: minute };
  if (cron === '* * * * * *') return { baseAt: 0, everyMs: second };
  const everySeconds = /^\*\/(5|10|15|20|30) \* \* \* \* \*$/.exec(cron ?? '')?.[1];
  return everySeconds === undefined ? null : { baseAt: 0, everyMs: Number(everySeconds) * second };
}

/** Proofs leave out some seconds of every minute, or nothing. */
function excludedBy(exclude: unknown): ((at: number) => boolean) | null {
  const text = JSON.stringify(exclude ?? []);
  if (text === '[]') return () => false;
  const range = /"(\d+)-(\d+) \* \* \* \* \*"/.exec(text);
  if (range === null) return null;
  const [from, to] = [Number(range[1]), Number(range[2])];
  return (at) => {
    const inMinute = Math.floor((((at % minute) + minute) % minute) / second);
    return inMinute >= from && inMinute <= to;
  };
}
