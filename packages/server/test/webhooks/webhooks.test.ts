import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly } from '@duly/core';
import { Webhook } from 'standardwebhooks';
import { createServer, listen } from '../../src/index.ts';
import { createStore, type FixtureOptions, startServer } from '../fixture.ts';
import { type Received, startReceiver } from '../receiver.ts';

const tasks = [
  { name: 'render', retry: 1, run: ({ input }: { input: unknown }) => ({ created: input }) },
  {
    name: 'break',
    retry: 1,
    run: () => {
      throw new Error('no luck');
    },
  },
];

const server = { allowTargets: ['127.0.0.1'], webhookDelays: ['1ms', '1ms', '1ms'] };

async function setup(t: TestContext, options: FixtureOptions = {}) {
  return startServer(t, { tasks, start: true, ...options, server: { ...server, ...options.server } });
}

function verify({ text, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(text, headers as Record<string, string>);
}

test('the end of a job is told to its callback_url: the status JSON, signed', async (t) => {
  const { ask } = await setup(t);
  const hook = await startReceiver(t);
  const created = await ask('/api/jobs', {
    body: { type: 'render', input: 'a.mp4', metadata: { own: 1 }, callback_url: `${hook.url}/done?x=1` },
  });
  assert.equal(created.status, 201);
  const reported = await hook.nth(1);
  assert.equal(reported.method, 'POST');
  assert.equal(reported.path, '/done?x=1');
  assert.equal(reported.headers['duly-event'], 'job.completed');
  const { json: shown } = await ask(`/api/jobs/${created.json.id}`);
  assert.deepEqual(reported.json, shown);
  assert.equal(reported.json.status, 'COMPLETED');
  assert.deepEqual(reported.json.result, { created: 'a.mp4' });
  const { json } = await ask('/api/webhooks/secrets');
  assert.equal(json.secrets.length, 1);
  assert.deepEqual(verify(reported, json.secrets[0]), reported.json);
  assert.throws(() => verify({ ...reported, text: `${reported.text} ` }, json.secrets[0]));
});

test('all tries of a delivery have one id, and it ends with the first success', async (t) => {
  const { ask, duly } = await setup(t);
  const hook = await startReceiver(t, (n) =>
    n === 1 ? 500 : n === 2 ? { status: 302, headers: { location: 'http://127.0.0.1:1/' } } : 204,
  );
  const settled = duly.next(
    'job.settled',
    (event) => event.type === 'duly:webhook' && event.status === 'COMPLETED',
  );
  await ask('/api/jobs', { body: { type: 'render', callback_url: hook.url } });
  await settled;
  assert.equal(hook.received.length, 3);
  const ids = new Set(hook.received.map(({ headers }) => headers['webhook-id']));
  assert.equal(ids.size, 1);
  const [id] = ids;
  const { json: delivery } = await ask(`/api/jobs/${id}`);
  assert.equal(delivery.type, 'duly:webhook');
  assert.equal(delivery.status, 'COMPLETED');
  assert.equal(delivery.attempts, 3);
});

test('the credentials of a target are told to nobody, neither in a webhook nor in the job that delivers it', async (t) => {
  const { ask } = await setup(t);
  const other = await startReceiver(t);
  const hook = await startReceiver(t);
  const http = { url: other.url, headers: { Authorization: 'only for the target' } };
  await ask('/api/jobs', { body: { target: { http }, callback_url: hook.url } });
  const reported = await hook.nth(1);
  assert.equal((await other.nth(1)).headers.authorization, 'only for the target');
  assert.equal(reported.json.input.http.headers.Authorization, '[redacted]');
  assert.doesNotMatch(reported.text, /only for the target/);
  const { json, text } = await ask('/api/jobs?type=duly:webhook');
  assert.equal(json.data.length, 1);
  assert.doesNotMatch(text, /only for the target/);
});

test('who never takes it leaves a dead letter', async (t) => {
  const { ask, duly } = await setup(t);
  const hook = await startReceiver(t, () => ({ status: 503, headers: { 'retry-after': '0' } }));
  const dead = duly.next(
    'job.settled',
    (event) => event.type === 'duly:webhook' && event.status === 'FAILED',
  );
  await ask('/api/jobs', { body: { type: 'render', callback_url: hook.url } });
  await dead;
  assert.equal(hook.received.length, 4);
});

test('who asks to come back later is asked later, and never sooner than anybody else', async (t) => {
  const { ask, duly } = await setup(t, { server: { webhookDelays: ['1h'] } });
  for (const [retryAfter, waitMs] of [
    ['7200', 7_200_000],
    ['0', 3_600_000],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 3_600_000],
  ] as const) {
    const hook = await startReceiver(t, () => ({ status: 429, headers: { 'retry-after': retryAfter } }));
    const put = duly.next(
      'job.settled',
      (event) => event.type === 'duly:webhook' && event.status === 'RETRYING',
    );
    await ask('/api/jobs', { body: { type: 'render', callback_url: hook.url } });
    const { id } = await put;
    const { json } = await ask(`/api/jobs/${id}`);
    const wait = Date.parse(json.next_attempt_at) - Date.parse(json.updated_at);
    assert.equal(wait, waitMs, retryAfter);
    assert.equal(json.error.code, 'unexpected_status');
  }
});

