import { dulyError } from '../../base/errors.ts';
import type { JobPolicy, JsonText } from '../../contract/engine.ts';
import type { CallerFields } from '../../contract/job-fields.ts';
import type { ResolvedPolicies, SchedulePolicies } from './policies.ts';

/** What all runs of a schedule have in common of the fields that the caller of a job sets. Passive fields are optional. */
export interface ScheduleJob
  extends Partial<Omit<CallerFields, 'id' | 'rankOffsetMs' | 'origin' | 'copyOf'>> {
  /** Name of the task. */
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  input: JsonText;
  metadata: JsonText | null;
  policy: JobPolicy;
  serial: string | null;
}

/** What a person changed on a declared schedule: it survives deploys and shows as drift. */
export interface ScheduleOverride {
  /** Policies and rule fields that stand in place of the declared ones. */
  readonly changes: Readonly<Record<string, unknown>>;
  readonly by: string;
  readonly at: number;
  readonly note: string | null;
}

/** The user's side of a schedule, as kept in `ScheduleRecord.spec`. */
export interface ScheduleSpec {
  /** The rule as it was written, without policies: `{ cron, timezone, dst, exclude }` and the like. */
  rule: Readonly<Record<string, unknown>>;
  /** The policies as they were written, for diff and export; instants and durations as given. */
  written: SchedulePolicies;
  policies: ResolvedPolicies;
  job: ScheduleJob;
  /** The release that declared it last; null: none was given. */
  release: string | null;
  note: string | null;
  /** A person's change that stands above the declaration. */
  override: ScheduleOverride | null;
  /** What the code declares where an override stands in its way (`declared`), or that nothing declares it any more; null: no drift. */
  drift: { kind: 'overridden' | 'undeclared'; declared: Readonly<Record<string, unknown>> | null } | null;
}

const specVersion = 1;

/** The spec as stored text. */
export function serialiseSpec(spec: ScheduleSpec): JsonText {
  return JSON.stringify({ v: specVersion, ...spec });
}

/** Reads a stored spec. Throws `store_corrupt` for anything else and for a shape newer than this code. */
export function parseSpec(text: JsonText): ScheduleSpec {
  const { v, ...spec } = parseStored(text, 'spec', specVersion);
  return spec as unknown as ScheduleSpec;
}

/** Reads a stored JSON object of a schedule and checks the version of its shape. */
export function parseStored(
  text: JsonText,
  what: 'spec' | 'state',
  version: number,
): Record<string, unknown> {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch (cause) {
    throw corrupt(`The ${what} of a schedule is not JSON.`, cause);
  }
  const v = typeof stored === 'object' && stored !== null ? (stored as { v?: unknown }).v : undefined;
  if (typeof v !== 'number') throw corrupt(`The ${what} of a schedule has no version of its shape.`);
  if (v > version) {
    throw dulyError('schema_too_new', {
      message: `The ${what} of a schedule has shape ${v}; this version of Duly knows shapes up to ${version}.`,
      hint: 'Update this process: a newer one has written the schedule.',
      details: { schemaVersion: v, lowestCode: null },
    });
  }
  return stored as Record<string, unknown>;
}

function corrupt(message: string, cause?: unknown): Error {
  return dulyError('store_corrupt', {
    message,
    hint: 'Keep a copy of the store and restore a backup.',
    cause,
  });
}

/** What names and decides the slots of a schedule. */
export type RuleAndPolicies = Pick<ScheduleSpec, 'rule' | 'policies'>;

/**
 * Whether two specs name the same slots. `exclude` and `endAt` are decisions about slots and do not count; `startAt` does
 * where slots are counted from it.
 */
export function hasSameRule(one: RuleAndPolicies, other: RuleAndPolicies): boolean {
  return ruleKey(one) === ruleKey(other);
}

/** Whether two specs have the same rule, whatever it begins with. */
export function hasSameWrittenRule(one: RuleAndPolicies, other: RuleAndPolicies): boolean {
  const startAt = null;
  return hasSameRule(
    { ...one, policies: { ...one.policies, startAt } },
    { ...other, policies: { ...other.policies, startAt } },
  );
}

/** Whether slots of the same rule also begin with the same one and fall due at the same instants. */
export function hasSameInstants(
  { policies: one }: RuleAndPolicies,
  { policies: other }: RuleAndPolicies,
): boolean {
  const hasJitter = one.jitterMs !== 0 || other.jitterMs !== 0;
  const isSameMode = one.jitterMode === other.jitterMode || !hasJitter;
  return one.startAt === other.startAt && one.jitterMs === other.jitterMs && isSameMode;
}

const clockFields: readonly string[] = ['timezone', 'dst'];

function ruleKey({ rule, policies }: RuleAndPolicies): string {
  const { exclude: _exclude, startAt: _startAt, endAt: _endAt, ...rest } = rule;
  // A rate or a delay is real time: no clock names its slots.
  const isRealTime = 'rate' in rest || 'delay' in rest;
  const fields = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const startAt = 'cron' in rest ? null : policies.startAt;
  return JSON.stringify([fields.filter(([name]) => !isRealTime || !clockFields.includes(name)), startAt]);
}
