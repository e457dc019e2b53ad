import { isDulyError } from '../../../src/base/errors.ts';
import type { Random } from '../../../src/base/random.ts';
import { parseRrule } from '../../../src/schedules/calendar/rrule-text.ts';

/** Draws recurrence rules until one is not refused as never firing, such as day 31 of February. */
export function drawPossible(random: Random, draw: (random: Random) => string): string {
  for (;;) {
    const rrule = draw(random);
    try {
      parseRrule(rrule);
      return rrule;
    } catch (error) {
      if (!isDulyError(error, 'rule_never_fires')) throw error;
    }
  }
}
