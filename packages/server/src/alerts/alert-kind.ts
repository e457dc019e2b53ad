import type { Counts, Duly, NodeView, Pause } from '@duly/core';
import type { ScheduleFact } from './schedule-facts.ts';

/** A value that users choose for a rule: one field in HTTP, one value of the stored condition. */
export interface AlertField {
  /** Name in HTTP. Kinds may share a name; they must agree on whether it is a duration. */
  readonly json: string;
  readonly type: 'duration' | 'number' | 'integer';
  /** What a rule has unless the user chooses another value; durations in milliseconds. */
  readonly default: number;
  /** Bounds of a number. */
  readonly min?: number;
  readonly max?: number;
  /** Label in the dashboard. */
  readonly label: string;
  /** Description in the HTTP reference. */
  readonly doc?: string;
}

/** The fields of a kind by their name in the stored condition. */
export type AlertFields = Readonly<Record<string, AlertField>>;

/** The values of a rule's fields. */
export type FieldValues<Fields extends AlertFields> = { readonly [Name in keyof Fields]: number };

/** What a rule found. A rule finds at most one thing per subject. */
export interface Finding {
  /** What it is about: `type:send-mail`, `schedule:nightly`, `queue:default` or `store`. */
  subject: string;
  message: string;
}

/** Where kinds read their facts. The values are read once per evaluation, for all rules. */
export interface FactSource {
  readonly duly: Duly;
  /** The store's clock. */
  readonly now: number;
  readonly counts: Counts;
  readonly nodes: readonly NodeView[];
  readonly pauses: readonly Pause[];
  /** Schedules that are overdue or whose runs fail. */
  schedules(): Promise<readonly ScheduleFact[]>;
}

/**
 * A kind of alert rule. The HTTP schemas, the default rules, the evaluation, the dashboard's dialog and the
 * table of the guide are derived from the list of kinds in `rules/index.ts`.
 */
export interface AlertKind<Name extends string, Fields extends AlertFields, Facts> {
  readonly kind: Name;
  /** The choice in the dashboard's dialog. */
  readonly title: string;
  /** When a rule fires, for "An alert fires when …". `{after}` is replaced by the value of that field. */
  readonly describe: string;
  readonly fields: Fields;
  /** Reads what the enabled rules of this kind need. */
  collect(source: FactSource, conditions: readonly FieldValues<Fields>[]): Promise<Facts>;
  /** What one rule finds in the facts. Pure. `isIncluded` says whether the rule applies to a type. */
  evaluate(
    facts: Facts,
    condition: FieldValues<Fields>,
    isIncluded: (type: string) => boolean,
  ): readonly Finding[];
}

/** Any kind, for code that treats all kinds alike. */
export type AnyAlertKind = AlertKind<string, AlertFields, unknown>;

/** Infers the types of a kind. */
export function defineAlertKind<const Name extends string, const Fields extends AlertFields, Facts>(
  kind: AlertKind<Name, Fields, Facts>,
): AlertKind<Name, Fields, Facts> {
  return kind;
}
