import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly } from '@duly/core';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { createServer, listen } from '../../src/index.ts';
import { startServer, useStores } from '../fixture.ts';
import { openSse, startGuide } from './guide.ts';

const url = await testPostgresUrl();
useStores(() => inSchema(url, freshSchema()));

// Every way of following as on SQLite, and then what only many processes on one server make hard.
await import('./following.test.ts');

async function setup(t: TestContext) {
  const fixture = await startServer(t);
  const guide = await startGuide(t, fixture.store);
  const create = async (body: object = {}): Promise<string> =>
    (await fixture.ask('/api/jobs', { body: { type: 'guided', input: 1, ...body } })).json.id;
  return { ...fixture, ...guide, create };
}

test('PostgreSQL: a job is followed from a worker in another process to its end, with its log', async (t) => {
  const { url: address, adminKey: key, create, report, ask } = await setup(t);
  const id = await create();
  const stream = await openSse(t, `${address}/api/jobs/${id}/events`, { key });
  report(id, { log: 'one' }, { percent: 30, message: 'a third' });
  const reported: string[] = [];
  await stream.until(({ event, data }) => {
    if (event === 'log') reported.push(data.message);
    return data?.progress === 30;
  });
  const { headers } = await ask(`/api/jobs/${id}`);
  const waiting = ask(`/api/jobs/${id}?wait=30`, { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
  report(id, { log: 'two' }, { returns: 'done' });
  assert.equal((await waiting).status, 200);
  await stream.until(({ event, data }) => {
    if (event === 'log') reported.push(data.message);
    return event === 'end';
  });
  assert.deepEqual(reported, ['one', 'two']);
  assert.equal((await ask(`/api/jobs/${id}`)).json.result, 'done');
});

test('PostgreSQL: every change is told in order, also to who comes back to another server after a break', async (t) => {
  const { url: address, adminKey: key, create, report, store, listening, duly } = await setup(t);
  const path = '/api/events?event=created,claimed,progress&type=guided';
  const stream = await openSse(t, address + path, { key });
  await stream.until(({ event }) => event === 'id');
  const ids = await Promise.all(Array.from({ length: 20 }, () => create()));
  const seen: string[] = [];
  while (seen.length < 20) {
    const event = await stream.next();
    if (event?.data.event === 'created') seen.push(event.data.id);
  }
  assert.deepEqual([...seen].sort(), [...ids].sort());
  const place = stream.lastEventId();
  await listening.close();
  for (const id of ids) report(id, { percent: 50 }, { returns: 1 });
  const more = await Promise.all(ids.map(() => duly.taskNamed('guided').in('1h', 1)));
  await Promise.all(ids.map((id) => duly.job(id).wait()));

  const other = new Duly({ store });
  const next = await listen(createServer({ duly: other }), { port: 0 });
  t.after(async () => {
    await next.close();
    await other.stop();
  });
  const back = await openSse(t, next.url + path, { key, after: place });
  const created = new Set<string>();
  while (created.size < more.length) {
    const event = await back.next();
    assert.equal(event?.event, 'change', 'no gap');
    if (event?.data.event === 'created') {
      assert.ok(!seen.includes(event.data.id), 'nothing is told twice');
      created.add(event.data.id);
    }
  }
  assert.deepEqual([...created].sort(), more.map(({ id }) => id).sort());
});

test('PostgreSQL: 300 watchers of 300 jobs cost one look at the feed and one read of the jobs at a time', async (t) => {
  const { url: address, adminKey: key, create, report, duly } = await setup(t);
  const ids = await Promise.all(Array.from({ length: 300 }, () => create()));
  const streams = await Promise.all(ids.map((id) => openSse(t, `${address}/api/jobs/${id}/events`, { key })));
  const before = { ...duly.calls() } as Record<string, number>;
  for (const id of ids) report(id, { percent: 40 });
  await Promise.all(streams.map((stream) => stream.until(({ data }) => data?.progress === 40)));
  const after = duly.calls() as Record<string, number>;
  const of = (verb: string): number => (after[verb] ?? 0) - (before[verb] ?? 0);
  assert.ok(of('get') <= of('changes') + 5, `${of('get')} reads for ${of('changes')} looks`);
  assert.ok(of('changes') < 300, `${of('changes')} looks`);
});
