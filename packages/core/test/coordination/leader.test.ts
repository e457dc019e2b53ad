import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../src/errors.ts';
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
