/** Stored schedules whose rule cannot be read in this process: they are shown, paused, resumed and deleted all the same. */

import { type DulyError, isDulyError } from '../base/errors.ts';
import type { ScheduleRecord } from '../contract/engine.ts';
import { type Rule, resolveRule } from './calendar/rule.ts';
import { type RuleSpec, ruleKinds } from './calendar/rule-input.ts';
import { toPlanRule } from './definition/planned-rule.ts';
import type { ParsedSchedule, ParsedSchedules } from './definition/schedule-cache.ts';
import { parseSpec, type ScheduleSpec } from './definition/spec.ts';
import { parseState } from './definition/state.ts';

/** A stored schedule, read as far as that goes here. */
export interface ReadableSchedule extends ParsedSchedule {
  /** Why its rule cannot be read here; then `rule` and `planRule` name no slots. null: it can. */
  readonly unreadable: DulyError | null;
}

/** Reads a stored schedule. Throws `store_corrupt` or `schema_too_new`, but not what its rule throws. */
export function readSchedule(parsed: ParsedSchedules, record: ScheduleRecord): ReadableSchedule {
  try {
    return { ...parsed.parse(record), unreadable: null };
  } catch (error) {
    if (!isDulyError(error)) throw error;
    // What cannot be read at all throws here once more.
    const [spec, state] = [parseSpec(record.spec), parseState(record.state)];
    const rule = blankRule(spec);
    return { spec, state, rule, planRule: toPlanRule(rule), unreadable: error };
  }
}

/** A rule that shows the clock of its zone and names no slots. */
function blankRule({ rule: written, policies }: ScheduleSpec): Rule {
  const spec = {
    ...written,
    ...(policies.startAt === null ? {} : { startAt: policies.startAt }),
    ...(policies.endAt === null ? {} : { endAt: policies.endAt }),
  } as unknown as RuleSpec;
  const none = { next: () => null, previous: () => null, countBetween: () => null };
  return {
    ...clockOf(spec.timezone),
    ...none,
    kind: ruleKinds.find((kind) => spec[kind] !== undefined) ?? 'cron',
    timezone: spec.timezone,
    startAt: policies.startAt,
    endAt: policies.endAt,
    delayMs: spec.delay ?? null,
    spec,
    all: none,
    open: none,
    isExcluded: () => false,
  };
}

/** Any rule of the zone; that of UTC where the zone itself is not known here. */
function clockOf(timezone: string): Rule {
  const rule = { rate: 86_400_000, anchor: 'epoch' as const };
  try {
    return resolveRule({ ...rule, timezone });
  } catch {
    return resolveRule(rule);
  }
}
