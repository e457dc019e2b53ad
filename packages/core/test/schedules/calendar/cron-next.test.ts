import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import fc from 'fast-check';
import { cases } from '../../../../../test/property.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { type Rule, resolveRule } from '../../../src/schedules/calendar/rule.ts';
import { randomCron, slowNext } from './random-cron.ts';

const after = fc
  .integer({ min: Date.UTC(1971, 0, 1) / 1_000, max: Date.UTC(2090, 0, 1) / 1_000 })
  .map((second) => second * 1_000);
const zoneNames = Intl.supportedValuesOf('timeZone');
const zone = fc.constantFrom(...zoneNames);
const dst = fc.record({
  gap: fc.constantFrom('next' as const, 'skip' as const),
  repeat: fc.constantFrom('first' as const, 'last' as const, 'both' as const),
});

/** The rule of a random cron; null if it never fires. */
function resolve(
  cron: string,
  options: Omit<Parameters<typeof resolveRule>[0] & object, 'cron'> = {},
): Rule | null {
  try {
    return resolveRule({ cron, ...options });
  } catch (error) {
    if (isDulyError(error, 'invalid_cron') && /never fire/.test(error.hint ?? '')) return null;
    throw error;
  }
}

const show = (at: number | null | undefined): string => (at == null ? 'never' : new Date(at).toISOString());

function days(cron: string, from: string, count: number): string[] {
  const rule = resolveRule(cron);
  const found: string[] = [];
  let at: number | null = Date.parse(`${from}T00:00:00Z`) - 1;
  while (found.length < count) {
    at = rule.next(at as number);
    if (at === null) break;
    found.push(new Date(at).toISOString().slice(0, 10));
  }
  return found;
}

test('in UTC, next is what a search day by day finds', () => {
  fc.assert(
    fc.property(randomCron, after, (cron, afterAt) => {
      const rule = resolve(cron.text);
      const expected = slowNext(cron, afterAt);
      if (rule === null) return assert.equal(expected, undefined, cron.text);
      const found = rule.next(afterAt);
      // The search ends after 41 years; some dates take longer.
      if (expected === undefined)
        return assert.ok(found === null || found - afterAt > 40 * 365 * 86_400_000, cron.text);
      assert.equal(show(found), show(expected), `${cron.text} after ${show(afterAt)}`);
    }),
    cases(4_000),
  );
});

test('in every zone, next is after, previous is its mirror, nothing lies between, and the count agrees', () => {
  fc.assert(
    fc.property(randomCron, after, zone, dst, (cron, afterAt, timezone, policy) => {
      const rule = resolve(cron.text, { timezone, dst: policy });
      if (rule === null) return;
      const next = rule.next(afterAt);
      if (next === null) return;
      const what = `${cron.text} in ${timezone} after ${show(afterAt)} with ${JSON.stringify(policy)}`;
      assert.ok(next > afterAt, what);
      assert.equal(show(rule.previous(next + 1)), show(next), `the last before ${show(next + 1)}: ${what}`);
      assert.equal(show(rule.previous(next)), show(rule.previous(afterAt + 1)), `between: ${what}`);
      assert.equal(rule.countBetween(afterAt + 1, next), 1, what);
      assert.equal(show(rule.next(next - 1)), show(next), what);
      const fourth = rule.next(rule.next(rule.next(next) ?? next) ?? next);
      if (fourth !== null && fourth > next)
        assert.equal(rule.countBetween(next, fourth), 4, `count: ${what}`);
    }),
    cases(4_000),
  );
});

test('croner agrees where no clock changes', () => {
  let compared = 0;
  fc.assert(
    fc.property(
      randomCron,
      after,
      fc.constantFrom('UTC', 'Asia/Kolkata', 'America/Phoenix'),
      (cron, afterAt, timezone) => {
        if (!cron.judges.croner) return;
        const rule = resolve(cron.text, { timezone });
        // Croner gives up earlier than we do.
        const expected = rule?.next(afterAt) ?? null;
        if (expected === null || expected - afterAt > 8 * 366 * 86_400_000) return;
        const judge = new Cron(cron.text, { timezone, paused: true, sloppyRanges: true } as never).nextRun(
          new Date(afterAt),
        );
        assert.equal(
          show(judge?.getTime()),
          show(expected),
          `${cron.text} in ${timezone} after ${show(afterAt)}`,
        );
        compared++;
      },
    ),
    cases(3_000),
  );
  assert.ok(compared > 500, `only ${compared} compared`);
});

test('cron-parser agrees where no clock changes', () => {
  let compared = 0;
  fc.assert(
    fc.property(randomCron, after, (cron, afterAt) => {
      if (!cron.judges.cronParser) return;
      const expected = resolve(cron.text)?.next(afterAt) ?? null;
      if (expected === null || expected - afterAt > 366 * 86_400_000) return;
      let judge: { getTime(): number };
      try {
        judge = CronExpressionParser.parse(cron.text, { currentDate: new Date(afterAt), tz: 'UTC' }).next();
      } catch (error) {
        // It refuses lists whose items overlap.
        assert.match((error as Error).message, /duplicate values/, cron.text);
        return;
      }
      assert.equal(show(judge.getTime()), show(expected), `${cron.text} after ${show(afterAt)}`);
      compared++;
    }),
    cases(1_000),
  );
  assert.ok(compared > 100, `only ${compared} compared`);
});

