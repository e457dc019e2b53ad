import assert from 'node:assert/strict';
import type { Engine, PutExpiringInput, PutExpiringItem } from '@duly/core/internal';
import { day, hour, jobSpec, minute, t0 } from './builders.ts';
import { accepted, cancel, claim, claimOne, deleteJobs, finish, only, read, statusOf } from './steps.ts';
import type { DefineTest } from './suite.ts';

type ValueChange = PutExpiringInput['groups'][number]['changes'][number];
type Put = Extract<ValueChange, { op: 'put' }>;

const put = (key: string, fields: Partial<Put> = {}): Put => ({
  op: 'put',
  name: 'reset tokens',
  key,
  value: '{"user":1}',
  due: { at: t0 + hour },
  cleanup: null,
  ...fields,
});
const extend = (key: string, at: number): ValueChange => ({
  op: 'extend',
  name: 'reset tokens',
  key,
  due: { at },
});
const remove = (key: string): ValueChange => ({ op: 'delete', name: 'reset tokens', key });

async function apply(engine: Engine, change: ValueChange, now = t0): Promise<PutExpiringItem> {
  const groups = [{ actor: 'key:anna', changes: [change] }];
  return only(accepted(only((await engine.putExpiring({ now, groups })).groups)));
}

async function readValue(engine: Engine, key: string, now = t0): Promise<string | null> {
  const { values } = await engine.getExpiring({ now, keys: [{ name: 'reset tokens', key }] });
  return only(values)?.value ?? null;
}

async function waitingCleanups(engine: Engine, now = t0): Promise<string[]> {
  const filter = { type: ['cleanup'], status: ['SCHEDULED' as const, 'PENDING' as const] };
  return (await engine.list({ now, filter, cursor: null, limit: 10 })).jobs.map(({ id }) => id);
}

const cleanup = (fields = {}) => jobSpec({ type: 'cleanup', due: { at: t0 + hour }, ...fields });