test('a subscription hears of the types, statuses, schedules and tenants that it names, and of nothing else', async (t) => {
  const { ask, duly } = await setup(t);
  const hook = await startReceiver(t);
  const subscribe = async (path: string, filter: object) => {
    const { status, json } = await ask('/api/webhooks', { body: { url: `${hook.url}${path}`, ...filter } });
    assert.equal(status, 201);
    assert.match(json.secret, /^whsec_/);
    return json as { id: string; secret: string };
  };
  await subscribe('/all', {});
  await subscribe('/render', { types: ['render'] });
  await subscribe('/failed', { statuses: ['FAILED'] });
  await subscribe('/acme', { tenant: 'acme' });
  const nightly = await subscribe('/nightly', { schedules: ['nightly'] });
  await subscribe('/off', { enabled: false });
  await ask('/api/jobs', { body: { type: 'render' } });
  await ask('/api/jobs', { body: { type: 'break', tenant: 'acme' } });
  await hook.nth(5);
  await duly.taskNamed('render').every('0 0 1 1 *', undefined, { name: 'nightly' });
  await duly.schedules.trigger('nightly');
  await hook.nth(8);
  const heard = hook.received.map(
    ({ path, json }) => `${path} ${json.type}${json.schedule === null ? '' : ` of ${json.schedule}`}`,
  );
  assert.deepEqual(heard.sort(), [
    '/acme break',
    '/all break',
    '/all render',
    '/all render of nightly',
    '/failed break',
    '/nightly render of nightly',
    '/render render',
    '/render render of nightly',
  ]);
  const reported = hook.received.find(({ path }) => path === '/nightly');
  assert.ok(reported && verify(reported, nightly.secret));
});

test('while a secret is rotated both sign, and afterwards the new one alone', async (t) => {
  const { ask, duly } = await setup(t);
  const hook = await startReceiver(t);
  const { json: created } = await ask('/api/webhooks', { body: { url: hook.url } });
  const { json: rotated } = await ask(`/api/webhooks/${created.id}/rotate`, { body: { overlap: '1h' } });
  assert.equal(rotated.secrets.length, 2);
  assert.equal(rotated.secrets[1], created.secret);
  await ask('/api/jobs', { body: { type: 'render' } });
  const first = await hook.nth(1);
  assert.equal(first.headers['webhook-signature']?.toString().split(' ').length, 2);
  for (const secret of rotated.secrets) verify(first, secret);
  const { json: last } = await ask(`/api/webhooks/${created.id}/rotate`, { body: { overlap: 0 } });
  assert.equal(last.secrets.length, 1);
  await ask('/api/jobs', { body: { type: 'render' } });
  const second = await hook.nth(2);
  verify(second, last.secrets[0]);
  for (const secret of rotated.secrets) assert.throws(() => verify(second, secret));
  // What was signed with is nobody's to read.
  const written = await duly.audit({ subject: 'record:secret/webhooks' });
  assert.deepEqual(
    written.map(({ action, before, after }) => ({ action, before, after })),
    [{ action: 'put', before: null, after: '[secret]' }],
  );
});

