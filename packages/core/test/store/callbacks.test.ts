import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly } from '../../src/duly.ts';
import { callbacksRecord } from '../../src/store/callbacks.ts';

const metadata = { callback_url: 'https://example.com/' };

function setup(t: TestContext) {
  const duly = new Duly({ store: 'sqlite::memory:' });
  t.after(() => duly.stop({ drain: 0 }));
  const hello = duly.task({ name: 'hello', run: () => null });
  const isNoted = async () => (await duly.records.get(callbacksRecord.kind, callbacksRecord.key)) !== null;
  return { duly, hello, isNoted };
}

test('jobs and schedules without an address note nothing, and ask for nothing', async (t) => {
  const { duly, hello, isNoted } = setup(t);
  await hello.now(1, { metadata: { own: 'callback' } });
  await hello.every('0 8 * * *', 1, { name: 'daily' });
  assert.equal(duly.calls()?.records, 0);
  assert.equal(await isNoted(), false);
});

test('the first job with an address notes that there are such; the next ask no more', async (t) => {
  const { duly, hello, isNoted } = setup(t);
  await hello.nowMany([1, 2], (n) => (n === 2 ? { metadata } : {}));
  assert.equal(await isNoted(), true);
  const before = duly.calls()?.records;
  await hello.now(3, { metadata });
  assert.equal(duly.calls()?.records, before);
});

test('a schedule whose jobs will have an address notes it when it is created, and when it is edited to', async (t) => {
  const created = setup(t);
  await created.hello.every('0 8 * * *', 1, { name: 'daily', metadata });
  assert.equal(await created.isNoted(), true);
  const edited = setup(t);
  const { id } = await edited.hello.every('0 8 * * *', 1, { name: 'daily' });
  await edited.duly.schedules.edit(id, { metadata });
  assert.equal(await edited.isNoted(), true);
});
