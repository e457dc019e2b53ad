import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type FixtureOptions, startServer } from '../fixture.ts';
import { startReceiver } from '../receiver.ts';

async function setup(t: TestContext, options: FixtureOptions['server'] = {}) {
  const fixture = await startServer(t, { start: true, server: { allowTargets: ['127.0.0.1'], ...options } });
  /** Makes the job and waits for its end. */
  const run = async (body: object) => {
    const { status, json } = await fixture.ask('/api/jobs', { body: { retry: 1, ...body } });
    assert.equal(status, 201, JSON.stringify(json));
    await fixture.duly
      .job(json.id)
      .wait()
      .catch(() => {});
    return (await fixture.ask(`/api/jobs/${json.id}`)).json;
  };
  const logs = async (id: string) =>
    (await fixture.duly.job(id).logs()).map(({ level, message }) => [level, message]);
  return { ...fixture, run, logs };
}

test('an HTTP target sends the request that it describes, and keeps the answer', async (t) => {
  const { run, ask, logs } = await setup(t);
  const other = await startReceiver(t, () => ({
    status: 201,
    headers: { 'content-type': 'text/plain' },
    body: 'fine',
  }));
  const job = await run({
    target: {
      http: {
        url: `${other.url}/users/{{input.user}}?job={{job.id}}`,
        method: 'PUT',
        headers: { Authorization: 'Bearer x', 'X-User': '{{input.user}}' },
        body: { user: '{{input.user}}', deep: [{ n: '{{input.n}}' }], text: 'n is {{input.n}}' },
        expect_status: [201, '3xx'],
        sign: true,
      },
    },
    input: { user: 'a/b', n: 7 },
  });
  assert.equal(job.status, 'COMPLETED');
  assert.equal(job.type, 'duly:http');
  assert.equal(job.input.http.headers.Authorization, '[redacted]');
  assert.deepEqual(
    [job.result.status, job.result.body, job.result.content_type],
    [201, 'fine', 'text/plain'],
  );
  const sent = await other.nth(1);
  assert.equal(sent.method, 'PUT');
  assert.equal(sent.path, `/users/a%2Fb?job=${job.id}`);
  assert.equal(sent.headers.authorization, 'Bearer x');
  assert.equal(sent.headers['x-user'], 'a/b');
  assert.deepEqual(sent.json, { user: 'a/b', deep: [{ n: 7 }], text: 'n is 7' });
  const { json } = await ask('/api/webhooks/secrets?for=targets');
  new Webhook(json.secrets[0]).verify(sent.text, sent.headers as Record<string, string>);
  assert.equal(sent.headers['webhook-id'], job.id);
  assert.match((await logs(job.id))[0]?.[1] ?? '', /^PUT answered 201/);
});

test('without a body it is told what the job is and its input; GET has none', async (t) => {
  const { run } = await setup(t);
  const other = await startReceiver(t);
  const job = await run({ target: { http: { url: other.url } }, input: [1, 2], metadata: { a: 1 } });
  assert.deepEqual((await other.nth(1)).json, {
    job: { id: job.id, type: 'duly:http', tenant: null, attempt: 1, metadata: { a: 1 } },
    slot: null,
    input: [1, 2],
  });
  await run({ target: { http: { url: other.url, method: 'GET' } } });
  const { method, text } = await other.nth(2);
  assert.deepEqual([method, text], ['GET', '']);
});

test('an unexpected status fails the attempt, which is tried again', async (t) => {
  const { run } = await setup(t);
  const other = await startReceiver(t, (n) => (n < 3 ? 500 : 200));
  const job = await run({
    target: { http: { url: other.url } },
    retry: { attempts: 3, delay: 1, jitter: 0 },
  });
  assert.deepEqual([job.status, job.attempts, other.received.length], ['COMPLETED', 3, 3]);
  const redirected = await startReceiver(t, () => ({ status: 302, headers: { location: other.url } }));
  const failed = await run({ target: { http: { url: redirected.url } } });
  assert.deepEqual([failed.status, failed.error.code], ['FAILED', 'unexpected_status']);
  assert.match(failed.error.message, /302 \(redirects are not followed\)/);
  assert.equal(other.received.length, 3);
});

test('a request whose address or headers would not be what was meant is not sent', async (t) => {
  const { ask, run } = await setup(t, { allowCommands: true });
  const other = await startReceiver(t);
  for (const [http, input] of [
    [{ url: `${other.url}/users/{{input.id}}`, method: 'DELETE' }, {}],
    [{ url: `${other.url}/users/{{input.id}}`, method: 'DELETE' }, { id: '..' }],
    [{ url: other.url, headers: { 'X-Name': '{{input.name}}' } }, { name: 'a\r\nX-Evil: 1' }],
  ] as const) {
    const { status, error } = await run({ target: { http }, input, retry: 1 });
    assert.deepEqual([status, error.code], ['FAILED', 'target_invalid']);
  }
  assert.equal(other.received.length, 0);
  for (const target of [
    { http: { url: `${other.url}/{{inptu.id}}` } },
    { http: { url: other.url, body: { a: ['{{job.nmae}}'] } } },
    { http: { url: other.url, headers: { a: '{{env.PATH}}' } } },
    { command: { argv: ['echo', '{{printf}}'] } },
    { command: { argv: [''] } },
    { command: { argv: ['echo', 'a\0b'] } },
  ]) {
    const { status, json } = await ask('/api/jobs', { body: { target } });
    assert.deepEqual([status, json.code], [400, 'request_invalid'], JSON.stringify(target));
  }
  const plain = await run({ target: { command: { argv: ['echo', '{{printf}}'], placeholders: false } } });
  assert.equal(plain.status, 'COMPLETED');
  for (const [command, input, said] of [
    [{ argv: ['pwd'], cwd: '/no/such/folder' }, null, /there is no folder "\/no\/such\/folder"/],
    [{ argv: ['{{input.program}}'] }, {}, /could not be started/],
  ] as const) {
    const { status, error } = await run({ target: { command }, input, retry: 1 });
    assert.deepEqual([status, error.code], ['FAILED', 'command_failed']);
    assert.match(error.message, said);
  }
});

