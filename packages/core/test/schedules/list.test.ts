import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SchedulesFilter } from '../../src/index.ts';
import { type Scene, scene } from './setup.ts';

/** The names of all that match, read page by page. */
async function namesOf({ t: duly }: Scene, filter: SchedulesFilter): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const page = await duly.schedules.list({ ...filter, ...(cursor === null ? {} : { cursor }) });
    pages.push(page.schedules.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== null && pages.length < 100);
  return pages;
}

test('a search finds parts of the name, the task, the tenant and the words of the rule', async (t) => {
  const one = scene(t);
  const { schedules } = one.t;
  await schedules.put({ type: 'report', name: 'Nächtlich', cron: '0 2 * * *' });
  await schedules.put({ type: 'send_mail', name: 'digest', cron: '0 8 * * 1', timezone: 'Europe/Rome' });
  await schedules.put({ type: 'report', name: 'per-tenant', rate: '15m', tenant: 'Acme' });
  const found = async (search: string) => (await namesOf(one, { search })).flat();
  assert.deepEqual(await found('NÄCHT'), ['Nächtlich']);
  assert.deepEqual(await found('send_'), ['digest']);
  assert.deepEqual(await found('acme'), ['per-tenant']);
  assert.deepEqual(await found('on monday'), ['digest']);
  assert.deepEqual(await found('15 min'), ['per-tenant']);
  assert.deepEqual(await found('%'), []);
  await assert.rejects(schedules.list({ search: '' }), { code: 'invalid_option' });
});

test('what is due next comes first', async (t) => {
  const one = scene(t);
  const { schedules } = one.t;
  await schedules.put({ type: 'report', name: 'a', cron: '0 2 * * *' });
  await schedules.put({ type: 'report', name: 'b', rate: '15m' });
  await schedules.put({ type: 'report', name: 'c', rate: '1h' });
  await schedules.put({ type: 'report', name: 'd', rate: '1m' });
  await schedules.pause('d');
  assert.deepEqual(await namesOf(one, { order: 'due' }), [['b', 'c', 'a']]);
  assert.deepEqual(await namesOf(one, { order: 'due', limit: 2 }), [['b', 'c']]);
  await assert.rejects(schedules.list({ order: 'due', search: 'a' }), { code: 'invalid_option' });
  await assert.rejects(schedules.list({ order: 'late' as never }), { code: 'invalid_option' });
});

test('what the store cannot tell is found in whole pages, and none is lost or shown twice', async (t) => {
  const one = scene(t);
  const { schedules } = one.t;
  for (let n = 0; n < 40; n++) {
    const name = `every-${String(n).padStart(2, '0')}`;
    await schedules.put({ type: n % 3 === 0 ? 'third' : 'report', name, rate: '1h' });
    if (n % 3 === 0 && n < 20) await schedules.pause(name);
  }
  const third = Array.from({ length: 14 }, (_, n) => `every-${String(n * 3).padStart(2, '0')}`);
  for (const filter of [{ type: 'third' }, { search: 'third' }]) {
    assert.deepEqual(await namesOf(one, { ...filter, limit: 6 }), [
      third.slice(0, 6),
      third.slice(6, 12),
      third.slice(12),
    ]);
    // The last page is full, and known to be the last.
    assert.deepEqual(await namesOf(one, { ...filter, limit: 7 }), [third.slice(0, 7), third.slice(7)]);
  }
  assert.deepEqual(await namesOf(one, { status: 'paused', limit: 5 }), [
    third.slice(0, 5),
    third.slice(5, 7),
  ]);
  assert.deepEqual(
    (await namesOf(one, { search: 'third', status: 'active', limit: 3 })).flat(),
    third.slice(7),
  );
});
