import { systemClock } from '../../base/clock.ts';
import { isDulyError } from '../../base/errors.ts';
import { parseInstant } from '../../base/instant.ts';
import { readOptions, readWholeNumber } from '../../base/option-reader.ts';
import { isRule, type Rule, resolveRule } from '../calendar/rule.ts';
import type { RuleInput } from '../calendar/rule-input.ts';
import { asWritten } from './policies.ts';

/** What to preview. */
export interface PreviewOptions {
  /** Slots after this instant, not at it; now unless given. */
  after?: Date | number | string;
  /** How many at most: 1 to 10,000; 10 unless given. */
  count?: number;
}

/** What to look back at. */
export interface PreviousOptions {
  /** Slots before this instant, not at it; now unless given. */
  before?: Date | number | string;
  /** How many at most: 1 to 10,000; 10 unless given. */
  count?: number;
}

const countMax = 10_000;

/**
 * The next slots of a rule, the earliest first. Fewer than asked for means that there are no more. A rate without `startAt` counts from
 * `after`, as if its schedule were created then; a delay is shown as if its runs took no time. Throws what `resolveRule` throws.
 */
export function preview(rule: string | RuleInput | Rule, options: PreviewOptions = {}): Date[] {
  const { after, count = 10 } = readOptions<PreviewOptions>(options, 'preview()', {
    after: true,
    count: true,
  });
  const wanted = readWholeNumber(count, 'count', 1, countMax);
  const now = systemClock.now();
  const afterAt = after === undefined ? now : parseInstant(after, 'after');
  // Someone who asks about the past may be shown a rule that was of use then.
  const resolved = isRule(rule) ? rule : resolveFrom(rule, Math.min(now, afterAt), afterAt);
  const slots: Date[] = [];
  for (let at = resolved.next(afterAt); at !== null && slots.length < wanted; at = resolved.next(at)) {
    slots.push(new Date(at));
  }
  return slots;
}

/** A rule with slots of which the rest is left out before its end is one that has no more, and not a wrong one. */
function resolveFrom(rule: string | RuleInput, now: number, anchorAt: number): Rule {
  try {
    return resolveRule(asWritten(rule), { now, anchorAt });
  } catch (error) {
    if (!isDulyError(error, 'everything_excluded')) throw error;
    const resolved = resolveRule(rule, { anchorAt });
    if (resolved.endAt === null || resolved.next(-1) === null) throw error;
    return resolved;
  }
}

/**
 * The last slots of a rule, the latest first. Fewer than asked for means that there are no more; a delay has none, because its slots
 * follow from runs. Throws what `resolveRule` throws.
 */
export function previous(rule: string | RuleInput | Rule, options: PreviousOptions = {}): Date[] {
  const { before, count = 10 } = readOptions<PreviousOptions>(options, 'previous()', {
    before: true,
    count: true,
  });
  const wanted = readWholeNumber(count, 'count', 1, countMax);
  const beforeAt = before === undefined ? systemClock.now() : parseInstant(before, 'before');
  // 1970, so that nothing counts as over: the past is what is asked for.
  const resolved = isRule(rule) ? rule : resolveRule(asWritten(rule), { now: 0, anchorAt: beforeAt });
  const slots: Date[] = [];
  for (
    let at = resolved.previous(beforeAt);
    at !== null && slots.length < wanted;
    at = resolved.previous(at)
  ) {
    slots.push(new Date(at));
  }
  return slots;
}
