import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

const task = { name: 'work', run: () => null };
const hour = 3_600_000;

test('a day has every slot of every schedule that is to come, and nothing of another tenant', async (t) => {
  const { ask, duly, key } = await startServer(t, { tasks: [task] });
  await duly.schedules.put({ type: 'work', name: 'hourly', cron: '0 * * * *', tenant: 'a' });
  await duly.schedules.put({ type: 'work', name: 'daily', cron: '0 2 * * *', tenant: 'b' });
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

test('slots that lie too close to be told apart are one bar, with how many they are', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [task] });
  await duly.schedules.put({ type: 'work', name: 'busy', cron: '* * 3 * * *' });
  const from = Math.ceil(Date.now() / (24 * hour)) * 24 * hour;
  const query = `from=${new Date(from).toISOString()}&to=${new Date(from + 24 * hour).toISOString()}`;
  const [busy] = (await ask(`/api/day?${query}`)).json.data;
  assert.deepEqual(busy.slots, [
    {
      slot: new Date(from + 3 * hour).toISOString(),
      to: new Date(from + 4 * hour - 1_000).toISOString(),
      count: 3_600,
      status: 'coming',
    },
  ]);
  assert.equal(busy.capped, false);
});

test('what falls due next is counted by the minute, and each tenant sees its own', async (t) => {
  const { ask, duly, key } = await startServer(t);
  const later = (inMs: number, tenant?: string) =>
    duly.taskNamed('later').in(inMs, null, tenant === undefined ? {} : { tenant });
  const jobs = [await later(600_000), await later(90_000, 'acme'), await later(2 * hour)];
  const { json } = await ask('/api/upcoming?limit=1');
  assert.deepEqual([json.step_ms, json.capped, json.data.length], [60_000, false, 1]);
  assert.equal(json.data[0].id, jobs[1]?.id);
  assert.deepEqual(
    json.steps.map(({ count }: { count: number }) => count),
    [1, 1],
  );
  const far = await ask('/api/upcoming?within=3h');
  assert.deepEqual(
    far.json.data.map(({ id }: { id: string }) => id),
    [jobs[1]?.id, jobs[0]?.id, jobs[2]?.id],
  );
  const own = await ask('/api/upcoming', { key: await key('read', 'acme') });
  assert.deepEqual([own.json.steps.length, own.json.data[0].id], [1, jobs[1]?.id]);
  const many = await ask('/api/upcoming?within=30d&step=1s');
  assert.deepEqual([many.status, many.json.code], [400, 'invalid_option']);
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

test('more schedules than a picture holds come in pages, and those that are due next first', async (t) => {
  const { ask, duly } = await startServer(t);
  const names = Array.from({ length: 202 }, (_, n) => `n-${String(n).padStart(3, '0')}`);
  await Promise.all(names.map((name) => duly.schedules.put({ type: 'work', name, cron: '0 0 1 1 *' })));
  await duly.schedules.put({ type: 'work', name: 'zz', rate: '1m' });
  const from = new Date().toISOString();
  const to = new Date(Date.now() + 3_600_000).toISOString();
  const read = async (query: string) => (await ask(`/api/day?from=${from}&to=${to}${query}`)).json;
  const first = await read('');
  assert.deepEqual([first.data.length, first.has_more], [200, true]);
  const rest = await read(`&cursor=${encodeURIComponent(first.next_cursor)}`);
  assert.deepEqual(
    rest.data.map(({ name }: { name: string }) => name),
    ['n-200', 'n-201', 'zz'],
  );
  assert.deepEqual([rest.has_more, rest.next_cursor], [false, null]);
  const due = await read('&order=due');
  assert.equal(due.data[0].name, 'zz');
  assert.equal(due.has_more, false);
  const { json } = await ask('/api/schedules?order=due&limit=1');
  assert.equal(json.data[0].name, 'zz');
  assert.equal((await ask('/api/schedules?order=due&search=zz')).status, 400);
});