test('an endpoint that answers 410 is disabled, told nothing more, and can be enabled again', async (t) => {
  const { ask, duly } = await setup(t);
  const hook = await startReceiver(t, (n) => (n === 1 ? 410 : 200));
  const { json: created } = await ask('/api/webhooks', { body: { url: hook.url } });
  const ended = duly.next('job.settled', (event) => event.type === 'duly:webhook');
  await ask('/api/jobs', { body: { type: 'render' } });
  await ended;
  const { json: disabled } = await ask(`/api/webhooks/${created.id}`);
  assert.equal(disabled.enabled, false);
  assert.match(disabled.disabled_reason, /410/);
  const { json: enabled } = await ask(`/api/webhooks/${created.id}`, {
    method: 'PATCH',
    body: { enabled: true },
  });
  assert.deepEqual([enabled.enabled, enabled.disabled_reason], [true, null]);
  await ask('/api/jobs', { body: { type: 'render' } });
  await hook.nth(2);
});

test('an address inside is refused when it is given, with its name and the option that opens it', async (t) => {
  const { ask } = await setup(t, { server: { allowTargets: ['127.0.0.2'] } });
  for (const [path, body] of [
    ['/api/jobs', { type: 'render', callback_url: 'http://127.0.0.1/x' }],
    ['/api/jobs', { type: 'render', metadata: { callback_url: 'http://0x7f.1/x' } }],
    ['/api/webhooks', { url: 'http://[::ffff:7f00:1]/' }],
  ] as const) {
    const { status, json } = await ask(path, { body });
    assert.equal(status, 422, JSON.stringify(body));
    assert.equal(json.code, 'target_refused');
    assert.match(json.detail, /127\.0\.0\.1/);
    assert.match(json.hint, /--allow-targets/);
  }
  const { status, json } = await ask('/api/jobs', { body: { type: 'render', callback_url: 'ftp://x/' } });
  assert.deepEqual([status, json.code], [400, 'target_invalid']);
});

