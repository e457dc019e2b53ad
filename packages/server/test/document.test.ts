// Whether what is served is what the OpenAPI document says: clients are made from it, and closed objects with a field too many are refused by them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startServer } from './fixture.ts';
import { misfits } from './json-schema.ts';

type Content = Record<string, { schema: Record<string, unknown> }>;
type Operation = { responses: Record<string, { content?: Content }> };

/** A server that is asked, and whose every answer is held against the document. */
async function setup(t: TestContext) {
  const fixture = await startServer(t, {
    tasks: [
      { name: 'ok', run: ({ input }: { input: unknown }) => ({ input }) },
      {
        name: 'break',
        retry: 1,
        run: () => {
          throw new TypeError('no luck', { cause: new Error('why') });
        },
      },
    ],
    start: true,
  });
  const { json: document } = await fixture.ask('/openapi.json');
  /** Asks `GET /api/jobs/{id}`, with what is to stand for the names, and what comes behind. */
  const ask = async (name: string, { at = [], query = '', ...rest }: AskOptions = {}) => {
    const [method = '', path = ''] = name.split(' ');
    let n = 0;
    const filled = path.replace(/\{[^}]+\}/g, () => encodeURIComponent(at[n++] ?? 'none'));
    const answer = await fixture.ask(`${filled}${query}`, { method, ...rest });
    const { responses } = document.paths[path][method.toLowerCase()] as Operation;
    const said = responses[answer.status] ?? (answer.status >= 400 ? responses.default : undefined);
    assert.ok(said !== undefined, `${name} is answered ${answer.status}, which is not in the document`);
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    if (said.content === undefined) assert.equal(answer.text, '', name);
    else {
      const content = said.content[type];
      assert.ok(content !== undefined, `${name} is answered as ${type}`);
      if (type.endsWith('json')) {
        assert.deepEqual(misfits(document, content.schema, answer.json), [], `${name} ${answer.status}`);
      }
    }
    return answer;
  };
  return { ...fixture, document, ask };
}

interface AskOptions {
  at?: string[];
  query?: string;
  body?: unknown;
  key?: string | null;
}

test('jobs are what the document says, in every status', async (t) => {
  const { ask, duly } = await setup(t);
  const create = async (body: object) => (await ask('POST /api/jobs', { body })).json.id as string;
  const ids = [
    await create({ type: 'ok', input: { a: 1 }, metadata: { own: true } }),
    await create({ type: 'break' }),
    await create({ type: 'ok', delay: '1h', key: 'k', tenant: 'a' }),
    await create({ type: 'nobody' }),
    await create({ type: 'nobody', serial: 's' }),
    await create({ type: 'nobody', serial: 's' }),
  ];
  await ask('POST /api/jobs', { body: { type: 'ok', delay: '1h', key: 'k', tenant: 'a' } });
  await Promise.all(
    ids.slice(0, 2).map((id) =>
      duly
        .job(id)
        .wait()
        .catch(() => {}),
    ),
  );
  const claimed = await ask('POST /api/worker/claim', { body: { worker: 'w', tasks: [{ type: 'nobody' }] } });
  const [{ id, fence }] = claimed.json.jobs;
  const lease = { id, fence };
  const progress = { percent: 5, message: 'begun', step: 1, of: 2 };
  await ask('POST /api/worker/report', {
    body: { reports: [{ ...lease, progress, logs: [{ level: 'info', line: 'x' }] }] },
  });
  await ask('POST /api/worker/heartbeat', { body: { leases: [lease, { id, fence: fence + 1 }] } });
  for (const one of ids) {
    for (const below of ['', '/logs', '/attempts', '/why'])
      await ask(`GET /api/jobs/{id}${below}`, { at: [one] });
  }
  const outcomes = [
    { ...lease, fence: fence + 1, outcome: 'completed', result: 1 },
    { ...lease, outcome: 'failed', error: { message: 'no', name: 'E' } },
  ];
  const settled = await ask('POST /api/worker/settle', { body: { outcomes } });
  assert.equal(settled.json.outcomes[0].status, null);
  await ask('GET /api/jobs/{id}', { at: [id] });
  await ask('GET /api/jobs', { query: '?count=true' });
  await ask('GET /api/jobs/latest', { query: '?type=ok' });
  await ask('GET /api/dead', { query: '?count=true' });
  await ask('GET /api/dead/groups');
  await ask('POST /api/jobs/bulk', {
    body: { action: 'cancel', filter: { type: 'nobody' }, dry_run: true, limit: 1 },
  });
  await ask('POST /api/jobs/{id}/reschedule', { at: [ids[2] as string], body: { delay: '2h' } });
  await ask('POST /api/jobs/{id}/cancel', { at: [ids[2] as string], body: {} });
  await ask('POST /api/jobs/{id}/retry', { at: [ids[2] as string], body: {} });
  await ask('POST /api/jobs/{id}/run-again', { at: [ids[0] as string] });
  await ask('GET /api/jobs/{id}', { at: ['job_none'] });
  for (const path of ['queues', 'nodes', 'tasks', 'stats', 'stats/trend', 'upcoming', 'alerts', 'audit']) {
    await ask(`GET /api/${path}`);
  }
});

