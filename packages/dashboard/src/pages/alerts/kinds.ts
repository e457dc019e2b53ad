import type { AlertRule } from '../../api/operations.ts';
import { exactDuration } from '../../time/format.ts';
import { alertKinds } from './generated.ts';

export { alertKinds } from './generated.ts';

/** A value that a rule has, with its label in the dialog and the value of a default rule. */
export type Threshold = (typeof alertKinds)[number]['fields'][number];

/** What rules of this kind take. A kind that only a newer server has takes nothing here. */
export function thresholdsOf(kind: string): readonly Threshold[] {
  return alertKinds.find((one) => one.kind === kind)?.fields ?? [];
}

/** A value of a threshold, as it is shown and typed: `1 h 30 min`, `5`. */
export function thresholdText({ isDuration }: Threshold, value: number): string {
  return isDuration ? exactDuration(value) : String(value);
}

/** When the rule fires, for "An alert fires when …". */
export function sentenceOf(rule: Pick<AlertRule, 'kind' | Threshold['name']>): string {
  const kind = alertKinds.find((one) => one.kind === rule.kind);
  if (kind === undefined) return rule.kind;
  const texts = new Map(
    kind.fields.map((field: Threshold) => [
      field.name,
      thresholdText(field, rule[field.name] ?? field.default),
    ]),
  );
  return kind.describe.replace(/\{(\w+)\}/g, (mark, name) => texts.get(name) ?? mark);
}