test('a name that leads inside is refused when it is called, and nothing is sent', async (t) => {
  const { ask, duly } = await setup(t, {
    server: { allowTargets: [], lookup: async () => [{ address: '127.0.0.1', family: 4 }] },
  });
  const hook = await startReceiver(t);
  const dead = duly.next(
    'job.settled',
    (event) => event.type === 'duly:webhook' && event.status === 'FAILED',
  );
  await ask('/api/jobs', { body: { type: 'render', callback_url: `http://hook.example:${hook.port}/` } });
  assert.match((await dead).error?.message ?? '', /hook\.example" \(127\.0\.0\.1\).*refused/);
  assert.equal(hook.received.length, 0);
});

test('webhooks of a tenant are its own: others do not find them, and it hears of its jobs only', async (t) => {
  const { ask, key } = await setup(t);
  const hook = await startReceiver(t);
  const [acme, other] = [await key('admin', 'acme'), await key('admin', 'other')];
  const { json: created } = await ask('/api/webhooks', { key: acme, body: { url: hook.url } });
  assert.equal(created.tenant, 'acme');
  assert.equal((await ask('/api/webhooks', { key: other })).json.data.length, 0);
  for (const [path, method] of [
    ['', 'GET'],
    ['', 'DELETE'],
    ['/secrets', 'GET'],
    ['/rotate', 'POST'],
  ] as const) {
    assert.equal((await ask(`/api/webhooks/${created.id}${path}`, { key: other, method })).status, 404, path);
  }
  assert.equal(
    (await ask('/api/webhooks', { key: acme, body: { url: hook.url, tenant: 'other' } })).status,
    403,
  );
  await ask('/api/jobs', { key: other, body: { type: 'render' } });
  await ask('/api/jobs', { key: acme, body: { type: 'break' } });
  assert.equal((await hook.nth(1)).json.tenant, 'acme');
  // Each tenant's own secret signs the calls to the addresses of its jobs.
  const secrets = await Promise.all(
    [acme, other].map(async (one) => (await ask('/api/webhooks/secrets', { key: one })).json.secrets[0]),
  );
  assert.notEqual(secrets[0], secrets[1]);
  assert.equal((await ask(`/api/webhooks/${created.id}`, { key: acme, method: 'DELETE' })).status, 204);
  assert.equal((await ask(`/api/webhooks/${created.id}`, { key: acme })).status, 404);
});

test("the store's own subscription is not shown to the tenant whose job ended, nor its deliveries", async (t) => {
  const { ask, key } = await setup(t);
  const hook = await startReceiver(t);
  const acme = await key('admin', 'acme');
  await ask('/api/webhooks', { body: { url: hook.url } });
  await ask('/api/webhooks', { key: acme, body: { url: `${hook.url}/own` } });
  await ask('/api/jobs', { body: { type: 'break', tenant: 'acme', callback_url: `${hook.url}/back` } });
  await hook.nth(3);
  const deliveries = async (who?: string): Promise<unknown[]> =>
    (await ask('/api/jobs?type=duly:webhook', who === undefined ? {} : { key: who })).json.data;
  assert.equal((await deliveries()).length, 3);
  assert.equal((await deliveries(acme)).length, 2, 'of its own subscription, and to the address of its job');
});

test('nobody makes a delivery by hand', async (t) => {
  const { ask } = await setup(t);
  const { status, json } = await ask('/api/jobs', { body: { type: 'duly:webhook', input: {} } });
  assert.deepEqual([status, json.code], [400, 'request_invalid']);
});

test('what ended while no server was there is told by the next one, once, however many there are', async (t) => {
  const store = createStore(t);
  const hook = await startReceiver(t);
  const open = async () => {
    const duly = new Duly({ store, logger: false });
    for (const task of tasks) duly.task(task);
    const served = createServer({ ...server, duly });
    const listening = await listen(served, { port: 0, closeMs: 500 });
    return { duly, close: () => listening.close().then(() => duly.stop({ drain: 0 })) };
  };
  // The first server notes the place from which ends are owed, and goes.
  const first = await open();
  await first.close();
  const worker = new Duly({ store, logger: false });
  const [render] = tasks.map((task) => worker.task(task));
  await worker.start();
  const jobs = await Promise.all(
    [1, 2, 3].map((n) => render?.now(n, { metadata: { callback_url: `${hook.url}/${n}` } })),
  );
  await Promise.all(jobs.map((job) => job?.wait()));
  await worker.stop();
  assert.equal(hook.received.length, 0);
  const servers = await Promise.all([open(), open()]);
  t.after(() => Promise.all(servers.map((one) => one.close())));
  await Promise.all(servers.map((one) => one.duly.start()));
  await hook.nth(3);
  assert.deepEqual(hook.received.map(({ path }) => path).sort(), ['/1', '/2', '/3']);
  const deliveries = await servers[0].duly.jobs({ type: 'duly:webhook' }).page();
  assert.equal(deliveries.jobs.length, 3);
});

test('a callback_url in the metadata that a program gives is told too, also by a schedule, before any request named one', async (t) => {
  const { store, duly } = await setup(t);
  const hook = await startReceiver(t);
  const program = new Duly({ store, logger: false });
  t.after(() => program.stop());
  const reported = (path: string) => ({ metadata: { callback_url: `${hook.url}${path}` } });
  await program.taskNamed('render').now('a.mp4', reported('/job'));
  await hook.nth(1);
  await duly.schedules.put({ type: 'render', name: 'often', delay: '1h', ...reported('/schedule') });
  await hook.nth(2);
  assert.deepEqual(
    hook.received.map(({ path, json }) => [path, json.status, json.origin]),
    [
      ['/job', 'COMPLETED', 'event'],
      ['/schedule', 'COMPLETED', 'schedule'],
    ],
  );
});

test('two servers that need the first secret at the same moment sign with the same one', async (t) => {
  const one = await startServer(t);
  const other = await startServer(t, { store: one.store });
  const ofBoth = await Promise.all(
    [one, other, one, other].map(({ ask, adminKey }) => ask('/api/webhooks/secrets', { key: adminKey })),
  );
  const [first, ...rest] = ofBoth.map(({ status, text }) => [status, text]);
  assert.equal(first?.[0], 200);
  for (const same of rest) assert.deepEqual(same, first);
});
