import { DulyError, type Duration, parseDuration } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { alertRuleChangeSchema, alertRuleSchema, newAlertRuleSchema } from '../schemas/alert.ts';
import { type AlertCondition, type AlertRule, alertKindOf, defaultAlertRules } from './alert-rule.ts';

type NewRule = z.infer<typeof newAlertRuleSchema>;
type RuleChange = z.infer<typeof alertRuleChangeSchema>;

/** A rule of what was sent; what is left out is as in the default rule of its kind. */
export function readRule({
  kind,
  id,
  ...change
}: NewRule): Omit<AlertRule, 'id'> & { id?: string | undefined } {
  const like = defaultAlertRules.find((one) => one.condition.kind === kind) as AlertRule;
  return { ...changedRule(like, change), id };
}

/** The rule with these changes. Throws `request_invalid` for a field that its kind does not have. */
export function changedRule(rule: AlertRule, change: RuleChange): AlertRule {
  const { enabled, for: hold, types, channels, ...fields } = change;
  return {
    ...rule,
    condition: changedCondition(rule.condition, fields),
    ...(enabled === undefined ? {} : { isEnabled: enabled }),
    ...(hold === undefined ? {} : { forMs: parseDuration(hold, 'for') }),
    ...(types === undefined ? {} : { types }),
    ...(channels === undefined ? {} : { channels }),
  };
}

function changedCondition(condition: AlertCondition, given: Record<string, unknown>): AlertCondition {
  const fields = Object.entries(alertKindOf(condition.kind)?.fields ?? {});
  const changed: Record<string, unknown> = { ...condition };
  for (const [json, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const [name, field] = fields.find(([, one]) => one.json === json) ?? [];
    if (name === undefined || field === undefined) {
      const message = `A rule of kind "${condition.kind}" has no "${json}".`;
      throw new DulyError('request_invalid', {
        message,
        details: { issues: [{ in: 'body', path: json, message }] },
      });
    }
    changed[name] = field.type === 'duration' ? parseDuration(value as Duration, json) : value;
  }
  return changed as AlertCondition;
}

/** A rule as it is shown. */
export function toRuleJson({
  id,
  condition,
  isEnabled,
  forMs,
  types,
  channels,
}: AlertRule): z.infer<typeof alertRuleSchema> {
  const values: Record<string, string | number> = condition;
  const fields = Object.entries(alertKindOf(condition.kind)?.fields ?? {});
  return {
    id,
    kind: condition.kind,
    enabled: isEnabled,
    for: forMs,
    types: types === null ? null : [...types],
    channels: channels === null ? null : [...channels],
    ...Object.fromEntries(fields.map(([name, { json }]) => [json, values[name]])),
  };
}