test('what must not be called, or is not well said, is refused at once', async (t) => {
  const { ask } = await setup(t, { allowTargets: [] });
  const refused = async (body: object) => {
    const { status, json } = await ask('/api/jobs', { body });
    return `${status} ${json.code}`;
  };
  assert.equal(
    await refused({ target: { http: { url: 'http://169.254.169.254/latest' } } }),
    '422 target_refused',
  );
  assert.equal(await refused({ target: { http: { url: 'http://{{input.host}}/' } } }), '400 request_invalid');
  assert.equal(
    await refused({ target: { http: { url: 'https://example.com/', oops: 1 } } }),
    '400 request_invalid',
  );
  assert.equal(
    await refused({ target: { http: { url: 'https://example.com/' } }, type: 'x' }),
    '400 request_invalid',
  );
  assert.equal(await refused({ input: 1 }), '400 request_invalid');
  assert.equal(await refused({ type: 'duly:http', input: {} }), '400 request_invalid');
  assert.equal(await refused({ target: { command: { argv: ['true'] } } }), '403 commands_disabled');
  // Nor are they given to workers elsewhere, who would read the credentials in them.
  const claim = await ask('/api/worker/claim', { body: { worker: 'w', tasks: [{ type: 'duly:http' }] } });
  assert.deepEqual([claim.status, claim.json.code], [400, 'request_invalid']);
});

test('a command runs where it is allowed: input on stdin, output as log lines, exit code as outcome', async (t) => {
  const { run, logs, ask, key } = await setup(t, { allowCommands: true });
  const script =
    'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => { console.log(s, process.argv[1], process.env.MODE, process.env.DULY_ATTEMPT); console.error("oh"); process.exitCode = JSON.parse(s).code; })';
  const command = { argv: [process.execPath, '-e', script, '{{input.name}}'], env: { MODE: 'test' } };
  const good = await run({ target: { command }, input: { code: 0, name: '; rm -rf /' } });
  assert.deepEqual([good.status, good.result.exit_code], ['COMPLETED', 0]);
  assert.deepEqual((await logs(good.id)).sort(), [
    ['info', '{"code":0,"name":"; rm -rf /"} ; rm -rf / test 1'],
    ['warn', 'oh'],
  ]);
  const bad = await run({ target: { command }, input: { code: 7, name: 'x' } });
  assert.deepEqual([bad.status, bad.error.code], ['FAILED', 'command_failed']);
  assert.match(bad.error.message, /exit code 7/);
  // Only who may operate, and for nobody in particular, runs programs.
  for (const one of [await key('run'), await key('admin', 'acme')]) {
    assert.equal((await ask('/api/jobs', { key: one, body: { target: { command } } })).status, 403);
  }
});

test('a cancelled command is killed with its group', async (t) => {
  const { ask, duly } = await setup(t, { allowCommands: true });
  const started = duly.next('job.started', (event) => event.type === 'duly:command');
  const settled = duly.next('job.settled', (event) => event.type === 'duly:command');
  await ask('/api/jobs', {
    body: { target: { command: { argv: ['sh', '-c', 'sleep 300 & wait'] } } },
  });
  await duly.cancel({ id: (await started).id });
  assert.equal((await settled).status, 'CANCELLED');
});

test('a schedule may have a target, and a callback_url for its jobs', async (t) => {
  const { ask, duly } = await setup(t);
  const other = await startReceiver(t);
  const body = {
    name: 'ping',
    cron: '0 0 1 1 *',
    target: {
      http: { url: `${other.url}/ping`, headers: { 'X-Key': 'secret' }, body: { on: '{{slot.schedule}}' } },
    },
  };
  const { status, json } = await ask('/api/schedules', { body });
  assert.deepEqual(
    [status, json.type, json.input.http.headers['X-Key']],
    [201, 'duly:http', '[redacted]'],
    JSON.stringify(json),
  );
  assert.equal((await ask('/api/schedules', { body: { ...body, name: undefined } })).status, 400);
  assert.equal(
    (await ask('/api/schedules', { body: { ...body, target: { command: { argv: ['true'] } } } })).status,
    403,
  );
  await duly.schedules.trigger('ping');
  assert.equal((await other.nth(1)).headers['x-key'], 'secret');
  duly.task({ name: 'render', run: () => 'made' });
  const reported = await ask('/api/schedules', {
    body: { name: 'reported', type: 'render', cron: '0 0 1 1 *', callback_url: `${other.url}/reported` },
  });
  assert.equal(reported.status, 201);
  await duly.schedules.trigger('reported');
  const { path, json: job } = await other.nth(2);
  assert.deepEqual([path, job.schedule, job.result], ['/reported', 'reported', 'made']);
});
