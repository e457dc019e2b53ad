/** What an alert rule looks at. */
export const alertKinds = [
  'stuck',
  'failure_rate',
  'failures_in_row',
  'schedule_deadline',
  'waiting',
  'no_worker',
  'dead_letters',
] as const;

/** One of them. */
export type AlertKind = (typeof alertKinds)[number];

/** What makes a rule fire, with every choice made. */
export type AlertCondition =
  /** A job runs for longer than this. */
  | { kind: 'stuck'; afterMs: number }
  /** More than so many per cent of a type's jobs failed within the window, if at least `countMin` of them ended. */
  | { kind: 'failure_rate'; abovePercent: number; windowMs: number; countMin: number }
  /** The last so many runs of a schedule, or jobs of a type, all failed. */
  | { kind: 'failures_in_row'; count: number }
  /** A schedule has not succeeded by its `finishDeadline`, whether a run was made or not. */
  | { kind: 'schedule_deadline' }
  /** The oldest job that is due has waited for longer than this. */
  | { kind: 'waiting'; afterMs: number }
  /** Jobs wait whose type no live worker takes, for longer than this. */
  | { kind: 'no_worker'; afterMs: number }
  /** More dead letters than so many. */
  | { kind: 'dead_letters'; above: number };

/** A rule as it is stored. */
export interface AlertRule {
  id: string;
  condition: AlertCondition;
  isEnabled: boolean;
  /** How long the condition has to hold before anybody is told. */
  forMs: number;
  /** Only these types; null: all. */
  types: readonly string[] | null;
  /** Ids of the channels that are told; null: all of them. */
  channels: readonly string[] | null;
}

const minuteMs = 60_000;

/** The rules that are there from the first start. */
export const defaultAlertRules: readonly AlertRule[] = [
  rule('stuck', { kind: 'stuck', afterMs: 30 * minuteMs }),
  rule('failure-rate', { kind: 'failure_rate', abovePercent: 5, windowMs: 60 * minuteMs, countMin: 20 }),
  rule('failures-in-row', { kind: 'failures_in_row', count: 5 }),
  rule('schedule-deadline', { kind: 'schedule_deadline' }),
  rule('waiting', { kind: 'waiting', afterMs: 10 * minuteMs }),
  rule('no-worker', { kind: 'no_worker', afterMs: minuteMs }),
  rule('dead-letters', { kind: 'dead_letters', above: 0 }),
];

function rule(id: string, condition: AlertCondition): AlertRule {
  return { id, condition, isEnabled: true, forMs: 0, types: null, channels: null };
}