test('schedules are what the document says, of every kind, with their runs', async (t) => {
  const { ask, duly } = await setup(t);
  for (const rule of [
    {
      cron: '*/5 * * * *',
      timezone: 'Europe/Rome',
      exclude: ['2030-12-25', { cron: '* 3 * * *' }],
      jitter: '10s',
    },
    { rate: '1h', start_at: '2026-01-01T00:00:00Z', finish_deadline: '1m' },
    { delay: '1h' },
    { rrule: 'FREQ=WEEKLY;BYDAY=MO', start_at: '2026-01-05T00:00:00Z', tenant: 'a' },
  ]) {
    const created = await ask('POST /api/schedules', { body: { name: 'it', type: 'nobody', ...rule } });
    assert.equal(created.status, 201);
    const at = [created.json.id as string];
    const act = (verb: string, body: object = {}) => ask(`POST /api/schedules/{id}/${verb}`, { at, body });
    // The first makes a job unless the rule has made one already; the second is skipped, because that one waits.
    await act('trigger');
    const second = await act('trigger');
    assert.deepEqual([second.status, second.json.job], [200, null]);
    if (!('delay' in rule))
      await act('backfill', { from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:00Z', dry_run: true });
    for (const [verb, body] of [
      ['pause', { until: '2h' }],
      ['resume', {}],
      ['skip-next', {}],
      ['revert', {}],
    ] as const) {
      await act(verb, body);
    }
    await ask('PATCH /api/schedules/{id}', { at, body: { note: 'n' } });
    await ask('GET /api/schedules/{id}', { at, query: '?definition=true' });
    await ask('GET /api/schedules/{id}/preview', { at });
    await ask('GET /api/schedules/{id}/why', { at, query: `?slot=${created.json.next_slot}` });
    const slots = await ask('GET /api/schedules/{id}/slots', { at, query: '?from=2026-01-01T00:00:00Z' });
    assert.equal(slots.status, 200);
    await ask('GET /api/schedules', { query: '?definition=true' });
    await ask('DELETE /api/schedules/{id}', { at });
    await ask('GET /api/schedules/{id}', { at, query: '?deleted=true' });
    await ask('GET /api/schedules/{id}/slots', { at });
  }
  // A run of a slot that has come: the first of a fixed delay is at once.
  const ran = duly.next('job.settled', ({ type }) => type === 'ok');
  const fired = await ask('POST /api/schedules', { body: { name: 'now', type: 'ok', delay: '1h' } });
  await ran;
  const { json } = await ask('GET /api/schedules/{id}/slots', { at: [fired.json.id] });
  const line = json.data.find(({ runs }: { runs: object[] }) => runs.length > 0);
  assert.equal(line.runs[0].slot, line.slot);
  await ask('GET /api/schedules/{id}/why', { at: [fired.json.id], query: `?slot=${line.slot}` });
  await ask('POST /api/schedules/preview', { body: { cron: '0 8 * * 1' } });
  const declared = { app: 'x', schedules: [{ name: 'd', type: 'ok', cron: '0 0 * * *' }] };
  for (const verb of ['diff', 'apply']) await ask(`POST /api/schedules/${verb}`, { body: declared });
  await ask('GET /api/stats/schedules');
  await ask('GET /api/forecast', { query: '?hours=5' });
  await ask('GET /api/day', { query: '?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z' });
});

test('everything else is what the document says', async (t) => {
  const { ask, document } = await setup(t);
  const at = ['tokens', 'a/b'];
  await ask('PUT /api/values/{name}/{key}', { at, body: { value: [1], ttl: '15m' } });
  await ask('GET /api/values/{name}/{key}', { at });
  await ask('PATCH /api/values/{name}/{key}', { at, body: { ttl: '1h' } });
  await ask('DELETE /api/values/{name}/{key}', { at });
  const lock = await ask('POST /api/locks/{name}/acquire', { at: ['l'], body: {} });
  assert.equal((await ask('POST /api/locks/{name}/acquire', { at: ['l'], body: {} })).status, 409);
  await ask('GET /api/locks');
  for (const verb of ['renew', 'release', 'release']) {
    await ask(`POST /api/locks/{name}/${verb}`, { at: ['l'], body: { fence: lock.json.fence } });
  }
  const key = await ask('POST /api/keys', { body: { scope: 'read', tenant: 'a', note: 'n' } });
  await ask('GET /api/keys');
  await ask('GET /api/session', { key: key.json.key });
  await ask('DELETE /api/keys/{id}', { at: [key.json.id] });
  const hook = await ask('POST /api/webhooks', { body: { url: 'https://example.com/' } });
  for (const name of [
    'GET /api/webhooks/{id}',
    'GET /api/webhooks/{id}/secrets',
    'GET /api/webhooks',
    'GET /api/webhooks/secrets',
  ]) {
    await ask(name, { at: [hook.json.id] });
  }
  await ask('PATCH /api/webhooks/{id}', { at: [hook.json.id], body: { enabled: false } });
  await ask('POST /api/webhooks/{id}/rotate', { at: [hook.json.id], body: {} });
  const rule = await ask('POST /api/alerts/rules', { body: { kind: 'waiting' } });
  await ask('PATCH /api/alerts/rules/{id}', { at: [rule.json.id], body: { after: '1m' } });
  await ask('POST /api/alerts/windows', { body: { cron: '0 2 * * *', duration: '1h' } });
  await ask('POST /api/alerts/channels', { body: { kind: 'slack', url: 'https://example.com/' } });
  for (const path of ['rules', 'channels', 'windows']) await ask(`GET /api/alerts/${path}`);
  await ask('POST /api/pauses', { body: { queue: 'q' } });
  await ask('GET /api/pauses');
  await ask('POST /api/queues/{name}/resume', { at: ['q'] });
  await ask('GET /readyz');
  await ask('GET /api/keys', { key: null });
  // Two closed objects at once are nothing at all; a reference and null at once neither.
  const contradictions = JSON.stringify(document).match(/"allOf":\[[^\]]*"(?:additionalProperties|null)"/g);
  assert.equal(contradictions, null);
});
