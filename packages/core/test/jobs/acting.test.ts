import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duly, isDulyError } from '../../src/index.ts';

function openDuly(t: { after(fn: () => Promise<void>): void }): Duly {
  const duly = new Duly({ store: 'sqlite::memory:', actor: 'me' });
  t.after(() => duly.stop());
  return duly;
}

test('what is done in the name of somebody is recorded as done by them, and only that', async (t) => {
  const duly = openDuly(t);
  const task = duly.task({ name: 'work', run: () => {} });
  const [first, second] = [await task.in('1h'), await task.in('1h')];
  await task.every('0 0 * * *', undefined, { name: 'nightly' });
  await Promise.all([
    duly.as('key:a', async () => {
      await duly.cancel({ id: first.id });
      await duly.schedules.pause('nightly');
      await duly.pause({ queue: 'default' });
      await duly.jobs({ status: 'CANCELLED' }).retry();
      await duly.records.put('setting', 'x', 1);
    }),
    duly.cancel({ id: second.id }),
  ]);
  const rows = (await duly.audit()).map(({ actor, action, subject }) => `${actor} ${action} ${subject}`);
  const of = (text: string) => rows.filter((row) => row.includes(text));
  assert.equal(of('key:a cancel job:').length, 1);
  assert.equal(of(`me cancel job:${second.id}`).length, 1);
  assert.equal(of('key:a pause schedule:').length, 1);
  assert.equal(of('key:a put record:pause/queue:default').length, 1);
  assert.equal(of('key:a put record:setting/x').length, 1);
  assert.ok(of('key:a retry').length >= 1);
});

test('a task that is only named creates jobs, and this process does not run them', async (t) => {
  const duly = openDuly(t);
  const known = duly.task({ name: 'here', queue: 'own', run: () => {} });
  assert.equal(duly.taskNamed('here'), known);
  await duly.start();
  const job = await duly.taskNamed('elsewhere').now({ a: 1 });
  assert.equal(duly.taskNamed('elsewhere'), duly.taskNamed('elsewhere'));
  assert.deepEqual([...duly.tasks.keys()], ['here']);
  assert.equal((await duly.why(job.id)).status, 'PENDING');
  assert.throws(
    () => duly.taskNamed(''),
    (error) => isDulyError(error, 'invalid_task'),
  );
});

test('records are written by compare-and-set, listed by key, and recorded', async (t) => {
  const { records } = openDuly(t);
  assert.equal(await records.get('rule', 'a'), null);
  const first = await records.put('rule', 'a', { limit: 1 }, { expectVersion: null });
  assert.deepEqual(first.value, { limit: 1 });
  await assert.rejects(records.put('rule', 'a', {}, { expectVersion: null }), (error) =>
    isDulyError(error, 'records_conflict'),
  );
  await records.put('rule', 'b', 2);
  await records.put('rule', 'a', { limit: 2 }, { expectVersion: first.version });
  const list = await records.list('rule');
  assert.deepEqual(
    list.map((one) => [one.key, one.value]),
    [
      ['a', { limit: 2 }],
      ['b', 2],
    ],
  );
  assert.equal((await records.list('rule', { after: 'a', limit: 1 }))[0]?.key, 'b');
  assert.equal(await records.delete('rule', 'a'), true);
  assert.equal(await records.delete('rule', 'a'), false);
  await assert.rejects(records.put('pause', 'all', {}), (error) => isDulyError(error, 'invalid_option'));
});

test('a call that is repeated with the id that it had creates nothing twice, also when the job is over', async (t) => {
  const duly = openDuly(t);
  const task = duly.task({ name: 'work', run: () => 1 });
  await duly.start();
  const id = duly.newJobId();
  const first = await task.now(1, { id });
  await first.wait();
  const again = await task.now(1, { id });
  assert.deepEqual([first.id, again.id, again.status], [id, id, 'COMPLETED']);
  assert.equal((await duly.jobs().page()).jobs.length, 1);
  const [one] = await task.nowMany([1], () => ({ id }));
  assert.equal(one?.status, 'COMPLETED');
  assert.equal((await duly.jobs().page()).jobs.length, 1);
  await assert.rejects(task.now(1, { id: 'mine' }), (error) => isDulyError(error, 'invalid_option'));
  await assert.rejects(task.nowMany([1, 2], { id: duly.newJobId() }), (error) =>
    isDulyError(error, 'invalid_option'),
  );
});
