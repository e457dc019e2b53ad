import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { resolveRule } from '../../../src/schedules/calendar/rule.ts';
import { preview, previous } from '../../../src/schedules/definition/preview.ts';

const iso = (dates: Date[]): string[] => dates.map((date) => date.toISOString());

test('a preview lists the next slots after an instant, not at it', () => {
  const slots = preview('0 12 * * *', { after: '2027-01-01T12:00:00Z', count: 2 });
  assert.ok(slots.every((slot) => slot instanceof Date));
  assert.deepEqual(iso(slots), ['2027-01-02T12:00:00.000Z', '2027-01-03T12:00:00.000Z']);
});

test('what came before is listed from the latest on', () => {
  const slots = previous('0 12 * * *', { before: '2027-01-03T12:00:00Z', count: 2 });
  assert.deepEqual(iso(slots), ['2027-01-02T12:00:00.000Z', '2027-01-01T12:00:00.000Z']);
});

test('instants may be dates, numbers or texts', () => {
  const expected = ['1970-01-01T00:01:00.000Z'];
  for (const after of [0, new Date(0), '1970-01-01T00:00:00Z']) {
    assert.deepEqual(iso(preview('* * * * *', { after, count: 1 })), expected);
  }
});

test('ten slots from now on are shown unless told otherwise', () => {
  const before = Date.now();
  const slots = preview('* * * * *');
  assert.equal(slots.length, 10);
  const first = (slots[0] as Date).getTime();
  assert.ok(first > before && first <= Date.now() + 60_000);
  const past = previous('* * * * *');
  assert.equal(past.length, 10);
  assert.ok((past[0] as Date).getTime() < Date.now());
});

test('fewer than asked for means that there are no more', () => {
  const rule = { cron: '0 0 1 1 *', startAt: '2027-01-01T00:00:00Z', endAt: '2029-01-01T00:00:00Z' };
  assert.equal(preview(rule, { after: 0, count: 50 }).length, 3);
  assert.equal(previous(rule, { before: '2040-01-01T00:00:00Z', count: 50 }).length, 3);
  assert.deepEqual(preview(rule, { after: '2029-01-01T00:00:00Z' }), []);
  assert.deepEqual(previous(rule, { before: '2027-01-01T00:00:00Z' }), []);
});

test('a rate without a start is shown as if it were created then, and a delay as if runs took no time', () => {
  const after = '2027-01-01T00:00:30Z';
  assert.deepEqual(iso(preview({ rate: '1m' }, { after, count: 2 })), [
    '2027-01-01T00:01:30.000Z',
    '2027-01-01T00:02:30.000Z',
  ]);
  assert.deepEqual(iso(preview({ delay: '1m' }, { after, count: 2 })), [
    '2027-01-01T00:01:30.000Z',
    '2027-01-01T00:02:30.000Z',
  ]);
  assert.deepEqual(iso(previous({ rate: '1m' }, { before: after, count: 1 })), ['2026-12-31T23:59:30.000Z']);
  assert.deepEqual(previous({ delay: '1m' }, { before: after }), []);
});

test('a rule that was resolved is taken too', () => {
  assert.deepEqual(iso(preview(resolveRule('@yearly'), { after: 0, count: 1 })), [
    '1971-01-01T00:00:00.000Z',
  ]);
  assert.deepEqual(iso(previous(resolveRule('@yearly'), { before: 1, count: 1 })), [
    '1970-01-01T00:00:00.000Z',
  ]);
});

test('a cron of past years is refused, unless the past is asked for', () => {
  assert.throws(
    () => preview('0 0 1 1 * 2020'),
    (error) => isDulyError(error, 'invalid_cron') && error.details.field === 'year',
  );
  assert.throws(
    () => preview('0 0 1 1 * 2020', { after: '2026-01-01T00:00:00Z' }),
    (error) => isDulyError(error, 'invalid_cron'),
  );
  assert.deepEqual(iso(preview('0 0 1 1 * 2020', { after: '2019-01-01T00:00:00Z' })), [
    '2020-01-01T00:00:00.000Z',
  ]);
  assert.deepEqual(iso(previous('0 0 1 1 * 2020')), ['2020-01-01T00:00:00.000Z']);
});

test('what is asked for wrongly is refused by field', () => {
  const refusalOf = (call: () => unknown): [string, unknown] => {
    try {
      call();
    } catch (error) {
      if (isDulyError(error)) return [error.code, error.details.field];
      throw error;
    }
    return assert.fail('was not refused');
  };
  assert.deepEqual(
    refusalOf(() => preview('* * * * *', { after: 'soon' })),
    ['invalid_instant', 'after'],
  );
  assert.deepEqual(
    refusalOf(() => preview('* * * * *', { after: '2027-01-01T00:00' })),
    ['invalid_instant', 'after'],
  );
  assert.deepEqual(
    refusalOf(() => preview('* * * * *', { after: new Date(Number.NaN) })),
    ['invalid_instant', 'after'],
  );
  assert.deepEqual(
    refusalOf(() => previous('* * * * *', { before: 'soon' })),
    ['invalid_instant', 'before'],
  );
  for (const count of [0, -1, 1.5, 10_001, Number.NaN, '5']) {
    assert.deepEqual(
      refusalOf(() => preview('* * * * *', { count: count as number })),
      ['invalid_option', 'count'],
    );
    assert.deepEqual(
      refusalOf(() => previous('* * * * *', { count: count as number })),
      ['invalid_option', 'count'],
    );
  }
  assert.deepEqual(
    refusalOf(() => preview('* * * * *', { from: 0 } as never)),
    ['invalid_option', 'from'],
  );
  assert.deepEqual(
    refusalOf(() => preview(undefined as never)),
    ['invalid_rule', 'rule'],
  );
});

test('a rule whose last slots before its end are excluded has no more, and is not refused', () => {
  const rule = { cron: '0 12 * * *', exclude: '2013-04-01/2013-04-05', endAt: '2013-04-03T00:00:00Z' };
  const after = '2013-03-30T00:00:00Z';
  assert.deepEqual(
    preview(rule, { after }).map((slot) => slot.toISOString()),
    ['2013-03-30T12:00:00.000Z', '2013-03-31T12:00:00.000Z'],
  );
  assert.deepEqual(preview(rule, { after: '2013-03-31T12:00:00Z' }), []);
  assert.throws(
    () => preview({ ...rule, exclude: '* * * * *' }, { after }),
    (error) => isDulyError(error, 'everything_excluded'),
  );
});
