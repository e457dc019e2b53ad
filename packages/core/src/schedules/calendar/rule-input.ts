// A rule as a caller writes it, and how its fields are checked.

import { type Duration, parseDuration } from '../../base/duration.ts';
import { dulyError, isDulyError } from '../../base/errors.ts';
import { readOptions, readWord, refuseOption } from '../../base/option-reader.ts';
import type { ExcludeInput, ExcludeSpec } from './exclude-input.ts';
import type { RruleText } from './rrule-text.ts';
import { findZone, type Zone } from './zone.ts';
import type { Dst } from './zoned-times.ts';

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

/** The shortest rate and delay. */
export const rateMsMin = 1_000;

/** The one kind that a rule is written as. Throws `invalid_rule`. */
export function readKind(options: RuleInput): RuleKind {
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

/** What a changed clock does to fixed times, with its defaults. */
export function readDst(given: Partial<Dst> | undefined): Dst {
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

/** A rate or a delay in milliseconds. Throws `invalid_rule` for a period that is too short. */
export function readPeriod(value: Duration, field: 'rate' | 'delay'): number {
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

/** The zone of a rule, which a recurrence rule may name too. */
export function readZone(timezone: string | undefined, text: RruleText | null): Zone {
  const written = text?.timezone ?? null;
  if (timezone === undefined) return written === null ? findZone('UTC') : findZone(written, 'rrule');
  const zone = findZone(timezone);
  if (written !== null && findZone(written, 'rrule').name !== zone.name) {
    refuse('timezone', timezone, `to be the TZID of the recurrence rule, "${written}"`);
  }
  return zone;
}

/** Refuses a field of a rule with `invalid_rule`. */
export function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
