import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startServer } from '../fixture.ts';
import { startReceiver } from '../receiver.ts';

/** A server whose worker has two slots, and a task that holds one until the test releases it. */
async function setup(t: TestContext) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const fixture = await startServer(t, {
    start: { concurrency: 2 },
    tasks: [
      { name: 'long', retry: 1, run: () => released },
      { name: 'short', retry: 1, run: () => 'done' },
    ],
    server: { allowTargets: ['127.0.0.1'], webhookDelays: ['1ms'] },
  });
  t.after(() => release());
  return { ...fixture, release };
}

test('webhooks are delivered while the long jobs of another tenant hold every slot', {
  timeout: 30_000,
}, async (t) => {
  const { ask, duly, release } = await setup(t);
  const hook = await startReceiver(t, (n) => (n === 1 ? 500 : 200));
  let startedCount = 0;
  const { promise: isFull, resolve: full } = Promise.withResolvers<void>();
  duly.on('job.started', ({ type }) => {
    if (type === 'long' && ++startedCount === 2) full();
  });
  // The job with the callback is cancelled while it waits, so that it needs no slot itself.
  const job = await ask('/api/jobs', {
    body: { type: 'short', tenant: 'b', delay: '1h', callback_url: hook.url },
  });
  for (let i = 0; i < 6; i++) await ask('/api/jobs', { body: { type: 'long', tenant: 'a' } });
  await isFull;
  await ask(`/api/jobs/${job.json.id}/cancel`, { method: 'POST' });
  // The first try fails: the next one falls due while all slots are still held.
  assert.equal((await hook.nth(2)).json.id, job.json.id);
  // The reserve is for the server's own work: no third long job was started with it.
  assert.equal(startedCount, 2);
  release();
});

test('a queue with the prefix of Duly is refused wherever a caller names one, and so is a task', async (t) => {
  const { ask, duly } = await setup(t);
  const queue = 'duly:internal';
  await ask('/api/schedules', { body: { type: 'short', name: 'nightly', cron: '0 0 1 1 *' } });
  const target = { http: { url: 'https://example.com/' } };
  const asked = [
    ask('/api/jobs', { body: { type: 'short', queue } }),
    ask('/api/jobs', { body: { target, queue } }),
    ask('/api/jobs', { body: { type: 'short', queue: 'duly:other' } }),
    ask('/api/schedules', { body: { type: 'short', name: 'x', cron: '0 0 1 1 *', queue } }),
    ask('/api/schedules', { body: { target, name: 'x', cron: '0 0 1 1 *', queue } }),
    ask('/api/schedules/nightly', { method: 'PATCH', body: { queue } }),
    ask('/api/schedules/apply', {
      body: { app: 'a', schedules: [{ type: 'short', name: 'x', cron: '0 0 1 1 *', queue }] },
    }),
    ask('/api/schedules/apply', {
      body: { app: 'a', tasks: [{ type: 'mine', queue }], schedules: [{ type: 'mine', cron: '0 0 1 1 *' }] },
    }),
    ask('/api/schedules/apply', {
      body: {
        app: 'a',
        tasks: [{ type: 'duly:http', queue }],
        schedules: [{ target, name: 'x', cron: '0 0 1 1 *' }],
      },
    }),
  ];
  for (const [i, { status, json, text }] of (await Promise.all(asked)).entries()) {
    assert.deepEqual([status, json.code], [400, 'invalid_option'], `${i}: ${text}`);
    assert.match(json.detail, /"duly:/);
  }
  const refused = { code: 'invalid_option' };
  await assert.rejects(async () => duly.taskNamed('short').now(1, { queue }), refused);
  await assert.rejects(
    async () => duly.schedules.put({ type: 'short', name: 'x', cron: '0 0 1 1 *', queue }),
    refused,
  );
  await assert.rejects(async () => duly.schedules.edit('nightly', { queue }), refused);
  assert.throws(() => duly.task({ name: 'mine', queue, run: () => 1 }), refused);
  assert.throws(() => duly.task({ name: 'duly:mine', run: () => 1 }), { code: 'invalid_task' });
});
