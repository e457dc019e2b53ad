import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Duly } from '@duly/core';
import { WebSocket } from 'ws';
import { createServer, listen } from '../../src/index.ts';
import { jobEtag } from '../../src/live/job-tag.ts';
import { createStore, startServer } from '../fixture.ts';
import { openSse, startGuide } from './guide.ts';

/** A server with a worker in another process. */
async function setup(t: import('node:test').TestContext, server = {}) {
  const store = createStore(t);
  const fixture = await startServer(t, { store, server });
  const guide = await startGuide(t, store);
  const create = async (body: object = {}): Promise<string> =>
    (await fixture.ask('/api/jobs', { body: { type: 'guided', input: 1, ...body } })).json.id;
  return { ...fixture, ...guide, create };
}

/** Another server of the same store, as after a restart. */
async function restart(t: import('node:test').TestContext, store: string) {
  const duly = new Duly({ store });
  const next = await listen(createServer({ duly }), { port: 0 });
  t.after(async () => {
    await next.close();
    await duly.stop();
  });
  return next;
}

test('polling: an ETag that stays while the job does, 304 for who knows it, and a new one when it changes', async (t) => {
  const { ask, report, create, duly } = await setup(t);
  const id = await create({ metadata: { own: 1 } });
  report(id, { percent: 40, message: 'Transcoding 720p', step: 2, of: 4 });
  const known = await ask(`/api/jobs/${id}?wait=30`, { headers: { 'If-None-Match': '"other"' } });
  assert.equal(known.status, 200, 'what differs from what is known is shown at once');
  let shown = known;
  while (shown.json.progress !== 40) {
    shown = await ask(`/api/jobs/${id}?wait=30`, {
      headers: { 'If-None-Match': shown.headers.get('etag') ?? '' },
    });
    assert.equal(shown.status, 200);
  }
  assert.deepEqual(shown.json.metadata, {
    own: 1,
    current_step: 'Transcoding 720p',
    steps_completed: 2,
    steps_total: 4,
  });
  const etag = shown.headers.get('etag') as string;
  const same = await ask(`/api/jobs/${id}`, { headers: { 'If-None-Match': etag } });
  assert.deepEqual([same.status, same.text, same.headers.get('etag')], [304, '', etag]);
  for (const header of ['*', `"x", ${etag}`, etag.replace('W/', '')]) {
    assert.equal(
      (await ask(`/api/jobs/${id}`, { headers: { 'If-None-Match': header } })).status,
      304,
      header,
    );
  }
  // A heartbeat renews the lease, and is no news.
  const job = await duly.job(id).get();
  assert.ok(job.leaseUntilAt !== null);
  assert.equal(jobEtag({ ...job, leaseUntilAt: new Date(0) }, { input: [], result: [], metadata: [] }), etag);
  report(id, { returns: 'done' });
  const done = await ask(`/api/jobs/${id}?wait=30`, { headers: { 'If-None-Match': etag } });
  assert.deepEqual([done.status, done.json.status, done.json.result], [200, 'COMPLETED', 'done']);
  assert.notEqual(done.headers.get('etag'), etag);
});

