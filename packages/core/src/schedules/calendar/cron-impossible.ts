// Refuses a cron whose dates never occur.

import { dulyError } from '../../base/errors.ts';
import { shown } from '../../base/option-reader.ts';
import { daySeconds, lengthOfMonth, monthOfDay } from './civil.ts';
import { createCronDays, dayMask } from './cron-days.ts';
import { type CronFieldName, type CronFields, cronFieldNames, yearMin } from './cron-fields.ts';
import { kinds } from './cron-reader.ts';

/** Refuses a cron whose date never comes, in any year that it names, or in any that is not over. */
export function refuseImpossible(text: string, fields: CronFields, now: number | undefined): void {
  if (!hasDateInAnyYear(fields)) {
    refuseDate(
      text,
      fields,
      'dayOfMonth',
      'names a day that none of its months has',
      'The rule would never fire.',
    );
  }
  if (fields.years === null) return;
  if (!hasDateFrom(fields, yearMin)) {
    refuseDate(text, fields, 'year', 'names a date that none of its years has', 'The rule would never fire.');
  }
  if (now === undefined) return;
  const year = Math.floor(monthOfDay(Math.floor(now / 1_000 / daySeconds)) / 12);
  // The year before too: at New Year it may not be over yet in the rule's zone.
  if (!hasDateFrom(fields, year - 1) || (fields.years.at(-1) as number) < year) {
    refuseDate(
      text,
      fields,
      'year',
      'names only years that are over',
      `It is ${year}; the rule would never fire.`,
    );
  }
}

/** Every kind of month occurs in the end: the Gregorian calendar has each month begin on each weekday, in leap years and others. */
function hasDateInAnyYear(fields: CronFields): boolean {
  for (const year of [2_000, 2_001]) {
    for (let number = 0; number < 12; number++) {
      if (((fields.months >>> number) & 1) === 0) continue;
      const length = lengthOfMonth(year * 12 + number);
      for (let weekday = 0; weekday < 7; weekday++) if (dayMask(fields, length, weekday) !== 0) return true;
    }
  }
  return false;
}

function hasDateFrom(fields: CronFields, yearFrom: number): boolean {
  const days = createCronDays(fields);
  return (fields.years ?? []).some((year) => {
    if (year < yearFrom) return false;
    for (let number = 0; number < 12; number++) {
      if ((fields.months >>> number) & 1 && days.maskOf(year * 12 + number) !== 0) return true;
    }
    return false;
  });
}

function refuseDate(
  text: string,
  fields: CronFields,
  field: CronFieldName,
  problem: string,
  hint: string,
): never {
  const value = fields.written[field] as string;
  const names = cronFieldNames.filter((name) => fields.written[name] !== null);
  const position = [...text.matchAll(/\S+/g)][names.indexOf(field)]?.index ?? 0;
  throw dulyError('invalid_cron', {
    message: `The ${kinds[field].title} ${shown(value)} at position ${position} of the cron ${shown(text)} ${problem}.`,
    hint,
    details: { field, position, value, cron: text },
  });
}
