import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '@duly/core';
import { createManualClock } from '@duly/core/testing';
import { WebSocket } from 'ws';
import { createBucket, createRateLimits } from '../src/request/rate-limit.ts';
import { startServer } from './fixture.ts';

test('a bucket gives its burst at once, then fills up steadily', () => {
  const clock = createManualClock();
  const bucket = createBucket({ perSecond: 10, burst: 3 }, clock);
  const takeAll = (): number => {
    let count = 0;
    while (bucket.take()) count++;
    return count;
  };
  assert.equal(takeAll(), 3);
  assert.equal(bucket.waitMs(), 100);
  clock.jump(250);
  assert.equal(takeAll(), 2);
  assert.equal(bucket.waitMs(), 50);
  clock.jump(60_000);
  assert.equal(takeAll(), 3, 'it holds no more than its burst');
});

test('a key that sends too much is answered 429 with when to come back; other keys are not', async (t) => {
  const fixture = await startServer(t, { server: { rateLimit: { perSecond: 0.01, burst: 3 } } });
  const busy = await fixture.key('run');
  const other = await fixture.key('read');
  const { id } = await fixture.duly.taskNamed('work').in('1h');
  // The second of these takes the path of `fast-path.ts`, which must count as well.
  for (const path of ['/api/session', `/api/jobs/${id}`, `/api/jobs/${id}`]) {
    assert.equal((await fixture.ask(path, { key: busy })).status, 200);
  }
  for (const ask of [{}, { body: { type: 'work' } }]) {
    const { status, json, headers } = await fixture.ask('/api/jobs', { key: busy, ...ask });
    assert.deepEqual([status, json.code], [429, 'rate_limited']);
    assert.deepEqual([json.details.per_second, json.details.burst], [0.01, 3]);
    const seconds = Number(headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 100, String(seconds));
    assert.equal(headers.get('ratelimit'), `"key";r=0;t=${seconds}`);
    assert.equal(headers.get('ratelimit-policy'), '"key";q=3;w=300');
  }
  assert.equal((await fixture.ask(`/api/jobs/${id}`, { key: busy })).status, 429);
  assert.equal((await fixture.ask('/api/events', { key: busy })).status, 429);
  assert.equal((await fixture.ask(`/api/jobs/${id}`, { key: other })).status, 200);
  assert.equal((await fixture.ask('/livez', { key: busy })).status, 200);
});

test('the limit can be switched off, and must make sense', async (t) => {
  assert.equal(createRateLimits(null, systemClock), null);
  const fixture = await startServer(t, { server: { rateLimit: false } });
  const key = await fixture.key('read');
  for (let i = 0; i < 30; i++) assert.equal((await fixture.ask('/api/session', { key })).status, 200);
  await assert.rejects(startServer(t, { server: { rateLimit: { perSecond: 0 } } }), {
    code: 'invalid_option',
  });
});

test('a WebSocket that floods is closed with a reason and read no further; others go on', async (t) => {
  const { url, adminKey, ask } = await startServer(t);
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, {
      headers: { Authorization: `Bearer ${adminKey}` },
    });
    await once(socket, 'open');
    return socket;
  };
  const quiet = await open();
  t.after(() => quiet.terminate());
  const flood = await open();
  const closed = once(flood, 'close');
  let answered = 0;
  flood.on('message', () => answered++);
  for (let i = 0; i < 5_000; i++) flood.send(JSON.stringify({ watch: `w${i}`, job: `job_${i}` }));
  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1008, 'rate_limited: too many messages.']);
  assert.ok(answered <= 250, `${answered} of 5,000 messages were answered`);
  const news = once(quiet, 'message');
  quiet.send(JSON.stringify({ watch: 'mine', job: 'job_none' }));
  const [text] = await news;
  assert.equal(JSON.parse(String(text)).event, 'error');
  assert.equal((await ask('/api/session')).status, 200);
});

test('a WebSocket that floods with pings or pongs is closed as well', async (t) => {
  const { url, adminKey, ask } = await startServer(t);
  for (const kind of ['ping', 'pong'] as const) {
    const flood = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, {
      headers: { Authorization: `Bearer ${adminKey}` },
    });
    t.after(() => flood.terminate());
    await once(flood, 'open');
    const closed = once(flood, 'close');
    let answered = 0;
    flood.on('pong', () => answered++);
    for (let i = 0; i < 1_000; i++) flood[kind]();
    // Answered after all of the above; an error, or nothing once the connection is closed.
    flood.send('{}');
    const [code, reason] = await Promise.race([closed, once(flood, 'message')]);
    assert.deepEqual([code, String(reason)], [1008, 'rate_limited: too many messages.'], kind);
    assert.ok(answered <= 250, `${answered} of 1,000 pings were answered`);
  }
  assert.equal((await ask('/api/session')).status, 200);
});