test('long poll: answers when the status or the progress changes, and says so when nothing did', async (t) => {
  const { ask, report, create } = await setup(t);
  const id = await create({ delay: '1h' });
  const first = await ask(`/api/jobs/${id}`);
  const etag = first.headers.get('etag') as string;
  const quiet = await ask(`/api/jobs/${id}?wait=0.05`, { headers: { 'If-None-Match': etag } });
  assert.equal(quiet.status, 304);
  const plain = await ask(`/api/jobs/${id}?wait=0.05`);
  assert.deepEqual([plain.status, plain.json.status], [200, 'SCHEDULED']);

  const running = await create();
  let shown = await ask(`/api/jobs/${running}`);
  while (shown.json.status !== 'RUNNING') {
    shown = await ask(`/api/jobs/${running}`, {
      headers: { Prefer: 'respond-async, wait=20', 'If-None-Match': shown.headers.get('etag') ?? '' },
    });
    assert.equal(shown.headers.get('preference-applied'), 'wait=20');
  }
  const etagOfRunning = shown.headers.get('etag') as string;
  const waiting = ask(`/api/jobs/${running}`, {
    headers: { Prefer: 'wait=30', 'If-None-Match': etagOfRunning },
  });
  report(running, { percent: 10 });
  assert.equal((await waiting).json.progress, 10);
  report(running, { returns: null });
  const over = await ask(`/api/jobs/${running}?wait=30`);
  const last = over.json.status === 'COMPLETED' ? over : await ask(`/api/jobs/${running}?wait=30`);
  assert.equal(last.json.status, 'COMPLETED');
  assert.equal(
    (await ask(`/api/jobs/${running}?wait=60`)).json.status,
    'COMPLETED',
    'one that is over is shown at once',
  );

  assert.equal((await ask(`/api/jobs/${running}?wait=61`)).status, 400);
  assert.equal((await ask(`/api/jobs/${running}?wait=x`)).status, 400);
  assert.equal((await ask('/api/jobs/job_nope?wait=30')).status, 404);
});

test('SSE of one job: its states, its log, its end, and 204 for who comes back after it', async (t) => {
  const { url, adminKey, report, create } = await setup(t);
  const id = await create();
  const address = `${url}/api/jobs/${id}/events`;
  const stream = await openSse(t, address, { key: adminKey });
  assert.equal(stream.status, 200);
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.equal((await stream.nextOfAny())?.event, 'retry');
  const first = await stream.next();
  assert.deepEqual([first?.event, first?.data.id], ['message', id]);
  if (first?.data.status !== 'RUNNING') await stream.until(({ data }) => data?.status === 'RUNNING');
  report(id, { percent: 25, message: 'one', step: 1, of: 4 });
  const shown = await stream.until(({ data }) => data?.progress === 25);
  assert.equal(shown.data.metadata.current_step, 'one');
  report(id, { log: 'a line' });
  const line = await stream.until(({ event }) => event === 'log');
  assert.deepEqual(
    [line.data.n, line.data.message, line.data.level, line.data.attempt],
    [1, 'a line', 'info', 1],
  );
  report(id, { log: 'last words' }, { returns: { ok: true } });
  const rest: string[] = [];
  for (let event = await stream.next(); event !== null; event = await stream.next()) {
    rest.push(
      event.event === 'message'
        ? event.data.status
        : event.event === 'log'
          ? event.data.message
          : event.event,
    );
    if (event.event === 'end') assert.deepEqual(event.data, { status: 'COMPLETED' });
  }
  assert.deepEqual(rest.slice(-2), ['COMPLETED', 'end']);
  assert.ok(rest.indexOf('last words') >= 0 && rest.indexOf('last words') < rest.indexOf('COMPLETED'));

  const again = await openSse(t, address, { key: adminKey, after: stream.lastEventId() });
  assert.equal(again.status, 204, 'an EventSource stops then');
  const late = await openSse(t, `${address}?logs=false`, { key: adminKey });
  assert.deepEqual(
    [(await late.next())?.data.status, (await late.next())?.event, await late.next()],
    ['COMPLETED', 'end', null],
  );
});

test('SSE of one job goes on after a server was restarted: what changed meanwhile is told, and nothing twice', async (t) => {
  const { url, adminKey, report, create, store, listening } = await setup(t);
  const id = await create();
  const path = `/api/jobs/${id}/events`;
  const stream = await openSse(t, url + path, { key: adminKey });
  await stream.until(({ data }) => data?.status === 'RUNNING');
  report(id, { log: 'one' }, { percent: 20 });
  await stream.until(({ event }) => event === 'log');
  if (stream.lastEventId().startsWith('.')) assert.fail('a place names the state');
  await stream.until(({ data }) => data?.progress === 20);
  const place = stream.lastEventId();
  const closing = listening.close();
  assert.equal(await stream.next(), null, 'the server lets its watchers go');
  await closing;

  report(id, { log: 'two' }, { percent: 60 });
  const next = await restart(t, store);
  const back = await openSse(t, next.url + path, { key: adminKey, after: place });
  const reported: unknown[] = [];
  while (!reported.includes('two') || !reported.includes(60)) {
    const event = await back.next();
    assert.ok(event !== null);
    reported.push(event.event === 'log' ? event.data.message : event.data.progress);
  }
  assert.ok(!reported.includes('one') && !reported.includes(20), reported.join());
  report(id, { returns: 1 });
  await back.until(({ event }) => event === 'end');
});

