import type { Duration } from '../../base/duration.ts';
import { formatInstant, instantAtMax } from '../../base/instant.ts';
import { readOptions, readWord } from '../../base/option-reader.ts';
import type { CronFields } from './cron-fields.ts';
import { parseCron } from './cron-parse.ts';
import { readExclude } from './exclude-input.ts';
import { readBound } from './moment.ts';
import { parseRrule, type RruleText } from './rrule-text.ts';
import {
  type RuleInput,
  type RuleKind,
  type RuleSpec,
  readDst,
  readKind,
  readPeriod,
  readZone,
  refuse,
  ruleFields,
} from './rule-input.ts';
import { createParts, type Parts } from './rule-parts.ts';
import {
  type ClockChange,
  findClockChanges,
  readInstant,
  readSlot,
  type SlotReading,
  slotDate,
} from './rule-reading.ts';
import { refuseUseless } from './rule-refusals.ts';
import { rememberNone, type SlotTimes } from './slot-times.ts';

/** Slots in order, in epoch milliseconds. */
export interface RuleSlots {
  /** The first slot after an instant, or null if there are no more. A delay assumes that a run takes no time. */
  next(afterAt: number): number | null;
  /** The last slot before an instant, or null if there is none. Null for a delay, which depends on when runs ended. */
  previous(beforeAt: number): number | null;
  /** How many slots there are from `fromAt` to `toAt`, both included; null if that is unknown or takes long to count. */
  countBetween(fromAt: number, toAt: number): number | null;
}

/** A rule that was checked. Its own slots are those that `exclude` leaves, from `startAt` to `endAt`. */
export interface Rule extends RuleSlots {
  readonly kind: RuleKind;
  readonly timezone: string;
  readonly startAt: number | null;
  readonly endAt: number | null;
  /** How long a delay is; null for other kinds. */
  readonly delayMs: number | null;
  readonly spec: RuleSpec;
  /** The cron as masks, for those who put it into words; null for other kinds. */
  readonly cron: CronFields | null;
  /** The recurrence rule as read; null for other kinds. */
  readonly rrule: RruleText | null;
  /** Every slot that the rule names from `startAt` on; `exclude` and `endAt` are not applied. */
  readonly all: RuleSlots;
  /** The slots of `all` that `exclude` leaves; the same object if nothing is excluded. */
  readonly open: RuleSlots;
  /** Whether `exclude` takes this slot out. */
  isExcluded(slotAt: number): boolean;
  /** The date of an instant in the rule's zone, `2027-01-15`. */
  dateOf(at: number): string;
  /** The date that a slot belongs to: that of its instant or, for a time in a gap, the one that the rule named. */
  slotDateOf(slotAt: number): string;
  /** What the zone's clock shows at a slot, and whether a change of the clock moved it. */
  read(slotAt: number): SlotReading;
  /** The changes of the clock from `fromAt` to `toAt` that fall on a time the rule fixes; none for rules that follow real time. */
  clockChanges(fromAt: number, toAt: number): ClockChange[];
}

/** How a rule is resolved. */
export interface ResolveRuleOptions {
  /**
   * Given when a rule is created: then it is refused if it is over before it begins (only past years), never fires, or excludes all its
   * slots. A rule that was stored is resolved without: it was accepted once.
   */
  now?: number;
  /** Where a rate without `startAt` counts from: when its schedule was created. */
  anchorAt?: number;
}

/**
 * Checks a rule and makes it answer. Throws `invalid_rule`, `invalid_cron`, `invalid_timezone`, `invalid_rrule`,
 * `invalid_duration`, `invalid_instant`, `rrule_library_missing`, and with `now` also `rule_never_fires` and `everything_excluded`.
 */
