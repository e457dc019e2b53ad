import { type Duration, parseDuration } from '../../base/duration.ts';
import { dulyError, isDulyError } from '../../base/errors.ts';
import { formatInstant, instantAtMax } from '../../base/instant.ts';
import { readOptions, readWord, refuseOption } from '../../base/option-reader.ts';
import { daySeconds, formatDay, formatTimeOfDay } from './civil.ts';
import type { CronFields } from './cron-fields.ts';
import { createCronTimes } from './cron-next.ts';
import { parseCron } from './cron-parse.ts';
import {
  createExcludes,
  type ExcludeInput,
  type ExcludeSpec,
  type Excludes,
  excludeFromCron,
  excludeFromWallTimes,
  readExclude,
} from './exclude.ts';
import { readBound } from './moment.ts';
import { createRateTimes } from './rate.ts';
import { createRruleInstants, createRruleWallTimes } from './rrule.ts';
import { isWallRule, parseRrule, type RruleText } from './rrule-text.ts';
import {
  countByNext,
  coversInstant,
  excludeInstants,
  rememberNone,
  type SlotTimes,
  toSlotTimes,
} from './slot-times.ts';
import { findZone, type Zone } from './zone.ts';
import { createZonedTimes, type Dst, type WallTimes } from './zoned-times.ts';

/** The kinds of rules. */
export const ruleKinds = ['cron', 'rate', 'delay', 'rrule'] as const;

/** What a rule is made of. */
export type RuleKind = (typeof ruleKinds)[number];

/** A rule as a caller writes it: exactly one of `cron`, `rate`, `delay` and `rrule`, and where and when it holds. */
export interface RuleInput {
  /** A cron of 5, 6 or 7 fields, or a macro like `@daily`. */
  cron?: string;
  /** From start to start: `'10m'`. At least one second. */
  rate?: Duration;
  /** From the end of a run to the start of the next: `'10m'`. At least one second. */
  delay?: Duration;
  /** `'FREQ=WEEKLY;BYDAY=MO'` with `startAt`, or iCalendar text with `DTSTART`, `RDATE`, `EXDATE`. */
  rrule?: string;
  /** The zone whose clock counts; UTC unless given. */
  timezone?: string;
  /** What a changed clock does to fixed times; `{ gap: 'next', repeat: 'first' }` unless given. */
  dst?: Partial<Dst>;
  /** What is left out: dates, crons, recurrence rules. */
  exclude?: ExcludeInput | readonly ExcludeInput[];
  /**
   * No slot is before this instant. A rate counts from here, and a recurrence rule without DTSTART begins here. Beside a `timezone` a
   * date or time without an offset is one of it.
   */
  startAt?: Date | number | string;
  /** No slot is after this instant. */
  endAt?: Date | number | string;
  /** Where a rate counts from: its start, or 1970-01-01T00:00Z. */
  anchor?: 'start' | 'epoch';
}

/** The names of a rule's fields, for those who take a rule and policies in one object. */
export const ruleFields = {
  cron: true,
  rate: true,
  delay: true,
  rrule: true,
  timezone: true,
  dst: true,
  exclude: true,
  startAt: true,
  endAt: true,
  anchor: true,
} as const satisfies Record<keyof RuleInput, true>;

/**
 * A rule with nothing left open, as JSON can keep it. `resolveRule` takes it again. Two rules with equal specs have equal slots,
 * but for rates without `startAt`, which also depend on `anchorAt`.
 */
export interface RuleSpec {
  cron?: string;
  rate?: number;
  delay?: number;
  rrule?: string;
  timezone: string;
  dst: Dst;
  exclude: ExcludeSpec[];
  startAt?: number;
  endAt?: number;
  anchor?: 'start' | 'epoch';
}

/** What the clock of a rule's zone shows at a slot. */
export interface SlotReading {
  /** `2027-03-14` */
  date: string;
  /** `03:00`, or `03:00:30` */
  time: string;
  /** In milliseconds: wall time minus UTC. */
  offsetMs: number;
  /** The time that the rule names did not exist, so it fired at the first instant after the gap: what it named first. */
  gap: { date: string; time: string } | null;
  /** With a gap: whether the rule names the instant after it too, so that the two are one slot. */
  isNamedToo: boolean;
  /** The time comes twice that day: which of the two this is. */
  repeat: 'first' | 'last' | null;
}

