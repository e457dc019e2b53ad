import { type Rule, type RuleInput, resolveRule } from '../calendar/rule.ts';
import type { PlanRule } from './plan-rule.ts';
import type { ResolvedPolicies } from './policies.ts';

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
