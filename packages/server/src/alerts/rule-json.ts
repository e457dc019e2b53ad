import { DulyError, type Duration, parseDuration } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { alertRuleChangeSchema, alertRuleSchema, newAlertRuleSchema } from '../schemas/alert.ts';
import { type AlertCondition, type AlertRule, defaultAlertRules } from './alert-rule.ts';

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

type Fields = Pick<RuleChange, 'after' | 'above' | 'window' | 'min_count' | 'count'>;

/** Which fields a condition has, by what JSON calls them. */
const fieldsOf: Record<
  AlertCondition['kind'],
  Partial<Record<keyof Fields, { name: string; isDuration: boolean }>>
> = {
  stuck: { after: { name: 'afterMs', isDuration: true } },
  failure_rate: {
    above: { name: 'abovePercent', isDuration: false },
    window: { name: 'windowMs', isDuration: true },
    min_count: { name: 'countMin', isDuration: false },
  },
  failures_in_row: { count: { name: 'count', isDuration: false } },
  schedule_deadline: {},
  waiting: { after: { name: 'afterMs', isDuration: true } },
  no_worker: { after: { name: 'afterMs', isDuration: true } },
  dead_letters: { above: { name: 'above', isDuration: false } },
};

function changedCondition(condition: AlertCondition, given: Fields): AlertCondition {
  const changed: Record<string, unknown> = { ...condition };
  for (const [field, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const known = fieldsOf[condition.kind][field as keyof Fields];
    if (known === undefined) {
      const message = `A rule of kind "${condition.kind}" has no "${field}".`;
      throw new DulyError('request_invalid', {
        message,
        details: { issues: [{ in: 'body', path: field, message }] },
      });
    }
    changed[known.name] = known.isDuration ? parseDuration(value as Duration, field) : value;
  }
  return changed as unknown as AlertCondition;
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
  const values = condition as unknown as Record<string, number>;
  const fields = Object.entries(fieldsOf[condition.kind]).map(([field, { name }]) => [field, values[name]]);
  return {
    id,
    kind: condition.kind,
    enabled: isEnabled,
    for: forMs,
    types: types === null ? null : [...types],
    channels: channels === null ? null : [...channels],
    ...Object.fromEntries(fields),
  };
}
