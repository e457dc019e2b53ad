import type { Finding } from './alert-kind.ts';
import { type AlertRule, alertKindOf } from './alert-rule.ts';
import type { AlertFacts } from './facts.ts';

/** What the rule finds in the facts, sorted by subject. Pure. */
export function evaluateRule(
  { condition, types, isEnabled }: AlertRule,
  { byKind }: Pick<AlertFacts, 'byKind'>,
): Finding[] {
  const kind = alertKindOf(condition.kind);
  if (!isEnabled || kind === undefined) return [];
  const isIncluded = (type: string): boolean => types === null || types.includes(type);
  const { kind: name, ...values } = condition;
  return [...kind.evaluate(byKind.get(name), values, isIncluded)].sort((a, b) =>
    a.subject < b.subject ? -1 : 1,
  );
}
