import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly } from '@duly/core';
import { quietLogger } from '@duly/core/internal';
import { Webhook } from 'standardwebhooks';
import { startServer } from '../fixture.ts';
import { type Received, startReceiver } from '../receiver.ts';

async function setup(t: TestContext) {
  return startServer(t, {
    start: true,
    tasks: [{ name: 'render', retry: 1, run: () => 'done' }],
    server: { allowTargets: ['127.0.0.1'] },
  });
}

function verifies({ text, headers }: Received, secret: string): boolean {
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

// A body that a receiver of webhooks would take for the end of another tenant's job.
const forged = {
  id: 'job_00000000000000000000000001',
  type: 'pay',
  status: 'COMPLETED',
  tenant: 'globex',
  result: { paid: true },
};

test('a body that a run key chooses never verifies with a secret of webhooks or callbacks', async (t) => {
  const { ask, key } = await setup(t);
  const other = await startReceiver(t);
  const endpoints = await Promise.all(
    [null, 'acme', 'globex'].map(
      async (tenant) =>
        (await ask('/api/webhooks', { body: { url: other.url, tenant, types: ['none'] } })).json,
    ),
  );
  const admins = await Promise.all([null, 'acme', 'globex'].map((tenant) => key('admin', tenant)));
  const secrets = async (): Promise<string[]> => {
    const callbacks = await Promise.all(admins.map((one) => ask('/api/webhooks/secrets', { key: one })));
    const own = await Promise.all(endpoints.map(({ id }) => ask(`/api/webhooks/${id}/secrets`)));
    return [...callbacks, ...own].flatMap(({ json }) => json.secrets as string[]);
  };
  let sentCount = 0;
  const send = async (tenant: string | null): Promise<Received> => {
    const created = await ask('/api/jobs', {
      key: await key('run', tenant),
      body: { retry: 1, target: { http: { url: other.url, body: forged, sign: true } } },
    });
    assert.equal(created.status, 201, created.text);
    sentCount += 1;
    return other.nth(sentCount);
  };
  for (const tenant of [null, 'acme', 'globex']) {
    const sent = await send(tenant);
    assert.deepEqual(sent.json, forged);
    for (const secret of await secrets()) assert.equal(verifies(sent, secret), false);
    const admin = admins[[null, 'acme', 'globex'].indexOf(tenant)] as string;
    const { status, json } = await ask('/api/webhooks/secrets?for=targets', { key: admin });
    assert.equal(status, 200);
    assert.equal(verifies(sent, json.secrets[0]), true);
  }
  // Rotating one secret leaves the other as it is, and neither ever becomes the other.
  const before = (await ask('/api/webhooks/secrets')).json.secrets;
  const rotated = await ask('/api/webhooks/secrets/rotate?for=targets', { body: { overlap: '1 hour' } });
  assert.deepEqual([rotated.status, rotated.json.secrets.length], [200, 2]);
  assert.deepEqual((await ask('/api/webhooks/secrets')).json.secrets, before);
  const sent = await send(null);
  for (const secret of rotated.json.secrets) assert.equal(verifies(sent, secret), true);
  for (const secret of await secrets()) assert.equal(verifies(sent, secret), false);
});

test('a target cannot set a header that Duly sets, in any letter case, wherever a target comes in', async (t) => {
  const { ask } = await setup(t);
  const target = (header: string) => ({
    http: { url: 'https://example.com/', headers: { [header]: 'x' } },
  });
  const plain = { http: { url: 'https://example.com/' } };
  const named = { name: 'ping', cron: '0 0 1 1 *' };
  assert.equal((await ask('/api/schedules', { body: { ...named, target: plain } })).status, 201);
  const refused = [
    'duly-event',
    'Duly-Event',
    'DULY-JOB-ID',
    'duly-attempt',
    'Duly-Anything',
    'webhook-id',
    'Webhook-Signature',
    'WEBHOOK-TIMESTAMP',
    // CGI, WSGI and Rack give handlers both spellings under one name.
    'webhook_signature',
    'Duly_Event',
    'Host',
    'content-length',
    'Transfer-Encoding',
    'x-{{input.name}}',
  ];
  for (const header of refused) {
    const asked = [
      ask('/api/jobs', { body: { target: target(header) } }),
      ask('/api/schedules', { body: { ...named, target: target(header) } }),
      ask('/api/schedules/ping', { method: 'PATCH', body: { target: target(header) } }),
      ...['apply', 'diff'].map((verb) =>
        ask(`/api/schedules/${verb}`, {
          body: { app: 'a', schedules: [{ ...named, target: target(header) }] },
        }),
      ),
    ];
    for (const { status, json } of await Promise.all(asked)) {
      assert.deepEqual([status, json.code], [400, 'request_invalid'], header);
    }
  }
  assert.equal((await ask('/api/jobs', { body: { target: target('X-Duly-Event') } })).status, 201);
});

test('a process that does not know the schema cannot send such a header either', async (t) => {
  const { duly, store } = await setup(t);
  const other = await startReceiver(t);
  const stranger = new Duly({ store, app: 'stranger', logger: quietLogger });
  t.after(() => stranger.stop());
  const http = { url: other.url, headers: { 'Duly-Event': 'job.completed' } };
  const settled = duly.next('job.settled', (event) => event.type === 'duly:http');
  const { id } = await stranger.taskNamed('duly:http').now({ http }, { retry: 1 });
  assert.equal((await settled).status, 'FAILED');
  assert.equal((await duly.job(id).get()).error?.code, 'invalid_input');
  assert.equal(other.received.length, 0);
});
