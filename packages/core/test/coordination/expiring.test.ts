import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '../../src/testing/index.ts';

function setup(t: { after(fn: () => Promise<void>): void }) {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  return duly;
}

test('a value is there until its instant, and gone at it', async (t) => {
  const duly = setup(t);
  const tokens = duly.expiring<{ user: number }>('reset-tokens');
  const { expiresAt } = await tokens.put('a', { user: 1 }, { for: '15m' });
  assert.equal(expiresAt.toISOString(), '2027-01-15T10:15:00.000Z');
  assert.deepEqual(await tokens.get('a'), { user: 1 });
  await duly.advance('10m');
  assert.equal(await tokens.ttl('a'), 5 * 60_000);
  await duly.advance(5 * 60_000 - 1);
  assert.deepEqual(await tokens.get('a'), { user: 1 });
  await duly.advance(1);
  assert.equal(await tokens.get('a'), null);
  assert.equal(await tokens.ttl('a'), null);
  assert.equal(await tokens.get('never'), null);
});

test('its clean-up runs with the value, at its instant', async (t) => {
  const duly = setup(t);
  const cleaned: unknown[] = [];
  const carts = duly.expiring<string[]>('carts', { cleanup: ({ input }) => void cleaned.push(input) });
  await carts.put('ada', ['book'], { at: '2027-01-15T11:00:00Z' });
  assert.deepEqual(await duly.advance('59m'), []);
  const [ran] = await duly.advance('1m');
  assert.deepEqual([ran?.type, ran?.at.toISOString()], ['expiring:carts', '2027-01-15T11:00:00.000Z']);
  assert.deepEqual(cleaned, [{ name: 'carts', key: 'ada', value: ['book'] }]);
});

test('a task of its own can be the clean-up', async (t) => {
  const duly = setup(t);
  const release = duly.task({ name: 'release', run: ({ input }) => (input as { key: string }).key });
  const seats = duly.expiring('seats', { cleanup: release });
  await seats.put('12A', null, { for: '10m' });
  const [ran] = await duly.advance('10m');
  assert.deepEqual([ran?.type, ran?.result], ['release', '12A']);
});

test('extending moves the clean-up, deleting cancels it, and a second put takes its place', async (t) => {
  const duly = setup(t);
  const seats = duly.expiring<string>('seats', { cleanup: ({ input }) => input.value });
  await seats.put('1', 'extended', { for: '10m' });
  await seats.put('2', 'deleted', { for: '10m' });
  await seats.put('3', 'old', { for: '10m' });
  await seats.put('3', 'new', { for: '20m' });
  assert.equal(await seats.extend('1', { for: '30m' }), true);
  assert.equal(await seats.delete('2'), true);
  assert.equal(await seats.delete('2'), false);
  assert.equal(await seats.extend('2', { for: '1m' }), false);
  const ran = await duly.advance('1h');
  assert.deepEqual(
    ran.map(({ result, at }) => [result, at.toISOString()]),
    [
      ['new', '2027-01-15T10:20:00.000Z'],
      ['extended', '2027-01-15T10:30:00.000Z'],
    ],
  );
});

test('the same name gives the same values, and two clean-ups contradict each other', async (t) => {
  const duly = setup(t);
  const one = duly.expiring('seats', { cleanup: () => {} });
  assert.equal(duly.expiring('seats'), one);
  assert.throws(() => duly.expiring('seats', { cleanup: () => {} }), { code: 'duplicate_task' });
  assert.throws(() => duly.expiring('other', { cleanup: {} as never }), { code: 'invalid_option' });
  assert.throws(() => duly.expiring('other', { cleanUp: () => {} } as never), { code: 'invalid_option' });
});

test('bad ends and values are refused', async (t) => {
  const duly = setup(t);
  const values = duly.expiring('v');
  await assert.rejects(values.put('a', 1, {} as never), { code: 'invalid_option' });
  await assert.rejects(values.put('a', 1, { for: '-1m' }), { code: 'invalid_duration' });
  await assert.rejects(values.put('a', 1, { for: 0 }), { code: 'invalid_duration' });
  await assert.rejects(values.put('a', 1, { at: '2027-02-30T00:00:00Z' }), { code: 'invalid_instant' });
  // Gone already, by the store's clock.
  await assert.rejects(values.put('a', 1, { at: '2027-01-15T10:00:00Z' }), { code: 'invalid_instant' });
  await values.put('a', 1, { at: '2027-01-15T10:00:00.001Z' });
  await assert.rejects(values.extend('a', { at: '2027-01-15T09:00:00Z' }), { code: 'invalid_instant' });
  await assert.rejects(values.put('a', 1n, { for: '1m' }), { code: 'input_not_json' });
  await assert.rejects(values.put(1 as never, 1, { for: '1m' }), { code: 'invalid_option' });
});