/** A change of the clock that falls on a time which the rule names. */
export interface ClockChange {
  /** When the clock changes. */
  at: number;
  /** The time is left out, or comes twice. */
  kind: 'gap' | 'repeat';
  /** The first such time: `2027-03-14`, `02:30`. */
  date: string;
  time: string;
}

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

/** The shortest rate and delay. */
export const rateMsMin = 1_000;

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

function readKind(options: RuleInput): RuleKind {
  const written = ruleKinds.filter((kind) => options[kind] !== undefined);
  if (written.length === 1) return written[0] as RuleKind;
  const names = ruleKinds.map((kind) => `"${kind}"`).join(', ');
  throw dulyError('invalid_rule', {
    message:
      written.length === 0
        ? `Expected a rule to have one of ${names}, got none.`
        : `Expected a rule to have one of ${names}, got ${written.map((kind) => `"${kind}"`).join(' and ')}.`,
    hint: 'Like { "cron": "30 2 * * *", "timezone": "Europe/Rome" } or { "rate": "10m" }.',
    details: { field: written[1] ?? 'cron' },
  });
}

function readDst(given: Partial<Dst> | undefined): Dst {
  const { gap = 'next', repeat = 'first' } = readOptions<Partial<Dst>>(
    given,
    '"dst"',
    { gap: true, repeat: true },
    'invalid_rule',
    'dst',
  );
  return {
    gap: readWord(gap, 'dst.gap', ['next', 'skip']),
    repeat: readWord(repeat, 'dst.repeat', ['first', 'last', 'both']),
  };
}

function readPeriod(value: Duration, field: 'rate' | 'delay'): number {
  try {
    return parseDuration(value, field, { minMs: rateMsMin });
  } catch (error) {
    if (!isDulyError(error, 'invalid_duration') || !/ at least /.test(error.message)) throw error;
    throw dulyError('invalid_rule', {
      message: error.message,
      hint: 'A schedule fires at most once a second. For more, let one run do several steps.',
      details: error.details,
    });
  }
}

function readZone(timezone: string | undefined, text: RruleText | null): Zone {
  const written = text?.timezone ?? null;
  if (timezone === undefined) return written === null ? findZone('UTC') : findZone(written, 'rrule');
  const zone = findZone(timezone);
  if (written !== null && findZone(written, 'rrule').name !== zone.name) {
    refuse('timezone', timezone, `to be the TZID of the recurrence rule, "${written}"`);
  }
  return zone;
}

interface Parts {
  kind: RuleKind;
  spec: RuleSpec;
  zone: Zone;
  cron: CronFields | null;
  rrule: RruleText | null;
  /** The wall times that a change of the clock moves; null if the rule follows real time. */
  fixedTimes: WallTimes | null;
  /** The same with what is excluded. */
  namedTimes: WallTimes | null;
  nominal: SlotTimes;
  /** Without what is excluded; null if nothing is. */
  remaining: SlotTimes | null;
  /** Whether a slot is excluded; asked only if something is. */
  isExcluded(slotAt: number): boolean;
}

// What a slot costs in a search past what is excluded: little by arithmetic, much where it asks the library.
const slotStepCount = 1;
const rruleSlotStepCount = 16;

