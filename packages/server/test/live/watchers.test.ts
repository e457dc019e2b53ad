import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '@duly/core';
import { WebSocket } from 'ws';
import type { ServerContext } from '../../src/http/context.ts';
import { appOf } from '../../src/server.ts';
import { createFolder, startServer } from '../fixture.ts';
import { openSse, type SseReader, startGuide } from './guide.ts';

test('a thousand SSE watchers cost the store what ten cost, whatever they watch', async (t) => {
  const store = `sqlite:${createFolder(t)}/duly.db`;
  const { duly, url, adminKey: key, ask } = await startServer(t, { store });
  const { report } = await startGuide(t, store);
  const jobCount = 300;
  const ids: string[] = [];
  for (let i = 0; i < jobCount; i++) {
    ids.push((await ask('/api/jobs', { body: { type: 'guided', tenant: `t${i % 7}` } })).json.id);
  }
  const [shared] = ids as [string];
  const open = (path: string): Promise<SseReader> => openSse(t, url + path, { key });
  /** Some of all kinds: of one job, of many jobs, of all changes by different filters. */
  const openAll = async (count: number): Promise<{ jobs: SseReader[]; events: SseReader[] }> => ({
    jobs: await Promise.all(
      Array.from({ length: count * 0.9 }, (_, i) =>
        open(`/api/jobs/${i % 3 === 0 ? shared : ids[i % jobCount]}/events`),
      ),
    ),
    events: await Promise.all(
      Array.from({ length: count * 0.1 }, (_, i) =>
        open(`/api/events?tenant=t${i % 7}&status=RUNNING,COMPLETED`),
      ),
    ),
  });
  for (const stream of (await openAll(10)).events) await stream.until(({ event }) => event === 'id');

  /** Lets every job report and log, and counts what that cost the server's store. */
  const round = async (percent: number, jobs: SseReader[]) => {
    const before = { ...duly.calls() } as Record<string, number>;
    const sinceElapsed = systemClock.elapsed();
    for (const id of ids) report(id, { percent, message: `at ${percent}` });
    await Promise.all(jobs.map((stream) => stream.until(({ data }) => data?.progress === percent)));
    const after = duly.calls() as Record<string, number>;
    const tookMs = systemClock.elapsed() - sinceElapsed;
    const of = (verb: string): number => (after[verb] ?? 0) - (before[verb] ?? 0);
    return { changes: of('changes'), get: of('get'), logs: of('logs'), tookMs };
  };
  const { jobs, events } = await openAll(1_000);
  assert.equal(jobs.length + events.length, 1_000);
  const reported = await round(30, jobs);
  const again = await round(60, jobs);
  for (const { changes, get, logs, tookMs } of [reported, again]) {
    // One look at the feed in 20 ms at most, and for each at most a read of the jobs for the streams of jobs and one for the filters, in pages
    // of 500. A watcher more adds none.
    const looks = tookMs / 20 + 5;
    assert.ok(changes <= looks, `${changes} looks at the feed in ${Math.round(tookMs)} ms`);
    assert.ok(get <= 2 * changes + 5, `${get} reads of jobs for ${changes} looks at the feed`);
    assert.equal(logs, 0, 'nothing was logged, so no log was read');
  }
  for (const id of ids) report(id, { returns: 1 });
  await Promise.all(jobs.map((stream) => stream.until(({ event }) => event === 'end')));
});

test('a watcher that does not read for long is told everything when it does, in order', async (t) => {
  const { duly, url, adminKey } = await startServer(t);
  const task = duly.task({ name: 'flood', run: () => {} });
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  t.after(() => socket.destroy());
  socket.write(
    `GET /api/events?event=created HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${adminKey}\r\n\r\n`,
  );
  socket.setEncoding('utf8');
  let text = '';
  const seen: string[] = [];
  const read = (chunk: string): void => {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() as string;
    for (const part of parts) {
      const [, id] = /"id":"(job_\w+)"/.exec(part) ?? [];
      if (id !== undefined) seen.push(id);
    }
  };
  // Until its place is named; from then on it does not read.
  while (!/\nid: \d+/.test(text)) {
    const [chunk] = (await once(socket, 'data')) as [string];
    read(chunk);
    text = chunk;
  }
  text = '';
  socket.pause();
  const created: string[] = [];
  for (let i = 0; i < 5; i++) {
    const handles = await task.inMany(
      '1h',
      Array.from({ length: 5_000 }, () => 'x'),
    );
    created.push(...handles.map(({ id }) => id));
  }
  socket.on('data', (chunk: string) => read(chunk));
  socket.resume();
  while (seen.length < created.length) await once(socket, 'data');
  assert.deepEqual(seen, created);
});

