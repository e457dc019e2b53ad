/** The rules of the proofs' schedules written down a second time: no calendar, only counting. UTC, and only the forms that proofs use. */
import type { CalendarRule, PlanRule } from '../../packages/core/src/schedule/plan-rule.ts';

/** What a stored rule says. */
export interface WrittenRule {
  rate?: number;
  delay?: number;
  cron?: string;
  anchor?: 'start' | 'epoch';
  exclude?: unknown;
}

const second = 1_000;
const minute = 60 * second;

/** A rule that counts; null: a form that this page does not know. `anchorAt` is what a rate counts from. */
export function countedRule(written: WrittenRule, startAt: number | null, anchorAt: number): PlanRule | null {
  const isExcluded = excludedBy(written.exclude);
  const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
  if (isExcluded === null) return null;
  if (written.delay !== undefined) {
    const delayMs = written.delay;
    // Only for those who look ahead; the proofs look back.
    const after = (at: number): number => Math.max(at + delayMs, startAt ?? 0);
    return { kind: 'delay', timezone: 'UTC', dateOf, slotDateOf: dateOf, delayMs, after, isExcluded };
  }
  const grid = gridOf(written, startAt, anchorAt);
  if (grid === null) return null;
  const fromAt = startAt ?? Number.NEGATIVE_INFINITY;
  const next = (afterAt: number): number | null => {
    const after = Math.max(afterAt, fromAt - 1);
    return grid.baseAt + (Math.floor((after - grid.baseAt) / grid.everyMs) + 1) * grid.everyMs;
  };
  const previous = (beforeAt: number): number | null => {
    const at = grid.baseAt + (Math.ceil((beforeAt - grid.baseAt) / grid.everyMs) - 1) * grid.everyMs;
    return at < fromAt ? null : at;
  };
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
    timezone: 'UTC',
    dateOf,
    slotDateOf: dateOf,
    all,
    open,
    isExcluded,
  } satisfies CalendarRule;
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
