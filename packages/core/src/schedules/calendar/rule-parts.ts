// The times that a rule is put together from: those that it names, and those that are left of them.

import type { CronFields } from './cron-fields.ts';
import { createCronTimes } from './cron-next.ts';
import { parseCron } from './cron-parse.ts';
import { createExcludes, type Excludes } from './exclude.ts';
import { excludeFromCron, excludeFromWallTimes } from './exclude-times.ts';
import { createRateTimes } from './rate.ts';
import { createRruleInstants, createRruleWallTimes } from './rrule.ts';
import { isWallRule, type RruleText } from './rrule-text.ts';
import type { RuleKind, RuleSpec } from './rule-input.ts';
import { countByNext, coversInstant, excludeInstants, type SlotTimes, toSlotTimes } from './slot-times.ts';
import type { Zone } from './zone.ts';
import { createZonedTimes, type WallTimes } from './zoned-times.ts';

/** What a rule is put together from. */
export interface Parts {
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

/** Puts the times of a rule together. */
export function createParts({
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
