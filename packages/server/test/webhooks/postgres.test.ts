import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { appOf } from '../../src/server.ts';
import { startServer } from '../fixture.ts';
import { startReceiver } from '../receiver.ts';

test('webhooks, targets, alerts and metrics do the same on PostgreSQL', { timeout: 60_000 }, async (t) => {
  const store = inSchema(await testPostgresUrl(), freshSchema());
  const { ask, duly, server } = await startServer(t, {
    store,
    start: true,
    tasks: [
      {
        name: 'break',
        retry: 1,
        run: () => {
          throw new Error('no luck');
        },
      },
    ],
    server: { allowTargets: ['127.0.0.1'], alertEvery: '1h' },
  });
  const hook = await startReceiver(t);
  await ask('/api/alerts/channels', { body: { kind: 'webhook', url: `${hook.url}/alert` } });
  await ask('/api/webhooks', { body: { url: `${hook.url}/hook`, statuses: ['FAILED'] } });
  await ask('/api/jobs', { body: { type: 'break', callback_url: `${hook.url}/own` } });
  await ask('/api/jobs', { body: { target: { http: { url: `${hook.url}/target` } } } });
  await hook.nth(3);
  await appOf.get(server)?.context.builtIn.alerts.look();
  await hook.nth(4);
  assert.deepEqual(hook.received.map(({ path }) => path).sort(), ['/alert', '/hook', '/own', '/target']);
  const { text } = await ask('/metrics');
  assert.match(text, /^duly_dead_letters 1$/m);
  assert.match(text, /^duly_alerts_firing\{rule="dead-letters"\} 1$/m);
  // The place in the feed is where the next server goes on.
  assert.notEqual(await duly.records.get('cursor', 'webhooks'), null);
});