function createParts({
  spec,
  kind,
  zone,
  text,
  anchorAt,
}: {
  spec: RuleSpec;
  kind: RuleKind;
  zone: Zone;
  text: RruleText | null;
  anchorAt: number;
}): Parts {
  const excludes = createExcludes(spec.exclude);
  const common = { kind, spec, zone, cron: null, rrule: text, fixedTimes: null, namedTimes: null };
  const byInstant = (
    nominal: SlotTimes,
    stepCount: number,
  ): Pick<Parts, 'nominal' | 'remaining' | 'isExcluded'> => {
    if (excludes === null) return { nominal, remaining: null, isExcluded: () => false };
    const options = {
      zone,
      excludes,
      stepCount,
      stepMs: spec.rate ?? spec.delay ?? null,
      isChain: kind === 'delay',
    };
    const remaining = excludeInstants(nominal, options);
    return { nominal, remaining, isExcluded: (slotAt) => coversInstant(slotAt, options) };
  };

  if (kind === 'cron') return createCronParts(spec, zone, excludes);
  if (kind === 'rate') {
    const anchor = spec.anchor === 'epoch' ? 0 : (spec.startAt ?? anchorAt);
    return {
      ...common,
      ...byInstant(createRateTimes({ rateMs: spec.rate as number, anchorAt: anchor }), slotStepCount),
    };
  }
  if (kind === 'delay') {
    return { ...common, ...byInstant(createDelayTimes(spec.delay as number, spec.startAt), slotStepCount) };
  }
  const rrule = text as RruleText;
  const place = { zone, startSecond: spec.startAt === undefined ? null : Math.ceil(spec.startAt / 1_000) };
  if (!isWallRule(rrule)) {
    return {
      ...common,
      ...byInstant(countable(toSlotTimes(createRruleInstants(rrule, place))), rruleSlotStepCount),
    };
  }
  const wallTimes = createRruleWallTimes(rrule, place);
  const left =
    excludes === null
      ? null
      : excludeFromWallTimes(wallTimes, excludes, rrule.parts.has('BYSETPOS') ? rruleSlotStepCount : 2);
  const resolve = (times: WallTimes): SlotTimes =>
    countable(toSlotTimes(createZonedTimes(times, zone, spec.dst)));
  return {
    ...common,
    fixedTimes: left ?? wallTimes,
    namedTimes: wallTimes,
    ...byTimes(resolve(wallTimes), left && resolve(left), { zone, excludes }),
  };
}

function createCronParts(spec: RuleSpec, zone: Zone, excludes: Excludes | null): Parts {
  const cron = parseCron(spec.cron as string);
  const cronTimes = createCronTimes(cron);
  const left = excludes === null ? null : excludeFromCron(cronTimes, excludes);
  const resolve = (times: WallTimes): SlotTimes =>
    toSlotTimes(createZonedTimes(times, zone, cron.isFixed ? spec.dst : 'real'));
  const fixedTimes = cron.isFixed ? (left ?? cronTimes) : null;
  return {
    kind: 'cron',
    spec,
    zone,
    cron,
    rrule: null,
    fixedTimes,
    namedTimes: cron.isFixed ? cronTimes : null,
    ...byTimes(resolve(cronTimes), left && resolve(left), { zone, excludes }),
  };
}

/**
 * A fixed time in a gap belongs to the date that it names, so only the two sets together know what is excluded. Of what is no slot of this
 * rule, but was one of the rule before it, the clock tells.
 */
function byTimes(
  nominal: SlotTimes,
  remaining: SlotTimes | null,
  { zone, excludes }: { zone: Zone; excludes: Excludes | null },
): Pick<Parts, 'nominal' | 'remaining' | 'isExcluded'> {
  return {
    nominal,
    remaining,
    isExcluded: (slotAt) =>
      nominal.next(slotAt) === slotAt
        ? remaining?.next(slotAt) !== slotAt
        : excludes !== null && coversInstant(slotAt, { zone, excludes }),
  };
}

/** Slots that only the library can count are counted one by one, if they are few. */
function countable(times: SlotTimes): SlotTimes {
  return { ...times, count: (fromAt, toAt) => countByNext(times, fromAt, toAt) };
}