test('a day matches by either of two restricted fields, and by both if one is free', () => {
  assert.deepEqual(days('0 0 13 * FRI', '2027-08-01', 5), [
    '2027-08-06',
    '2027-08-13',
    '2027-08-20',
    '2027-08-27',
    '2027-09-03',
  ]);
  assert.deepEqual(days('0 0 */2 * FRI', '2027-08-01', 3), ['2027-08-13', '2027-08-27', '2027-09-03']);
  // The 13th, if it is a Sunday or a Friday.
  assert.deepEqual(days('0 0 13 * */5', '2027-06-01', 3), ['2027-06-13', '2027-08-13', '2028-02-13']);
  assert.deepEqual(days('0 0 1-31 * FRI', '2027-08-01', 2), ['2027-08-01', '2027-08-02']);
  assert.deepEqual(days('0 0 ? * FRI', '2027-08-01', 2), ['2027-08-06', '2027-08-13']);
});

test('what only a short February has is found', () => {
  // The 1st or the 22nd, if it is the last Sunday: the 22nd is, in a February of 28 days that begins on a Sunday.
  assert.deepEqual(days('0 0 */21 2 SUNL', '2027-01-01', 2), ['2037-02-22', '2043-02-22']);
});

test('L, W and # find their days', () => {
  assert.deepEqual(days('0 0 L * *', '2027-01-01', 4), [
    '2027-01-31',
    '2027-02-28',
    '2027-03-31',
    '2027-04-30',
  ]);
  assert.deepEqual(days('0 0 L 2 *', '2027-01-01', 2), ['2027-02-28', '2028-02-29']);
  assert.deepEqual(days('0 0 L-3 * *', '2027-01-01', 2), ['2027-01-28', '2027-02-25']);
  assert.deepEqual(days('0 0 L-30 * *', '2027-01-01', 3), ['2027-01-01', '2027-03-01', '2027-05-01']);
  // 31 January 2027 is a Sunday, 28 February too.
  assert.deepEqual(days('0 0 LW * *', '2027-01-01', 3), ['2027-01-29', '2027-02-26', '2027-03-31']);
  // Saturday goes back, Sunday forward, both within the month.
  assert.deepEqual(days('0 0 15W * *', '2027-05-01', 2), ['2027-05-14', '2027-06-15']);
  assert.deepEqual(days('0 0 1W 5,8 *', '2027-01-01', 2), ['2027-05-03', '2027-08-02']);
  assert.deepEqual(days('0 0 31W * *', '2027-01-01', 3), ['2027-01-29', '2027-03-31', '2027-05-31']);
  assert.deepEqual(days('0 0 * * FRIL', '2027-01-01', 2), ['2027-01-29', '2027-02-26']);
  assert.deepEqual(days('0 0 * * 5L', '2027-01-01', 2), ['2027-01-29', '2027-02-26']);
  assert.deepEqual(days('0 0 * * MON#2', '2027-01-01', 2), ['2027-01-11', '2027-02-08']);
  assert.deepEqual(days('0 0 * * MON#5', '2027-01-01', 2), ['2027-03-29', '2027-05-31']);
  assert.deepEqual(days('0 0 * 2 MON#5', '2027-01-01', 2), ['2044-02-29', '2072-02-29']);
});

test('years end a cron, and there is nothing before them', () => {
  const rule = resolveRule('0 0 0 1 1,7 ? 2030,2028');
  const slots = ['2028-01-01', '2028-07-01', '2030-01-01', '2030-07-01'];
  assert.deepEqual(days('0 0 0 1 1,7 ? 2030,2028', '2027-01-01', 9), slots);
  assert.equal(rule.next(Date.UTC(2030, 6, 1)), null);
  assert.equal(rule.previous(Date.UTC(2028, 0, 1)), null);
  assert.equal(rule.countBetween(0, Date.UTC(9999, 0, 1)), 4);
  assert.equal(resolveRule('0 0 1 1 * 9999').next(0), Date.UTC(9999, 0, 1));
  assert.equal(resolveRule('* * * * *').next(Date.UTC(9999, 11, 31, 23, 59)), null);
  assert.equal(resolveRule('* * * * *').previous(0), null);
  assert.equal(resolveRule('* * * * *').previous(1), 0);
});

test('after and before are exclusive to the millisecond', () => {
  const rule = resolveRule('* * * * *');
  assert.deepEqual([rule.next(59_999), rule.next(60_000), rule.next(60_000.5)], [60_000, 120_000, 120_000]);
  assert.deepEqual(
    [rule.previous(60_001), rule.previous(60_000), rule.previous(60_000.5)],
    [60_000, 0, 60_000],
  );
  assert.deepEqual(
    [rule.countBetween(60_000, 120_000), rule.countBetween(60_001, 119_999), rule.countBetween(2, 1)],
    [2, 0, 0],
  );
});
