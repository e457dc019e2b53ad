import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '../../src/testing/index.ts';
import { scene } from './setup.ts';

for (const [name, rule, options, field, hint] of [
  ['endAt is past', '0 * * * *', { endAt: '2027-01-14T00:00:00Z' }, 'endAt', /later "endAt"/],
  [
    'endAt lies before the next slot',
    '0 0 * * *',
    { endAt: '2027-01-15T12:00:00Z', startAt: '2027-01-01T00:00:00Z' },
    'endAt',
    /later "endAt"/,
  ],
  ['a delay after its endAt', { delay: '10m' }, { endAt: '2027-01-14T00:00:00Z' }, 'endAt', /later "endAt"/],
  [
    'a COUNT that is used up',
    { rrule: 'FREQ=DAILY;COUNT=3' },
    { startAt: '2020-01-01T00:00:00Z' },
    'rrule',
    /"COUNT" .* all 3 are past/,
  ],
  [
    'an UNTIL that is past',
    { rrule: 'FREQ=DAILY;UNTIL=20260101T000000Z' },
    { startAt: '2020-01-01T00:00:00Z' },
    'rrule',
    /"UNTIL"/,
  ],
] as const) {
  test(`a new schedule that would never fire is refused: ${name}`, async (t) => {
    const { t: duly, every } = scene(t);
    await assert.rejects(
      every(rule, options),
      (error: { code: string; details: { field: string }; hint: string }) => {
        assert.deepEqual([error.code, error.details.field], ['rule_never_fires', field]);
        assert.match(error.hint, hint);
        return true;
      },
    );
    assert.equal((await duly.schedules.list()).schedules.length, 0);
  });
}

for (const [name, rule, options] of [
  ['cron years', { cron: '0 0 1 1 * 2028' }, {}],
  ['endAt', { cron: '0 0 1 1 *' }, { endAt: '2028-06-01T00:00:00Z' }],
  ['COUNT', { rrule: 'FREQ=YEARLY;COUNT=2' }, { startAt: '2027-02-01T00:00:00Z' }],
] as const) {
  test(`the same call again is fine when the rule is over: ${name}`, async (t) => {
    const { t: duly, task, reported } = scene(t);
    const again = (more: object = {}) => task.every(rule, null, { name: 'nightly', ...options, ...more });
    await again();
    await duly.advance('800 days');
    assert.ok(reported.length > 0);
    const { updatedAt, status } = await duly.schedules.get('nightly');
    assert.equal(status, 'ended');
    assert.deepEqual((await again()).updatedAt, updatedAt);
    // What is no reason for it to fire or not may still be changed.
    assert.equal((await again({ note: 'kept' })).note, 'kept');
    assert.equal((await duly.schedules.edit('nightly', { overlap: 'allow' })).policies.overlap, 'allow');
    await assert.rejects(task.every(rule, null, { name: 'new', ...options }), {
      code: name === 'cron years' ? 'invalid_cron' : 'rule_never_fires',
    });
    await assert.rejects(duly.schedules.edit('nightly', { cron: '0 0 1 1 * 2027' }), {
      code: 'invalid_cron',
    });
  });
}

test('a declaration whose years are over is read with every start; a new one is refused', async (t) => {
  const every = { cron: '0 0 1 1 * 2028' };
  const duly = createTestDuly({ start: '2029-06-01T00:00:00Z' });
  t.after(() => duly.stop({ drain: 0 }));
  // Whether it is new only the store knows.
  duly.task({ name: 'report', every, run: () => {} });
  await assert.rejects(duly.schedules.apply(), { code: 'invalid_cron' });
  assert.equal((await duly.schedules.list()).schedules.length, 0);
});

test('an unchanged declaration goes on when its years are over', async (t) => {
  const duly = createTestDuly({ start: '2027-06-01T00:00:00Z' });
  t.after(() => duly.stop({ drain: 0 }));
  const declared = [{ type: 'report', cron: '0 0 1 1 * 2028' }];
  assert.deepEqual(
    (await duly.schedules.apply(declared)).map(({ action }) => action),
    ['add'],
  );
  await duly.outage('700 days');
  // The node of this test does not declare it, and has marked it so.
  assert.deepEqual(
    (await duly.schedules.apply(declared)).map(({ note }) => note),
    ['declared again'],
  );
  assert.deepEqual(
    (await duly.schedules.apply(declared)).map(({ action }) => action),
    ['none'],
  );
  await assert.rejects(duly.schedules.apply([{ type: 'report', cron: '0 0 2 1 * 2028' }]), {
    code: 'invalid_cron',
  });
});

test('an edit may end a schedule by its endAt', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.advance('2h');
  const { status } = await duly.schedules.edit('nightly', { endAt: '2027-01-15T11:00:00Z' });
  assert.equal(status, 'ended');
});
