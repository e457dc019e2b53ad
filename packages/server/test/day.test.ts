import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

const task = { name: 'work', run: () => null };
const hour = 3_600_000;

test('a day has every slot of every schedule that is to come, and nothing of another tenant', async (t) => {
  const { ask, duly, key } = await startServer(t, { tasks: [task] });
  await duly.schedules.put({ task: 'work', name: 'hourly', cron: '0 * * * *', tenant: 'a' });
  await duly.schedules.put({ task: 'work', name: 'daily', cron: '0 2 * * *', tenant: 'b' });
  const from = Math.ceil(Date.now() / hour) * hour;
  const query = `from=${new Date(from).toISOString()}&to=${new Date(from + 24 * hour).toISOString()}`;
  const { json } = await ask(`/api/day?${query}`);
  const names = json.data.map((one: { name: string; slots: unknown[] }) => [one.name, one.slots.length]);
  assert.deepEqual(names, [
    ['daily', 1],
    ['hourly', 24],
  ]);
  assert.equal(json.data[1].slots[0].status, 'coming');
  assert.equal(json.data[1].slots[0].slot, new Date(from).toISOString());
  const own = await ask(`/api/day?${query}`, { key: await key('read', 'a') });
  assert.deepEqual(
    own.json.data.map((one: { name: string }) => one.name),
    ['hourly'],
  );
});

test('a day that ends before it begins, or lasts for weeks, is refused', async (t) => {
  const { ask } = await startServer(t);
  for (const [from, to] of [
    ['2027-01-02T00:00:00Z', '2027-01-01T00:00:00Z'],
    ['2027-01-01T00:00:00Z', '2027-03-01T00:00:00Z'],
  ]) {
    const { status, json } = await ask(`/api/day?from=${from}&to=${to}`);
    assert.equal(status, 400);
    assert.equal(json.code, 'request_invalid');
  }
});
