import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

test('queues: what is ready, paused and resumed', async (t) => {
  const { ask, duly } = await startServer(t);
  await duly.taskNamed('mail').now(1, { queue: 'slow' });
  const paused = await ask('/api/queues/slow/pause', {
    body: { note: 'deploy', until: '2100-01-01T00:00:00Z' },
  });
  assert.equal(paused.status, 200, paused.text);
  const { data, status } = (await ask('/api/queues')).json;
  assert.deepEqual(status.PENDING, { count: 1, capped: false });
  assert.deepEqual(
    [data[0].queue, data[0].paused, data[0].pause.note, data[0].pause.until_at, data[0].lanes[0].ready],
    ['slow', true, 'deploy', '2100-01-01T00:00:00.000Z', { count: 1, capped: false }],
  );
  assert.match(data[0].pause.by, /^key:/);
  assert.deepEqual((await ask('/api/queues/slow/resume', { method: 'POST' })).json, { resumed: true });
  assert.deepEqual((await ask('/api/queues/slow/resume', { method: 'POST' })).json, { resumed: false });

  await ask('/api/pauses', { body: { type: 'mail' } });
  await ask('/api/pauses', { body: { all: true } });
  const pauses = (await ask('/api/pauses')).json.data;
  assert.deepEqual(
    pauses.map(({ scope, name }: { scope: string; name: string }) => [scope, name]),
    [
      ['all', null],
      ['type', 'mail'],
    ],
  );
  assert.deepEqual((await ask('/api/pauses/resume', { body: { all: true } })).json, { resumed: true });
  const { json: brief } = await ask('/api/pauses', { body: { queue: 'x', until: '2h' } });
  assert.equal(Date.parse(brief.until_at) - Date.parse(brief.since_at), 2 * 3_600_000);
  const odd = await ask('/api/pauses', { body: { queue: 'x', until: 'two hours' } });
  assert.deepEqual([odd.status, odd.json.code], [400, 'invalid_instant']);
  assert.equal((await ask('/api/pauses', { body: { all: true, queue: 'x' } })).status, 400);
  assert.equal((await ask('/api/pauses', { body: { note: 'x' } })).status, 400);
});

test('workers: what a node is and runs; one that is asked to drain takes no more', async (t) => {
  const running = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const { ask, duly } = await startServer(t, {
    tasks: [
      {
        name: 'hold',
        run: async () => {
          running.resolve();
          await release.promise;
        },
      },
    ],
    start: { concurrency: 3 },
  });
  await ask('/api/jobs', { body: { type: 'hold' } });
  await running.promise;
  const { data } = (await ask('/api/nodes')).json;
  assert.equal(data.length, 1);
  assert.deepEqual(
    [data[0].app, data[0].concurrency, data[0].running, data[0].running_by_type, data[0].silent],
    ['server-test', 3, 1, [{ type: 'hold', count: 1 }], false],
  );
  assert.equal('declares' in data[0], false);
  assert.equal((await ask('/api/nodes/node_x/drain', { method: 'POST' })).json.code, 'node_not_found');
  const asked = await ask(`/api/nodes/${data[0].id}/drain`, { method: 'POST' });
  assert.equal(asked.status, 202);
  assert.notEqual((await ask('/api/nodes')).json.data[0].drain_requested_at, null);
  release.resolve();
  await duly.stop();
});