test('SSE of all jobs: every change that matches, in order, and after a restart from where it was', async (t) => {
  const { url, adminKey, report, create, duly, store, listening, ask } = await setup(t);
  const address = '/api/events?type=guided,other&event=created,progress,completed,returned';
  const stream = await openSse(t, url + address, { key: adminKey });
  await stream.until(({ event }) => event === 'id');
  await ask('/api/jobs', { body: { type: 'quick', input: 1 } });
  const id = await create({ tenant: 'acme', queue: 'slow' });
  const created = await stream.next();
  assert.deepEqual([created?.event, created?.data.event, created?.data.id], ['change', 'created', id]);
  assert.deepEqual(
    [created?.data.tenant, created?.data.queue, created?.data.type],
    ['acme', 'slow', 'guided'],
  );
  report(id, { percent: 30 });
  assert.equal((await stream.next())?.data.progress, 30);
  const place = stream.lastEventId();
  await listening.close();
  report(id, { percent: 50 }, { percent: 70 });
  report(id, { returns: 1 });
  await duly.job(id).wait();
  const next = await restart(t, store);
  const back = await openSse(t, next.url + address, { key: adminKey, after: place });
  const percents: number[] = [];
  for (;;) {
    const event = await back.next();
    assert.equal(event?.event, 'change');
    if (event?.data.status === 'COMPLETED') break;
    percents.push(event?.data.progress);
  }
  // Reports of one job are coalesced by its worker; the last one before its end travels with it.
  assert.ok(
    percents.every((percent, i) => percent > (percents[i - 1] ?? 30)),
    percents.join(),
  );
});

test('SSE of all jobs: a place of another store, past its retention, or that is none, is a gap', async (t) => {
  const { url, adminKey, create } = await setup(t);
  for (const after of [String(2 ** 50), '9'.repeat(16), '9'.repeat(30), '-1', 'Zk3.1.end']) {
    const stream = await openSse(t, `${url}/api/events?event=created`, { key: adminKey, after });
    assert.equal((await stream.next())?.event, 'gap', after);
    const id = await create();
    assert.equal((await stream.next())?.data.id, id);
    await stream.close();
  }
});

test('a tenant is told of its own jobs only, by every way', async (t) => {
  const { url, key, create, ask, report } = await setup(t);
  const acme = await key('read', 'acme');
  const stream = await openSse(t, `${url}/api/events?event=created`, { key: acme });
  await stream.until(({ event }) => event === 'id');
  const other = await create({ tenant: 'other' });
  const none = await create();
  const own = await create({ tenant: 'acme' });
  const reported = await stream.next();
  assert.equal(reported?.data.id, own);
  assert.equal((await openSse(t, `${url}/api/events?tenant=other`, { key: acme })).status, 403);
  for (const id of [other, none]) {
    assert.equal((await ask(`/api/jobs/${id}/events`, { key: acme })).status, 404);
    assert.equal((await ask(`/api/jobs/${id}?wait=1`, { key: acme })).status, 404);
  }
  const socket = await openSocket(url, acme);
  socket.send({ watch: 'a', job: other });
  assert.deepEqual(await socket.next().then(({ event, data }) => [event, data.code]), [
    'error',
    'job_not_found',
  ]);
  socket.send({ watch: 'b', filter: { tenant: 'other' } });
  assert.deepEqual(await socket.next().then(({ event, data }) => [event, data.code]), ['error', 'forbidden']);
  socket.send({ watch: 'c', job: own, logs: false });
  assert.deepEqual(await socket.next().then(({ watch, event, data }) => [watch, event, data.id]), [
    'c',
    'job',
    own,
  ]);
  socket.close();
  for (const id of [other, none, own]) report(id, { returns: 1 });
});

