import { type Rule, resolveRule } from '../calendar/rule.ts';
import type { RuleInput } from '../calendar/rule-input.ts';
import type { PendingSlot } from './pending-slot.ts';
import type { ResolvedPolicies } from './policies.ts';

/** Instants in order. `next` and `previous` exclude the instant they are given. */
export interface Slots {
  /** The first slot after an instant, or null. */
  next(afterAt: number): number | null;
  /** The last slot before an instant, or null. */
  previous(beforeAt: number): number | null;
  /** How many slots lie between two instants, both included; null where that cannot be told without walking. */
  countBetween(fromAt: number, toAt: number): number | null;
  /** The one among them that an edit left, and that keeps its due instant; left out: none. */
  readonly pending?: PendingSlot;
}

/** What the planner asks of a rule that names its slots ahead (cron, rate, RRULE). */
export interface CalendarRule {
  readonly kind: 'calendar';
  readonly timezone: string;
  /** The date of an instant in the rule's zone, `2027-01-15`. */
  dateOf(at: number): string;
  /** The date that a slot belongs to: for a time in a gap the one that the rule named. */
  slotDateOf(slotAt: number): string;
  /** Every nominal slot from `startAt` on; `exclude` and `endAt` are not applied: they are decisions. */
  readonly all: Slots;
  /** The slots that `exclude` leaves; the same object as `all` when nothing is excluded. */
  readonly open: Slots;
  /** Whether `exclude` takes this slot out. */
  isExcluded(slotAt: number): boolean;
}

/** What the planner asks of a fixed delay, whose slots depend on when the runs end. */
export interface DelayRule {
  readonly kind: 'delay';
  readonly timezone: string;
  dateOf(at: number): string;
  slotDateOf(slotAt: number): string;
  readonly delayMs: number;
  /** The slot that follows a run that began and ended at an instant, past what `exclude` takes out; null: none up to `endAt`. */
  after(at: number): number | null;
  isExcluded(at: number): boolean;
}

/** A rule as the planner sees it. */
export type PlanRule = CalendarRule | DelayRule;

/** How far slots are walked to count them, where arithmetic cannot do it. */
const walkMax = 1_000;

/** Counts slots by arithmetic, or by walking a little; `exact` is false when there are more than were walked. */
export function countSlots(slots: Slots, fromAt: number, toAt: number): { count: number; exact: boolean } {
  const known = slots.countBetween(fromAt, toAt);
  if (known !== null) return { count: known, exact: true };
  let count = 0;
  for (let at = slots.next(fromAt - 1); at !== null && at <= toAt; at = slots.next(at)) {
    if (count === walkMax) return { count, exact: false };
    count += 1;
  }
  return { count, exact: true };
}

/**
 * How many slots a run covers. Exact where the calendar counts; where exclusions make that long (a rate that does not divide the day), with
 * the excluded ones; and for a recurrence rule with too many to walk, at least so many.
 */
export function countCovered({ all, open }: CalendarRule, fromAt: number, toAt: number): number {
  return open.countBetween(fromAt, toAt) ?? countSlots(all, fromAt, toAt).count;
}

/** A stored rule in both of its forms: for the planner, and for those who show it. */
export interface StoredRule {
  /** With `startAt`, `endAt` and `exclude`: what will fire. */
  readonly rule: Rule;
  readonly planRule: PlanRule;
}

/** Resolves the rule of a schedule; `anchorAt` is what a rate without `startAt` counts from. */
export function resolveStoredRule(
  written: Readonly<Record<string, unknown>>,
  { startAt, endAt }: Pick<ResolvedPolicies, 'startAt' | 'endAt'>,
  anchorAt: number,
): StoredRule {
  const input: RuleInput = { ...written };
  if (startAt !== null) input.startAt = startAt;
  if (endAt !== null) input.endAt = endAt;
  const rule = resolveRule(input, { anchorAt });
  return { rule, planRule: toPlanRule(rule) };
}

/** A rule as the planner sees it. */
export function toPlanRule(rule: Rule): PlanRule {
  const { timezone, dateOf, slotDateOf, delayMs, isExcluded, all, open } = rule;
  if (delayMs !== null) {
    const after = (at: number): number | null => rule.next(at);
    return { kind: 'delay', timezone, dateOf, slotDateOf, delayMs, after, isExcluded };
  }
  return { kind: 'calendar', timezone, dateOf, slotDateOf, all, open, isExcluded };
}
