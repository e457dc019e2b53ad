import type { AlertFields, AlertKind, AnyAlertKind, FieldValues } from './alert-kind.ts';
import { alertKinds } from './rules/index.ts';

type ConditionOf<Kind> =
  Kind extends AlertKind<infer Name, infer Fields extends AlertFields, unknown>
    ? { kind: Name } & FieldValues<Fields>
    : never;

/** When a rule fires: its kind, and the values of the fields that the kind has. */
export type AlertCondition = ConditionOf<(typeof alertKinds)[number]>;

/** A rule as it is stored. */
export interface AlertRule {
  id: string;
  condition: AlertCondition;
  isEnabled: boolean;
  /** How long the condition must hold before the rule fires. */
  forMs: number;
  /** Only these types; null: all. */
  types: readonly string[] | null;
  /** Ids of the channels that are notified; null: all of them. */
  channels: readonly string[] | null;
}

const kinds = new Map<string, AnyAlertKind>(alertKinds.map((kind) => [kind.kind, kind]));

/** The kind with this name; undefined if only a newer release has it. */
export function alertKindOf(name: string): AnyAlertKind | undefined {
  return kinds.get(name);
}

/** The rules of a new store, one per kind. */
export const defaultAlertRules: readonly AlertRule[] = [...kinds.values()].map(({ kind, fields }) => {
  const values = Object.entries(fields).map(([name, field]) => [name, field.default]);
  return {
    id: kind.replaceAll('_', '-'),
    condition: { kind, ...Object.fromEntries(values) } as AlertCondition,
    isEnabled: true,
    forMs: 0,
    types: null,
    channels: null,
  };
});