test('dead letters are grouped by cause, and a group is retried or discarded whole', async (t) => {
  const failing = {
    name: 'mail',
    retry: { attempts: 1 },
    run: ({ input }: { input: unknown }) => {
      const { user, host } = input as { user: number; host?: string };
      throw host === undefined ? new Error(`no user ${user}`) : new TypeError(`no host "${host}"`);
    },
  };
  const { ask, duly, key } = await startServer(t, { tasks: [failing], start: true });
  const fail = async (input: object, tenant?: string) => {
    const job = await duly.taskNamed('mail').now(input, tenant === undefined ? {} : { tenant });
    await job.result().catch(() => null);
    return job.id;
  };
  for (const user of [1, 2, 3, 4]) await fail({ user });
  const hostless = await fail({ user: 1, host: 'a' });
  const others = await fail({ user: 5 }, 'acme');
  const { json } = await ask('/api/dead/groups');
  assert.deepEqual(json.looked_at, { count: 6, capped: false });
  assert.deepEqual(
    json.data.map(({ type, name, pattern, count, jobs }: Record<string, unknown> & { jobs: unknown[] }) => [
      ...[type, name, pattern, count],
      jobs.length,
    ]),
    [
      ['mail', 'Error', 'no user <n>', 5, 3],
      ['mail', 'TypeError', 'no host <…>', 1, 1],
    ],
  );
  assert.equal(json.group_count, 2);
  const { json: first } = await ask('/api/dead/groups?limit=1');
  assert.deepEqual([first.data.length, first.group_count], [1, 2]);
  const group = { type: 'mail', name: 'Error', pattern: 'no user <n>' };
  const tenant = await key('operate', 'acme');
  assert.equal((await ask('/api/dead/groups', { key: tenant })).json.data[0].jobs[0].id, others);
  const dry = await ask('/api/dead/discard', { key: tenant, body: { group, dry_run: true } });
  const { as_of: _, ...counted } = dry.json;
  assert.deepEqual(counted, { changed: 1, refused: 0, dry_run: true, ids: [others] });
  const { json: done } = await ask('/api/dead/discard', { body: { group } });
  assert.deepEqual(done, { changed: 5, refused: 0, dry_run: false });
  const left = (await ask('/api/dead')).json.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(left, [hostless]);
  const both = await ask('/api/dead/retry', { body: { group, all: true } });
  assert.deepEqual([both.status, both.json.code], [400, 'request_invalid']);
});

test('dead letters: listed, retried by filter, discarded, dry first', async (t) => {
  const { ask, duly, key } = await startServer(t, {
    tasks: [
      {
        name: 'bad',
        retry: 1,
        run: () => {
          throw new Error('no');
        },
      },
    ],
    start: true,
  });
  const ids = await Promise.all(
    ['a', 'a', 'b'].map(async (tenant) => {
      const { json } = await ask('/api/jobs', { body: { type: 'bad', tenant } });
      await duly.job(json.id).wait();
      return json.id;
    }),
  );
  const list = await ask('/api/dead?count=true');
  assert.deepEqual([list.json.data.length, list.json.total.count], [3, 3]);
  const tenant = await key('operate', 'a');
  assert.equal((await ask('/api/dead', { key: tenant })).json.data.length, 2);
  const dry = await ask('/api/dead/discard', { key: tenant, body: { all: true, dry_run: true } });
  assert.deepEqual([dry.json.changed, dry.json.refused, dry.json.ids.length], [2, 0, 2]);
  const done = await ask('/api/dead/discard', { key: tenant, body: { all: true } });
  assert.equal(done.json.changed, 2);
  assert.deepEqual(
    (await ask('/api/dead')).json.data.map((job: { id: string }) => job.id),
    [ids[2]],
  );
  const retried = await ask('/api/dead/retry', { body: { filter: { ids: [ids[2]] } } });
  assert.equal(retried.json.changed, 1);
  assert.equal((await ask('/api/dead/retry', { body: {} })).status, 400);
  assert.equal((await ask('/api/dead/retry', { body: { all: true, filter: { type: 'bad' } } })).status, 400);
});

test('the audit is read by pages, newest first', async (t) => {
  const { ask, duly } = await startServer(t);
  for (const n of [1, 2, 3]) await duly.records.put('setting', String(n), n);
  const first = (await ask('/api/audit?limit=2')).json;
  assert.deepEqual([first.data.length, first.has_more], [2, true]);
  const second = (await ask(`/api/audit?limit=2&cursor=${first.next_cursor}`)).json;
  assert.ok(second.data[0].position < first.data[1].position);
});
