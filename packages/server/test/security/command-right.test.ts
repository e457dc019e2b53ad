import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Ask, startServer } from '../fixture.ts';

const command = { argv: ['echo', '{{input.name}}', '{{job.metadata.name}}'] };

async function setup(t: TestContext) {
  const fixture = await startServer(t, { server: { allowCommands: true } });
  const { ask, key } = fixture;
  const put = async (name: string, more: object): Promise<string> => {
    const { status, json, text } = await ask('/api/schedules', {
      body: { name, cron: '0 0 1 1 *', target: { command }, input: { name: 'x' }, ...more },
    });
    assert.equal(status, 201, text);
    return json.id;
  };
  const [own, plain] = [await put('of-a', { tenant: 'a' }), await put('of-none', {})];
  const job = async (tenant: string | null): Promise<string> =>
    (await ask('/api/jobs', { body: { target: { command }, tenant: tenant ?? undefined } })).json.id;
  return {
    ...fixture,
    own: { schedule: own, job: await job('a') },
    plain: { schedule: plain, job: await job(null) },
    keys: {
      run: await key('run'),
      operate: await key('operate'),
      runOfA: await key('run', 'a'),
      operateOfA: await key('operate', 'a'),
      adminOfA: await key('admin', 'a'),
    },
  };
}

/** Every way in which a caller has a job with a command created, or chooses what it gets. */
function waysOf({ schedule, job }: { schedule: string; job: string }): [string, Ask][] {
  const at = `/api/schedules/${schedule}`;
  const patch = (body: object): Ask => ({ method: 'PATCH', body });
  return [
    ['/api/jobs', { body: { target: { command } } }],
    ['/api/schedules', { body: { name: 'new', cron: '0 0 1 1 *', target: { command } } }],
    [`${at}/trigger`, { body: { input: { name: '; rm -rf /' } } }],
    [`${at}/trigger`, { body: {} }],
    [at, patch({ input: { name: 'y' } })],
    [at, patch({ target: { command } })],
    [at, patch({ metadata: { name: 'y' } })],
    [at, patch({ cron: '* * * * *' })],
    [`${at}/backfill`, { body: { from: '2026-01-01', to: '2026-01-02' } }],
    [`${at}/revert`, { body: {} }],
    [`/api/jobs/${job}/run-again`, { method: 'POST' }],
  ];
}

test('a command is created, triggered, changed and run again only by an operate key without a tenant', async (t) => {
  const { ask, own, plain, keys, duly } = await setup(t);
  const countBefore = (await duly.jobs({}).count()).count;
  const before = (await ask(`/api/schedules/${own.schedule}?definition=true`)).json;
  for (const [things, among] of [
    [plain, [keys.run]],
    [own, [keys.run, keys.runOfA, keys.operateOfA, keys.adminOfA]],
  ] as const) {
    for (const key of among) {
      for (const [path, asked] of waysOf(things)) {
        const { status, json } = await ask(path, { ...asked, key });
        assert.deepEqual([status, json.code], [403, 'forbidden'], `${path} ${JSON.stringify(asked)}`);
      }
    }
  }
  assert.equal((await duly.jobs({}).count()).count, countBefore);
  assert.deepEqual((await ask(`/api/schedules/${own.schedule}?definition=true`)).json, before);
});

test('an operate key without a tenant may do all of it', async (t) => {
  const { ask, own, plain, keys } = await setup(t);
  for (const things of [plain, own]) {
    for (const [path, asked] of waysOf(things)) {
      const { status, json } = await ask(path, { ...asked, key: keys.operate });
      assert.ok(
        status < 300 || json.code === 'schedule_not_overridden' || status === 409,
        `${path}: ${status} ${json.code}`,
      );
    }
  }
});

test('deliveries of webhooks are not sent again by a run key', async (t) => {
  const { ask, keys, duly } = await setup(t);
  const body = {
    job_id: 'j',
    status: 'COMPLETED',
    finished_at: 0,
    endpoint: null,
    url: 'https://example.com/',
    body: null,
  };
  const { id } = await duly.taskNamed('duly:webhook').in('1h', body);
  assert.equal((await ask(`/api/jobs/${id}/run-again`, { method: 'POST', key: keys.run })).status, 403);
  assert.equal((await ask(`/api/jobs/${id}/run-again`, { method: 'POST', key: keys.operate })).status, 201);
});