/** What `putExpiring` and `getExpiring` promise. */
export function valueTests(test: DefineTest): void {
  test('a value is read until its instant and gone at it', async ({ engine }) => {
    const item = await apply(engine, put('k', { value: '{ "ü": "✓" }' }));
    assert.deepEqual(item, { result: 'changed', expiresAt: t0 + hour });
    const keys = [{ name: 'reset tokens', key: 'k' }];
    assert.deepEqual((await engine.getExpiring({ now: t0 + hour - 1, keys })).values, [
      { value: '{ "ü": "✓" }', expiresAt: t0 + hour },
    ]);
    assert.deepEqual((await engine.getExpiring({ now: t0 + hour, keys })).values, [null]);
  });

  test('a time given as a delay counts from the instant that rules the call', async ({ engine }) => {
    assert.equal((await apply(engine, put('k', { due: { inMs: 5 } }), t0 + 7)).expiresAt, t0 + 12);
  });

  test('values are read in the order asked, unknown ones as null, names apart', async ({ engine }) => {
    await apply(engine, put('a', { value: '1' }));
    await apply(engine, put('a', { name: 'other', value: '2' }));
    const keys = [
      { name: 'other', key: 'a' },
      { name: 'reset tokens', key: 'b' },
      { name: 'reset tokens', key: 'a' },
    ];
    const { values } = await engine.getExpiring({ now: t0, keys });
    assert.deepEqual(
      values.map((value) => value?.value ?? null),
      ['2', null, '1'],
    );
  });

  test('a second put takes the place of the first', async ({ engine }) => {
    await apply(engine, put('k', { value: '1' }));
    await apply(engine, put('k', { value: '2', due: { at: t0 + minute } }), t0 + 1);
    assert.equal(await readValue(engine, 'k', t0 + minute - 1), '2');
    assert.equal(await readValue(engine, 'k', t0 + minute), null);
  });

  test('extend moves the instant, either way, and keeps the value', async ({ engine }) => {
    await apply(engine, put('k', { value: '1' }));
    const item = await apply(engine, extend('k', t0 + 2 * hour), t0 + minute);
    assert.deepEqual(item, { result: 'changed', expiresAt: t0 + 2 * hour });
    assert.equal(await readValue(engine, 'k', t0 + 2 * hour - 1), '1');
    await apply(engine, extend('k', t0 + minute), t0 + 1);
    assert.equal(await readValue(engine, 'k', t0 + minute), null);
  });

  test('a value that is gone is neither extended nor deleted', async ({ engine }) => {
    await apply(engine, put('k'));
    assert.deepEqual((await apply(engine, extend('k', t0 + day), t0 + hour)).result, 'missing');
    assert.equal(await readValue(engine, 'k', t0 + hour), null, 'it does not come back');
    assert.equal((await apply(engine, remove('k'), t0 + hour)).result, 'missing');
    assert.equal((await apply(engine, extend('never', t0 + day))).result, 'missing');
    assert.equal((await apply(engine, remove('never'))).result, 'missing');
  });

  test('a deleted value is gone at once', async ({ engine }) => {
    await apply(engine, put('k'));
    assert.equal((await apply(engine, remove('k'))).result, 'changed');
    assert.equal(await readValue(engine, 'k'), null);
    assert.equal((await apply(engine, remove('k'))).result, 'missing');
    await apply(engine, put('k', { value: '3' }));
    assert.equal(await readValue(engine, 'k'), '3');
  });

  test('the changes of a group are answered in order and see each other', async ({ engine }) => {
    const changes = [put('a'), extend('a', t0 + day), remove('a'), remove('a'), put('b')];
    const reply = await engine.putExpiring({
      now: t0,
      groups: [
        { actor: 'key:anna', changes },
        { actor: 'key:ben', changes: [extend('b', t0 + day)] },
      ],
    });
    assert.deepEqual(
      reply.groups.map((group) => accepted(group).map(({ result }) => result)),
      [['changed', 'changed', 'changed', 'missing', 'changed'], ['changed']],
    );
  });

  test('the clean-up is due at the instant the value ends, not before', async ({ engine }) => {
    const job = cleanup({ input: '"gone"' });
    await apply(engine, put('k', { cleanup: job }));
    assert.equal((await read(engine, job.id)).dueAt, t0 + hour);
    const tasks = [{ type: 'cleanup', version: 1, limit: 1 }];
    assert.deepEqual(await claim(engine, { tasks }, t0 + hour - 1), []);
    const lease = await claimOne(engine, { tasks }, t0 + hour);
    assert.deepEqual([lease.id, lease.input], [job.id, '"gone"']);
    assert.equal(await readValue(engine, 'k', t0 + hour), null);
    await finish(engine, lease, 'COMPLETED', {}, t0 + hour);
  });

  test('extending a value moves its clean-up', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    await apply(engine, extend('k', t0 + day));
    assert.equal((await read(engine, job.id)).dueAt, t0 + day);
    const tasks = [{ type: 'cleanup', version: 1, limit: 1 }];
    assert.deepEqual(await claim(engine, { tasks }, t0 + day - 1), []);
    assert.equal((await claimOne(engine, { tasks }, t0 + day)).id, job.id);
  });

  test('deleting a value cancels its clean-up', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    await apply(engine, remove('k'), t0 + 1);
    assert.equal(await statusOf(engine, job.id), 'CANCELLED');
  });

  test('a value deleted after its instant does not take its clean-up along', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    await apply(engine, remove('k'), t0 + hour);
    const tasks = [{ type: 'cleanup', version: 1, limit: 1 }];
    assert.equal((await claimOne(engine, { tasks }, t0 + hour)).id, job.id);
  });

  test('a second put leaves one clean-up: its own', async ({ engine }) => {
    const [first, second] = [cleanup(), cleanup({ due: { at: t0 + day } })];
    await apply(engine, put('k', { cleanup: first }));
    await apply(engine, put('k', { due: { at: t0 + day }, cleanup: second }), t0 + 1);
    const waiting = only(await waitingCleanups(engine));
    assert.equal((await read(engine, waiting)).dueAt, t0 + day);
    await apply(engine, put('k', { cleanup: null }), t0 + 2);
    assert.deepEqual(await waitingCleanups(engine), []);
  });

  test('a repeated put changes nothing, whatever happened to the value since', async ({ engine }) => {
    const [first, second] = [cleanup(), cleanup()];
    const repeat = put('k', { value: '1', cleanup: first });
    assert.deepEqual(await apply(engine, repeat), { result: 'changed', expiresAt: t0 + hour });
    assert.deepEqual(await apply(engine, repeat), { result: 'changed', expiresAt: t0 + hour });
    assert.deepEqual(await waitingCleanups(engine), [first.id]);

    await apply(engine, extend('k', t0 + 2 * hour));
    assert.deepEqual(await apply(engine, repeat), { result: 'changed', expiresAt: t0 + 2 * hour });
    assert.equal((await read(engine, first.id)).dueAt, t0 + 2 * hour);

    await apply(engine, put('k', { value: '2', cleanup: second }));
    await apply(engine, repeat);
    assert.equal(await readValue(engine, 'k'), '2', 'the later put stands');
    assert.deepEqual(await waitingCleanups(engine), [second.id]);
    assert.equal(await statusOf(engine, first.id), 'CANCELLED');

    await apply(engine, remove('k'));
    await apply(engine, put('k', { value: '2', cleanup: second }));
    assert.equal(await readValue(engine, 'k'), null, 'a deleted value stays deleted');
    const { jobs } = await engine.list({ now: t0, filter: { type: ['cleanup'] }, cursor: null, limit: 10 });
    assert.deepEqual(
      jobs.map(({ id, status }) => [id, status]).sort(),
      [
        [first.id, 'CANCELLED'],
        [second.id, 'CANCELLED'],
      ].sort(),
    );
  });

  test('a repeated put does not create a deleted clean-up again', async ({ engine }) => {
    const [first, second] = [cleanup(), cleanup()];
    await apply(engine, put('k', { cleanup: first }));
    await apply(engine, put('k', { cleanup: second }));
    await deleteJobs(engine, [first.id]);
    await apply(engine, put('k', { cleanup: first }));
    assert.deepEqual(await waitingCleanups(engine), [second.id]);
    assert.equal((await engine.get({ now: t0, ids: [first.id] })).jobs[0], null);
  });

  test('a put whose clean-up has the id of another type is refused', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    const changes = [put('other', { cleanup: { ...job, type: 'mail' } })];
    const { groups } = await engine.putExpiring({ now: t0, groups: [{ actor: 'key:anna', changes }] });
    const group = only(groups);
    assert.equal(group.ok === false && group.error.code, 'group_refused');
    assert.equal(await readValue(engine, 'other'), null);
  });

  test('a clean-up that somebody cancelled leaves the value alone', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    await cancel(engine, { id: job.id });
    assert.notEqual(await readValue(engine, 'k'), null);
    assert.equal((await apply(engine, extend('k', t0 + day))).result, 'changed');
    assert.equal((await apply(engine, remove('k'))).result, 'changed');
  });

  test('a clean-up that still waits for its worker survives the sweep of the value', async ({ engine }) => {
    const job = cleanup();
    await apply(engine, put('k', { cleanup: job }));
    await engine.prune({ now: t0 + day, limit: 100, ledgerMs: day, auditMs: day, changesMs: day });
    const tasks = [{ type: 'cleanup', version: 1, limit: 1 }];
    assert.equal((await claimOne(engine, { tasks }, t0 + day)).id, job.id);
  });
}
