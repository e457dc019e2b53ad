import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { type Duration, durationMsMax, formatDuration, parseDuration } from '../../src/base/duration.ts';
import { isDulyError } from '../../src/base/errors.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

for (const [value, expected] of [
  [0, 0],
  [-0, 0],
  [1500, 1500],
  [0.4, 0],
  ['0s', 0],
  ['250ms', 250],
  ['15m', 15 * minute],
  ['15 min', 15 * minute],
  [' 15 Minutes ', 15 * minute],
  ['3 days', 3 * day],
  ['1 day', day],
  ['1h30m', 90 * minute],
  ['1h 30m', 90 * minute],
  ['1 hour, 30 minutes', 90 * minute],
  ['1.5h', 90 * minute],
  ['.5h', 30 * minute],
  ['2w', 14 * day],
  ['400 days', 400 * day],
  ['36525 days', durationMsMax],
  ['PT15M', 15 * minute],
  ['PT1M', minute],
  ['P3DT4H', 3 * day + 4 * hour],
  ['P2W', 14 * day],
  ['PT0.5S', 500],
  ['PT0,5S', 500],
  ['P1DT1H1M1S', day + hour + minute + 1000],
  ['pt15m', 15 * minute],
] as [Duration, number][]) {
  test(`${JSON.stringify(value)} is ${expected} ms`, () => {
    assert.ok(Object.is(parseDuration(value), expected), String(parseDuration(value)));
  });
}

for (const [value, why] of [
  ['-5m', /0 or more/],
  [-1, /0 or more/],
  ['1e9 days', /without an exponent, and to be at most 100 years/],
  ['999999999 days', /at most 100 years/],
  [durationMsMax + 1, /at most 100 years/],
  ['', /to be a duration like/],
  ['  ', /to be a duration like/],
  ['soon', /to be a duration like/],
  ['5', /to have a unit/],
  ['5 parsecs', /not "parsecs"/],
  ['5 constructor', /not "constructor"/],
  ['5 __proto__', /to be a duration like/],
  ['5M', /"M" could mean months/],
  ['2 months', /no months or years/],
  ['1 year', /no months or years/],
  ['1y', /no months or years/],
  ['P1M', /no months or years/],
  ['P1Y', /no months or years/],
  ['P0M', /no months or years/],
  ['P1Y2M3DT4H', /no months or years/],
  ['P', /ISO 8601/],
  ['PT', /ISO 8601/],
  ['P1DT', /ISO 8601/],
  ['P1H', /ISO 8601/],
  ['PT1D', /ISO 8601/],
  ['30m1h', /each unit once, the largest first/],
  ['1h1h', /each unit once, the largest first/],
  ['1h-5m', /to be a duration like/],
  ['1,5h', /to be a duration like/],
  [Number.NaN, /finite number/],
  [Number.POSITIVE_INFINITY, /finite number/],
  [undefined, /finite number/],
  [null, /finite number/],
  [5n, /finite number/],
  [{}, /finite number/],
  [['5m'], /finite number/],
  ['9'.repeat(5000), /at most 100 characters/],
] as [unknown, RegExp][]) {
  test(`${typeof value === 'bigint' ? '5n' : String(JSON.stringify(value)).slice(0, 30)} is refused: ${why.source}`, () => {
    assert.throws(
      () => parseDuration(value as Duration, 'timeout'),
      (error) => {
        assert.ok(isDulyError(error, 'invalid_duration'));
        assert.match(error.message, /^Expected "timeout" /);
        assert.match(error.message, why);
        assert.ok(error.message.length < 250);
        assert.ok((error.hint ?? '').length > 0);
        assert.equal(error.details.field, 'timeout');
        return true;
      },
    );
  });
}

test('a lowest duration can be asked for', () => {
  assert.equal(parseDuration('1s', 'lease', { minMs: 1000 }), 1000);
  assert.throws(
    () => parseDuration('999ms', 'lease', { minMs: 1000 }),
    /"lease" to be at least 1 s, got "999ms"/,
  );
});

test('any sum of units is read as what it says', () => {
  const part = fc.option(fc.nat(500), { nil: null });
  fc.assert(
    fc.property(part, part, part, part, part, (d, h, m, s, ms) => {
      const parts = [
        [d, 'd', day],
        [h, 'h', hour],
        [m, 'm', minute],
        [s, 's', 1000],
        [ms, 'ms', 1],
      ] as const;
      const given = parts.filter(([amount]) => amount !== null);
      fc.pre(given.length > 0);
      const text = given.map(([amount, unit]) => `${amount}${unit}`).join(' ');
      const expected = given.reduce((sum, [amount, , size]) => sum + (amount ?? 0) * size, 0);
      assert.equal(parseDuration(text), expected);
      assert.equal(parseDuration(text.replaceAll(' ', '')), expected);
    }),
    cases(100),
  );
});

test('any text gives whole milliseconds in range or the one error', () => {
  const pieces = fc.constantFrom(
    '1',
    '9',
    '.',
    '-',
    'P',
    'T',
    'M',
    'D',
    'W',
    'h',
    'ms',
    's',
    'day',
    ' ',
    ',',
    'e',
    'y',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((all) => all.join('')),
      ),
      (text) => {
        try {
          const ms = parseDuration(text);
          assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= durationMsMax);
        } catch (error) {
          assert.ok(isDulyError(error, 'invalid_duration'), String(error));
        }
      },
    ),
    cases(2000),
  );
});

for (const [ms, expected] of [
  [0, '0 ms'],
  [0.4, '0 ms'],
  [90, '90 ms'],
  [999.6, '1 s'],
  [1000, '1 s'],
  [1234, '1.2 s'],
  [59_940, '59.9 s'],
  [59_960, '1 min'],
  [minute, '1 min'],
  [125_000, '2 min 5 s'],
  [hour - 1, '1 h'],
  [90 * minute, '1 h 30 min'],
  [day - 1, '1 d'],
  [3 * day + 4 * hour, '3 d 4 h'],
  [400 * day, '400 d'],
  [-1234, '-1.2 s'],
  [-0.1, '0 ms'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
] as const) {
  test(`${ms} ms is shown as "${expected}"`, () => {
    assert.equal(formatDuration(ms), expected);
  });
}

test('what is shown can be read again and is close to what it was', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: durationMsMax }), (ms) => {
      const again = parseDuration(formatDuration(ms));
      assert.ok(Math.abs(again - ms) <= Math.max(0, ms * 0.05), `${ms} → ${formatDuration(ms)} → ${again}`);
    }),
    cases(100),
  );
});