/** A WebSocket whose messages are read one by one. */
async function openSocket(url: string, key: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, {
    headers: { Authorization: `Bearer ${key}`, ...headers },
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  const messages: any[] = [];
  let wake: () => void = () => {};
  socket.on('message', (bytes) => {
    messages.push(JSON.parse(String(bytes)));
    wake();
  });
  await once(socket, 'open');
  return {
    socket,
    send: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
    async next(): Promise<any> {
      while (messages.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return messages.shift();
    },
    close: () => socket.terminate(),
  };
}

test('WebSocket: several watches at once, each as its stream, until it is told otherwise', async (t) => {
  const { url, adminKey, create, report } = await setup(t);
  const socket = await openSocket(url, adminKey);
  t.after(() => socket.close());
  socket.send({ watch: 'all', filter: { type: ['guided'], event: ['created'] } });
  assert.deepEqual(await socket.next().then(({ watch, event }) => [watch, event]), ['all', 'place']);
  const id = await create();
  assert.deepEqual(await socket.next().then(({ watch, event, data }) => [watch, event, data.id]), [
    'all',
    'change',
    id,
  ]);
  socket.send({ watch: 'one', job: id });
  let message = await socket.next();
  assert.deepEqual([message.watch, message.event], ['one', 'job']);
  while (message.data.status !== 'RUNNING') message = await socket.next();
  report(id, { log: 'hello' });
  do message = await socket.next();
  while (message.event !== 'log');
  assert.equal(message.data.message, 'hello');
  socket.send({ unwatch: 'all' });
  await create();
  report(id, { returns: 5 });
  do {
    message = await socket.next();
    assert.equal(message.watch, 'one');
  } while (message.event !== 'end');
  socket.send({ watch: 'one', job: id, after: message.id });
  assert.deepEqual(await socket.next().then(({ event, data }) => [event, data]), ['end', null]);

  for (const [bad, field] of [
    ['{', ''],
    [{ watch: 'x' }, 'filter'],
    [{ watch: 'x', job: id, more: 1 }, 'more'],
    [{ watch: 'x', filter: { status: ['NOPE'] } }, 'filter.status.0'],
  ] as const) {
    socket.send(bad);
    const { event, data } = await socket.next();
    assert.deepEqual([event, data.code], ['error', 'request_invalid']);
    if (field !== '') assert.equal(data.details.issues[0].path, field);
  }
});

test('WebSocket: refused without a key, for pages of other sites, and to who asks without an upgrade', async (t) => {
  const { url, adminKey, ask } = await setup(t);
  const refusal = async (headers: Record<string, string>): Promise<number> => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, { headers });
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    socket.on('error', () => {});
    socket.terminate();
    return response.statusCode;
  };
  const key = { Authorization: `Bearer ${adminKey}` };
  assert.equal(await refusal({}), 401);
  assert.equal(await refusal({ Authorization: 'Bearer duly_x' }), 401);
  assert.equal(await refusal({ ...key, Origin: 'https://evil.example' }), 403);
  assert.equal(await refusal({ ...key, Origin: 'null' }), 403);
  assert.equal(await refusal({ ...key, Host: 'evil.example' }), 421);
  const same = await openSocket(url, adminKey, { Origin: url });
  same.close();
  assert.equal((await ask('/api/ws')).status, 426);
});

test('a watcher whose key is revoked is let go, and one of whom nothing is told hears a heartbeat', async (t) => {
  const { url, server, create } = await setup(t, { heartbeatMs: 100 });
  const { key, id: keyId } = await server.keys.create({ scope: 'read', by: 'test' });
  const id = await create({ delay: '1h' });
  const one = await openSse(t, `${url}/api/jobs/${id}/events`, { key });
  const all = await openSse(t, `${url}/api/events`, { key });
  const socket = await openSocket(url, key);
  for (const stream of [one, all]) await stream.until(({ event }) => event === 'heartbeat');
  const closed = once(socket.socket, 'close');
  await server.keys.revoke(keyId);
  for (const stream of [one, all]) while ((await stream.nextOfAny()) !== null);
  assert.equal((await closed)[0], 1008);
});
