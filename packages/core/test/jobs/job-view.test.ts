import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duly, type JobOptions } from '../../src/index.ts';
import { createManualClock } from '../../src/testing/index.ts';

test('created() tells without a read what a read tells, whatever the job was created with', async (t) => {
  const duly = new Duly({ store: 'sqlite::memory:', clock: createManualClock() });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'work', queue: 'slow', retry: 5, timeout: '1m', run: () => {} });
  const all: [string, JobOptions][] = [
    ['plain', {}],
    [
      'with everything',
      { tenant: 'acme', priority: 7, queue: 'other', metadata: { a: [1] }, startDeadline: '1h' },
    ],
    ['keyed', { dedupe: { key: 'k' } }],
    ['held by another', { dedupe: { key: 'k' } }],
    ['serial', { serial: 's' }],
    ['behind it', { serial: 's' }],
    ['at most once', { delivery: 'at-most-once', retry: 1 }],
  ];
  for (const [name, options] of all) {
    const now = await task.now({ name }, options);
    assert.deepEqual(await now.created(), await now.get(), `${name}, now`);
    const later = await task.in('3 days', [name], options);
    assert.deepEqual(await later.created(), await later.get(), `${name}, later`);
  }
  const before = duly.calls()?.get;
  await (await task.now('one more')).created();
  assert.equal(duly.calls()?.get, before, 'nothing was read');
});