test('more watchers than the server takes are refused until one has gone', async (t) => {
  const fixture = await startServer(t, { server: { watchersMax: 2 } });
  const { duly, url, ask } = fixture;
  const [one, two] = [await fixture.key('read'), await fixture.key('read')];
  duly.task({ name: 'later', run: () => {} });
  const { id } = (await ask('/api/jobs', { body: { type: 'later', delay: '1h' } })).json;
  const first = await openSse(t, `${url}/api/events`, { key: one });
  const second = await openSse(t, `${url}/api/jobs/${id}/events`, { key: two });
  for (const path of [`/api/events`, `/api/jobs/${id}/events`, `/api/jobs/${id}?wait=1`]) {
    const refused = await ask(path);
    assert.deepEqual([refused.status, refused.json.code], [503, 'too_many_watchers']);
  }
  await second.next();
  await second.close();
  await first.until(({ event }) => event === 'id');
  // The server hears of a closed connection in its own time.
  let status = 503;
  while (status === 503) {
    const third = await openSse(t, `${url}/api/jobs/${id}/events`, { key: two });
    status = third.status;
    await third.close();
  }
  assert.equal(status, 200);
});

test('one key takes a quarter of the watchers at most, and others are still served', async (t) => {
  const fixture = await startServer(t, { server: { watchersMax: 8 } });
  const { duly, server, url, ask, adminKey: other } = fixture;
  const { context } = appOf.get(server) as { context: ServerContext };
  const key = await fixture.key('read');
  const { id } = await duly.taskNamed('work').in('1h', 1);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  t.after(() => socket.terminate());
  await once(socket, 'open');
  type News = { event: string; data: { code?: string; detail?: string } };
  const watch = async (name: string, job = id): Promise<News> => {
    const news = once(socket, 'message');
    socket.send(JSON.stringify({ watch: name, job }));
    return JSON.parse(String((await news)[0]));
  };
  assert.equal((await watch('first')).event, 'job');
  const stream = await openSse(t, `${url}/api/events`, { key });
  assert.equal(stream.status, 200);
  const { event, data } = await watch('second');
  assert.deepEqual([event, data.code], ['error', 'too_many_watchers']);
  assert.match(data.detail ?? '', /The key has 2 watchers/);
  for (const path of ['/api/events', `/api/jobs/${id}/events`, `/api/jobs/${id}?wait=1`]) {
    const { status, json } = await ask(path, { key });
    assert.deepEqual([status, json?.code], [503, 'too_many_watchers'], path);
  }
  assert.equal((await openSse(t, `${url}/api/events`, { key: other })).status, 200);
  assert.equal((await ask(`/api/jobs/${id}?wait=0.01`, { key: other })).status, 200);
  // A watch that has ended, or could not be opened, leaves room for another.
  socket.send(JSON.stringify({ unwatch: 'first' }));
  assert.equal((await watch('none', 'job_none')).data.code, 'job_not_found');
  assert.equal((await watch('third')).event, 'job');
  assert.equal(context.live.count(), 3);
});

test('who asks for the head of a stream only, or goes while it is opened, leaves no watcher behind', async (t) => {
  const { server, duly, adminKey } = await startServer(t);
  const { context } = appOf.get(server) as { context: ServerContext };
  const { id } = await duly.taskNamed('work').in('1h', 1);
  const headers = { Authorization: `Bearer ${adminKey}` };
  for (const path of ['/api/events', `/api/jobs/${id}/events`]) {
    const url = `http://localhost${path}`;
    const asked = { ...headers, 'Idempotency-Key': path };
    const head = await server.fetch(new Request(url, { method: 'HEAD', headers: asked }));
    assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream']);
    assert.equal(context.live.count(), 0, `HEAD ${path}`);

    const leaving = new AbortController();
    const answering = server.fetch(new Request(url, { headers, signal: leaving.signal }));
    leaving.abort();
    // Nobody reads the answer, and nobody cancels it.
    await answering;
    assert.equal(context.live.count(), 0, `${path}, gone before it was open`);

    const gone = new AbortController();
    const { body } = await server.fetch(new Request(url, { headers, signal: gone.signal }));
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    assert.equal(context.live.count(), 1);
    gone.abort();
    assert.equal(context.live.count(), 0, `${path}, gone while it was read`);
  }
});