/** A delay knows no slot before the run that it follows, so what is asked for is taken as the end of that run. */
function createDelayTimes(delayMs: number, startAt: number | undefined): SlotTimes {
  return {
    // `at` is the millisecond after the run's end.
    next: (at) => (startAt !== undefined && at <= startAt ? startAt : at - 1 + delayMs),
    previous: () => Number.NEGATIVE_INFINITY,
    count: () => null,
  };
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

/** One slot has one date: where a time in a gap and one that exists are one, that of the time that exists. */
function slotDate({ date, gap, isNamedToo }: SlotReading): string {
  return gap === null || isNamedToo ? date : gap.date;
}

function readSlot(parts: Parts, slotAt: number): SlotReading {
  const { zone, spec } = parts;
  const second = Math.floor(slotAt / 1_000);
  const span = zone.spanAt(second);
  const wall = second + span.offset;
  const isAfterGap = second === span.start && span.offset > span.offsetBefore;
  let named = Number.POSITIVE_INFINITY;
  let isNamedToo = false;
  if (isAfterGap && spec.dst.gap === 'next') {
    // A slot that is left out was named by what is left out.
    const isOut = parts.remaining !== null && parts.isExcluded(slotAt);
    const times = isOut ? parts.namedTimes : parts.fixedTimes;
    named = times?.next(second + span.offsetBefore) ?? named;
    isNamedToo = named < wall && times?.next(wall) === wall;
  }
  let repeat: SlotReading['repeat'] = null;
  if (second - span.start < span.offsetBefore - span.offset) repeat = 'last';
  else if (span.end - second <= span.offset - span.offsetAfter) repeat = 'first';
  return {
    ...readWall(wall),
    offsetMs: span.offset * 1_000,
    gap: named < wall ? readWall(named) : null,
    isNamedToo,
    repeat,
  };
}

function findClockChanges({ zone, fixedTimes }: Parts, fromAt: number, toAt: number): ClockChange[] {
  if (fixedTimes === null) return [];
  const changes: ClockChange[] = [];
  const end = Math.floor(Math.min(toAt, instantAtMax) / 1_000);
  for (let span = zone.spanAt(Math.ceil(fromAt / 1_000)); span.end <= end; span = zone.spanAt(span.end)) {
    const before = span.end + span.offset;
    const after = span.end + span.offsetAfter;
    const named = fixedTimes.next(Math.min(before, after));
    if (named >= Math.max(before, after)) continue;
    changes.push({ at: span.end * 1_000, kind: after > before ? 'gap' : 'repeat', ...readWall(named) });
  }
  return changes;
}

function readInstant(zone: Zone, at: number): { date: string; time: string } {
  const second = Math.floor(at / 1_000);
  return readWall(second + zone.spanAt(second).offset);
}

function readWall(wall: number): { date: string; time: string } {
  const day = Math.floor(wall / daySeconds);
  return { date: formatDay(day), time: formatTimeOfDay(wall - day * daySeconds) };
}

/** Refuses a rule that is of no use to anyone who creates it now. */
function refuseUseless(rule: Rule, now: number): void {
  const { all, open, endAt } = rule;
  const fromAt = Math.max(now, rule.startAt ?? 0);
  // From now on first, where the zone will be read anyway; a recurrence rule that finds nothing should not look twice.
  const comingAt = rule.kind === 'rrule' ? null : all.next(fromAt - 1);
  const isOver = comingAt === null || (endAt !== null && comingAt > endAt);
  const firstAt = isOver ? all.next(-1) : comingAt;
  if (firstAt === null || (endAt !== null && firstAt > endAt)) {
    throw dulyError('rule_never_fires', {
      message: 'The rule never fires: it has no slot at all.',
      hint:
        firstAt === null
          ? 'Check the dates it names, and "dst.gap" if it is "skip".'
          : `Check "endAt": the first slot would be ${formatInstant(firstAt)}.`,
      details: { field: firstAt === null ? rule.kind : 'endAt', rule: rule.spec },
    });
  }
  if (open === all || rule.next(fromAt - 1) !== null) return;
  const excludedAt = all.next(fromAt - 1);
  if (excludedAt === null || (endAt !== null && excludedAt > endAt)) return;
  throw dulyError('everything_excluded', {
    message: 'What "exclude" names leaves none of the slots of the rule.',
    hint: 'A cron in "exclude" leaves out every minute that it matches, and a date the whole day.',
    details: { field: 'exclude', rule: rule.spec },
  });
}

/** Refuses a rule that a schedule created now would never fire by: its last slot is past. */
export function refuseOver(rule: Rule, now: number): void {
  const { endAt } = rule;
  const comingAt = rule.kind === 'delay' ? Math.max(rule.startAt ?? now, now) : rule.all.next(now);
  if (comingAt !== null && (endAt === null || comingAt <= endAt)) return;
  const field = comingAt === null ? rule.kind : 'endAt';
  const lastAt = comingAt === null ? rule.all.previous(now + 1) : null;
  throw dulyError('rule_never_fires', {
    message:
      comingAt === null
        ? `The rule never fires from now on: ${lastAt === null ? 'it has no slot' : `its last slot was ${formatInstant(lastAt)}`}.`
        : `The rule never fires: the next slot would be ${formatInstant(comingAt)}, after "endAt", ${formatInstant(endAt as number)}.`,
    hint: comingAt !== null ? 'Give a later "endAt", or leave it out.' : `Check ${overBy(rule)}.`,
    details: { field, rule: rule.spec },
  });
}

function overBy({ rrule, kind }: Rule): string {
  if (rrule?.count != null) return `"COUNT" of the recurrence rule: all ${rrule.count} are past`;
  if (rrule?.until != null) return '"UNTIL" of the recurrence rule';
  return `the dates that "${kind}" names`;
}

function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
