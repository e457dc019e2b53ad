import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../src/base/errors.ts';
import { Duly } from '../../src/index.ts';
import { createManualClock } from '../../src/testing/index.ts';
import { createSharedStore } from './setup.ts';

test('one of two leads; when it resigns, the other follows with a greater fence', async (t) => {
  const { duly } = await createSharedStore(t);
  const [one, two] = [duly(), duly()];
  const first = one.leader('reports', { ttl: '1m' });
  const term = await first.elected();
  assert.deepEqual([first.isLeader, first.fence, first.signal?.aborted], [true, term.fence, false]);
  const second = two.leader('reports', { ttl: '1m' });
  const next = second.elected();
  assert.equal(second.isLeader, false);
  const lost = new Promise((resolve) => first.on('lost', resolve));
  await first.resign();
  assert.deepEqual(await lost, { error: null });
  assert.ok((await next).fence > term.fence);
  assert.deepEqual([first.isLeader, first.fence, second.isLeader], [false, null, true]);
});

test('a leader that stands still loses its term, is told, and stands again', async (t) => {
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const [one, two] = [duly(), duly()];
  const first = one.leader('reports', { ttl: '10s' });
  const { signal, fence } = await first.elected();
  const lost = new Promise<{ error: unknown }>((resolve) => first.on('lost', resolve));
  const second = two.leader('reports', { ttl: '10s' });
  const next = second.elected();
  await advance(two, 11_000);
  assert.ok((await next).fence > fence);
  await advance(one, 11_000);
  assert.ok(isDulyError((await lost).error, 'lock_lost'));
  assert.ok(signal.aborted);
  assert.equal(first.isLeader, false);
  await second.resign();
  const again = first.elected();
  await advance(one, 11_000);
  assert.ok((await again).fence > fence);
});

test('stopping a Duly gives its leadership up', async (t) => {
  const { duly } = await createSharedStore(t);
  const [one, two] = [duly(), duly()];
  await one.leader('reports', { ttl: '10m' }).elected();
  const second = two.leader('reports', { ttl: '10m' });
  await one.stop();
  await second.elected();
  assert.equal(second.isLeader, true);
});

test('whoever waits to be elected is told when this process stands no more', async (t) => {
  const { duly } = await createSharedStore(t);
  const [one, two] = [duly(), duly()];
  await one.leader('reports', { ttl: '10m' }).elected();
  const resigning = two.leader('reports');
  const pending = assert.rejects(resigning.elected(), { code: 'resigned' });
  await resigning.resign();
  await pending;
  await assert.rejects(resigning.elected(), { code: 'resigned' });
  assert.equal(resigning.isLeader, false);

  const stopped = two.leader('reports').elected();
  const reported = assert.rejects(stopped, { code: 'stopped' });
  await two.stop();
  await reported;
});

test('a stopped Duly stands for nothing, and nothing of it goes on', async () => {
  const clock = createManualClock();
  const duly = new Duly({ store: 'sqlite::memory:', clock });
  const errors: unknown[] = [];
  duly.on('error', (failure) => errors.push(failure));
  await duly.stop();
  const leadership = duly.leader('reports');
  await assert.rejects(leadership.elected(), { code: 'stopped' });
  await clock.settle();
  assert.equal(clock.pendingCount(), 0);
  assert.deepEqual(errors, []);
  await leadership.resign();
});

test('a standby asks when the leader steps down and when its time is over, and else seldom', async (t) => {
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const [one, two] = [duly(), duly()];
  const first = one.leader('reports', { ttl: '1h' });
  await first.elected();
  const second = two.leader('reports', { ttl: '1h' });
  await advance(two, 0);
  const before = two.calls()?.acquire ?? 0;
  await advance(two, 60_000);
  const asked = (two.calls()?.acquire ?? 0) - before;
  assert.ok(asked > 0 && asked <= 12, `${asked} questions in a minute`);
  await first.resign();
  await second.elected();
});
