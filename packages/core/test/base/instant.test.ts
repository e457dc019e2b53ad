import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { isDulyError } from '../../src/base/errors.ts';
import { formatInstant, instantAtMax, parseInstant } from '../../src/base/instant.ts';

for (const [text, expected] of [
  ['2027-01-15T10:00:00Z', '2027-01-15T10:00:00.000Z'],
  ['2027-01-15T10:00Z', '2027-01-15T10:00:00.000Z'],
  ['2027-01-15 10:00:00Z', '2027-01-15T10:00:00.000Z'],
  ['2027-01-15t10:00:00z', '2027-01-15T10:00:00.000Z'],
  [' 2027-01-15T10:00:00.5Z ', '2027-01-15T10:00:00.500Z'],
  ['2027-01-15T10:00:00.123456789Z', '2027-01-15T10:00:00.123Z'],
  ['2027-01-15T10:00:00+05:30', '2027-01-15T04:30:00.000Z'],
  ['2027-01-15T10:00:00+0530', '2027-01-15T04:30:00.000Z'],
  ['2027-01-15T10:00:00-08', '2027-01-15T18:00:00.000Z'],
  ['2027-01-15T10:00:00-00:30', '2027-01-15T10:30:00.000Z'],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
] as const) {
  test(`"${text}" is ${expected}`, () => {
    assert.equal(formatInstant(parseInstant(text)), expected);
  });
}

for (const [value, why] of [
  ['2027-02-30', /a date that exists/],
  ['2027-02-30T10:00:00Z', /a date that exists/],
  ['2027-02-29T10:00:00Z', /a date that exists/],
  ['2100-02-29T10:00:00Z', /a date that exists/],
  ['2027-04-31T10:00:00Z', /a date that exists/],
  ['2027-13-01', /a date that exists/],
  ['2027-00-01T00:00:00Z', /a date that exists/],
  ['2027-01-00T00:00:00Z', /a date that exists/],
  ['2027-01-01T24:61:00Z', /a time from/],
  ['2027-01-01T24:00:00Z', /a time from/],
  ['2027-01-01T23:59:60Z', /a time from/],
  ['2027-01-01T10:00:00', /to have an offset: without one/],
  ['2027-01-01', /to have a time and an offset: without one/],
  ['2027-01-01T10:00:00+19:00', /an offset from/],
  ['2027-01-01T10:00:00+05:60', /an offset from/],
  ['2027-1-1T10:00:00Z', /ISO 8601/],
  ['2027-01-01T10Z', /ISO 8601/],
  ['Jan 1 2027 10:00 GMT', /ISO 8601/],
  ['tomorrow', /ISO 8601/],
  ['1798761600000', /ISO 8601/],
  ['', /ISO 8601/],
  ['1969-12-31T23:59:59Z', /from 1970 to 9999/],
  ['0050-01-01T00:00:00Z', /from 1970 to 9999/],
  ['9999-12-31T23:59:59-01:00', /from 1970 to 9999/],
  ['x'.repeat(10_000), /ISO 8601/],
  [new Date(Number.NaN), /a valid instant, got an invalid Date/],
  [new Date(-1), /from 1970 to 9999/],
  [Number.NaN, /a valid instant/],
  [Number.POSITIVE_INFINITY, /from 1970 to 9999/],
  [-1, /from 1970 to 9999/],
  [instantAtMax + 1, /from 1970 to 9999/],
  [null, /to be a Date, epoch milliseconds/],
  [undefined, /to be a Date, epoch milliseconds/],
  [{}, /to be a Date, epoch milliseconds/],
] as [unknown, RegExp][]) {
  test(`${String(value).slice(0, 30)} (${typeof value}) is refused: ${why.source}`, () => {
    assert.throws(
      () => parseInstant(value as string, 'runAt'),
      (error) => {
        assert.ok(isDulyError(error, 'invalid_instant'));
        assert.match(error.message, /^Expected "runAt" /);
        assert.match(error.message, why);
        assert.ok(error.message.length < 250);
        return true;
      },
    );
  });
}

test('a text without offset is told how to write UTC', () => {
  assert.throws(
    () => parseInstant('2027-01-01T10:00:00'),
    (error) => isDulyError(error) && (error.hint ?? '').includes('"2027-01-01T10:00:00Z"'),
  );
});

test('dates and numbers are taken as they are, and fractions go up so that nothing is early', () => {
  assert.equal(parseInstant(new Date(5)), 5);
  assert.equal(parseInstant(runInNewContext('new Date(5)')), 5);
  assert.equal(parseInstant(0), 0);
  assert.ok(Object.is(parseInstant(-0), 0));
  assert.equal(parseInstant(1.2), 2);
  assert.equal(parseInstant(instantAtMax), instantAtMax);
});

test('every instant is read back from its text, at any offset', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 18 * 3_600_000, max: instantAtMax - 18 * 3_600_000 }),
      fc.integer({ min: -18 * 60, max: 18 * 60 }),
      (at, offset) => {
        assert.equal(parseInstant(formatInstant(at)), at);
        const two = (n: number): string => String(n).padStart(2, '0');
        const sign = offset < 0 ? '-' : '+';
        const local = formatInstant(at + offset * 60_000).slice(0, -1);
        const text = `${local}${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
        assert.equal(parseInstant(text), at);
      },
    ),
    cases(100),
  );
});

test('a date is accepted exactly when the calendar has it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1970, max: 9999 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (year, month, day) => {
        const two = (n: number): string => String(n).padStart(2, '0');
        const date = new Date(Date.UTC(year, month - 1, day));
        const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && day > 0;
        const read = (): number => parseInstant(`${year}-${two(month)}-${two(day)}T00:00:00Z`);
        if (exists) assert.equal(read(), date.getTime());
        else assert.throws(read, /a date that exists/);
      },
    ),
    cases(100),
  );
});

test('an instant is written as a Date writes it, whole seconds and others, from day to day and back', () => {
  const at = fc.oneof(
    fc.integer({ min: 0, max: instantAtMax }),
    fc.integer({ min: 0, max: Math.floor(instantAtMax / 1_000) }).map((seconds) => seconds * 1_000),
    fc.constantFrom(0, 86_399_000, 86_399_999, 86_400_000, instantAtMax, -1, -1_000, -86_400_000),
  );
  fc.assert(
    fc.property(at, (one) => assert.equal(formatInstant(one), new Date(one).toISOString())),
    cases(100),
  );
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => formatInstant(wrong), RangeError);
  }
});
