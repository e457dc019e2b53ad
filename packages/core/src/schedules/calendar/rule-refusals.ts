// Rules that are refused because they would never run.

import { dulyError } from '../../base/errors.ts';
import { formatInstant } from '../../base/instant.ts';
import type { Rule } from './rule.ts';

/** Refuses a rule that is of no use to anyone who creates it now. */
export function refuseUseless(rule: Rule, now: number): void {
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