export function resolveRule(input: string | RuleInput, { now, anchorAt }: ResolveRuleOptions = {}): Rule {
  const given = typeof input === 'string' ? { cron: input } : input;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    refuse('rule', given, 'to be a cron, or an object with "cron", "rate", "delay" or "rrule"');
  }
  const options = readOptions<RuleInput>(given, 'a rule', ruleFields, 'invalid_rule');
  const kind = readKind(options);
  const dst = readDst(options.dst);
  const text = kind === 'rrule' ? parseRrule(options.rrule as string) : null;
  const zone = readZone(options.timezone, text);
  const timezone = options.timezone ?? text?.timezone ?? null;
  const startAt = options.startAt === undefined ? null : readBound(options.startAt, 'startAt', timezone);
  const endAt = options.endAt === undefined ? null : readBound(options.endAt, 'endAt', timezone);
  if (startAt !== null && endAt !== null && endAt < startAt) {
    refuse('endAt', formatInstant(endAt), `not to be before "startAt", which is ${formatInstant(startAt)}`);
  }
  if (options.anchor !== undefined) {
    if (kind !== 'rate') refuse('anchor', options.anchor, 'to stand beside "rate" only');
    readWord(options.anchor, 'anchor', ['start', 'epoch']);
  }
  const exclude = readExclude(options.exclude);
  const spec: RuleSpec = {
    ...(kind === 'cron' ? { cron: parseCron(options.cron as string, { now }).text } : {}),
    ...(kind === 'rate' ? { rate: readPeriod(options.rate as Duration, 'rate') } : {}),
    ...(kind === 'delay' ? { delay: readPeriod(options.delay as Duration, 'delay') } : {}),
    ...(kind === 'rrule' ? { rrule: options.rrule as string } : {}),
    timezone: zone.name,
    dst,
    exclude,
    ...(startAt === null ? {} : { startAt }),
    ...(endAt === null ? {} : { endAt }),
    ...(kind === 'rate' ? { anchor: options.anchor ?? 'start' } : {}),
  };
  const parts = createParts({ spec, kind, zone, text, anchorAt: anchorAt ?? now ?? 0 });
  const rule = createRule(parts);
  if (now !== undefined) refuseUseless(rule, now);
  return rule;
}

/** Whether this is a rule that `resolveRule` made. */
export function isRule(value: unknown): value is Rule {
  return typeof value === 'object' && value !== null && typeof (value as Rule).countBetween === 'function';
}

function createRule(parts: Parts): Rule {
  const { spec, zone } = parts;
  const startAt = spec.startAt ?? 0;
  const endAt = spec.endAt ?? instantAtMax;
  const all = createSlots(parts.nominal, startAt, instantAtMax);
  const remaining = parts.remaining === null ? null : rememberNone(parts.remaining);
  const open = remaining === null ? all : createSlots(remaining, startAt, instantAtMax);
  const slots = createSlots(remaining ?? parts.nominal, startAt, endAt);
  return Object.freeze({
    ...slots,
    kind: parts.kind,
    timezone: zone.name,
    startAt: spec.startAt ?? null,
    endAt: spec.endAt ?? null,
    delayMs: spec.delay ?? null,
    spec,
    cron: parts.cron,
    rrule: parts.rrule,
    all,
    open,
    isExcluded: (slotAt: number) => open !== all && parts.isExcluded(slotAt),
    dateOf: (at: number) => readInstant(zone, at).date,
    slotDateOf: (slotAt: number) => slotDate(readSlot(parts, slotAt)),
    read: (slotAt: number) => readSlot(parts, slotAt),
    clockChanges: (fromAt: number, toAt: number) => findClockChanges(parts, fromAt, toAt),
  });
}

function createSlots(times: SlotTimes, startAt: number, endAt: number): RuleSlots {
  return Object.freeze({
    next(afterAt: number) {
      const fromAt = Math.floor(afterAt) + 1;
      const slotAt = times.next(fromAt > startAt ? fromAt : startAt);
      return slotAt <= endAt ? slotAt : null;
    },
    previous(beforeAt: number) {
      const toAt = Math.ceil(beforeAt) - 1;
      const lastAt = toAt < endAt ? toAt : endAt;
      if (lastAt < startAt) return null;
      const slotAt = times.previous(lastAt);
      return slotAt >= startAt ? slotAt : null;
    },
    countBetween(fromAt: number, toAt: number) {
      const firstAt = Math.max(Math.ceil(fromAt), startAt);
      const lastAt = Math.min(Math.floor(toAt), endAt);
      return lastAt < firstAt ? 0 : times.count(firstAt, lastAt);
    },
  });
}
