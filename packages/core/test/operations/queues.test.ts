import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listQueues } from '../../src/operations/queues.ts';
import { createTestDuly } from '../../src/testing/index.ts';

test('of a worker that takes from all queues the ordinary one is known, so that it can be paused before anything waits', () => {
  const nothing = { status: {} as never, lanes: [] };
  const queuesOf = (roles: ('worker' | 'scheduler')[], queues: string[] | null) =>
    listQueues(nothing, [{ roles, queues }], []).queues.map(({ queue }) => queue);
  assert.deepEqual(queuesOf(['worker'], null), ['default']);
  assert.deepEqual(queuesOf(['worker'], ['mail']), ['mail']);
  assert.deepEqual(queuesOf(['scheduler'], null), []);
});

test('queues are known by what is ready, by who takes from them and by their pauses, each with the pause that holds it', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  const a = duly.task({ name: 'a', queue: 'busy', run: () => {} });
  const b = duly.task({ name: 'b', queue: 'busy', run: () => {} });
  await Promise.all([a.now(), a.now(), b.now()]);
  await duly.pause({ queue: 'held' }, { note: 'moving' });
  await duly.pause({ type: 'a' });
  const { queues, status } = await duly.queues();
  assert.deepEqual(
    queues.map(({ queue, pause, lanes }) => [
      queue,
      pause?.note ?? null,
      lanes.map(({ type, ready, pause: own }) => [type, ready.count, own?.scope ?? null]),
    ]),
    [
      [
        'busy',
        null,
        [
          ['a', 2, 'type'],
          ['b', 1, null],
        ],
      ],
      ['held', 'moving', []],
    ],
  );
  assert.equal(status.PENDING.count, 3);
  assert.ok(queues[0]?.lanes[0]?.oldestDueAt instanceof Date);
  await duly.pause({ all: true });
  const all = await duly.queues();
  assert.deepEqual(
    all.queues.map(({ pause }) => pause?.scope),
    ['all', 'all'],
  );
});
