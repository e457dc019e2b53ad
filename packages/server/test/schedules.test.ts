import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schedule } from '@duly/core';
import { startServer } from './fixture.ts';

test('a schedule is created, shown, edited at once, and deleted; its ledger stays', async (t) => {
  const { ask } = await startServer(t);
  const created = await ask('/api/schedules', {
    body: {
      name: 'digest',
      type: 'send_digest',
      cron: '0 8 * * MON',
      timezone: 'Europe/Rome',
      input: { list: 1 },
      missed: 'latest',
      overlap: 'bufferOne',
      start_deadline: '1h',
      jitter: '30s',
      max_runs: 10,
      queue: 'mail',
      retry: { attempts: 5, max_delay: '1h' },
    },
  });
  assert.equal(created.status, 201, created.text);
  assert.equal(created.headers.get('location'), `/api/schedules/${created.json.id}`);
  const { words, next_run_at, last_run, paused, drift, policies, timezone, type, status } = created.json;
  assert.match(words, /08:00/);
  assert.ok(next_run_at > '2026');
  assert.deepEqual(
    [last_run, paused, drift, timezone, type, status],
    [null, null, null, 'Europe/Rome', 'send_digest', 'active'],
  );
  assert.deepEqual(
    [policies.overlap, policies.start_deadline_ms, policies.max_runs],
    ['bufferOne', 3_600_000, 10],
  );

  const again = await ask('/api/schedules', {
    body: { name: 'digest', type: 'send_digest', cron: '0 9 * * MON', timezone: 'Europe/Rome' },
  });
  assert.equal(again.status, 200);
  assert.notEqual(again.json.next_slot, created.json.next_slot);
  const edited = await ask('/api/schedules/digest', {
    method: 'PATCH',
    body: { cron: '30 9 * * MON', note: 'later', edit_note: 'they asked' },
  });
  assert.match(edited.json.next_slot, /:30:00.000Z$/);
  assert.equal(edited.json.note, 'later');
  const cleared = await ask('/api/schedules/digest', { method: 'PATCH', body: { note: null } });
  assert.equal(cleared.json.note, null);

  assert.equal((await ask('/api/schedules?type=send_digest&status=active')).json.data[0].id, created.json.id);
  assert.equal((await ask('/api/schedules/digest?note=x', { method: 'DELETE' })).status, 204);
  assert.equal((await ask('/api/schedules/digest')).status, 404);
  const kept = await ask(`/api/schedules/${created.json.id}?deleted=true`);
  assert.deepEqual([kept.json.status, kept.json.deleted.note], ['deleted', 'x']);
  assert.equal((await ask(`/api/schedules/${created.json.id}/slots`)).status, 200);
});

test('schedules are searched, and listed page by page', async (t) => {
  const { ask } = await startServer(t);
  for (const name of ['one', 'two', 'three'])
    await ask('/api/schedules', { body: { name, type: 'send_digest', cron: '0 8 * * MON' } });
  await ask('/api/schedules', { body: { name: 'other', type: 'clean_up', rate: '1h', tenant: 'Acme' } });
  const found = async (query: string) => {
    const { json } = await ask(`/api/schedules?${query}`);
    return { names: json.data.map(({ name }: { name: string }) => name), next: json.next_cursor };
  };
  assert.deepEqual((await found('search=DIGEST')).names, ['one', 'three', 'two']);
  assert.deepEqual(await found('search=acme'), { names: ['other'], next: null });
  const first = await found('search=on%20monday&limit=2');
  assert.deepEqual(first.names, ['one', 'three']);
  assert.deepEqual(await found(`search=on%20monday&limit=2&cursor=${encodeURIComponent(first.next)}`), {
    names: ['two'],
    next: null,
  });
  assert.equal((await ask('/api/schedules?search=')).status, 400);
});

test('what is wrong with a schedule is told with a code and in the words of the request', async (t) => {
  const { ask } = await startServer(t);
  const send = (body: object) => ask('/api/schedules', { body: { type: 'x', ...body } });
  for (const [body, code] of [
    [{ cron: '99 * * * *' }, 'invalid_cron'],
    [{ cron: '0 0 * * *', timezone: 'IST' }, 'invalid_timezone'],
    [{}, 'invalid_rule'],
    [{ cron: '0 0 * * *', rate: '1h' }, 'invalid_rule'],
    [{ cron: '0 0 * * *', missed: 'all', overlap: 'skip' }, 'policy_conflict'],
    [{ cron: '0 0 * * *', catch_up_window: 'soon' }, 'invalid_duration'],
    [{ cron: '0 0 * * *', bufer_limit: 1 }, 'request_invalid'],
  ] as const) {
    const answer = await send(body);
    assert.deepEqual([answer.status, answer.json.code], [400, code], answer.text);
  }
  const near = await send({ cron: '0 0 * * *', overlap: 'serialize' });
  assert.match(near.json.hint, /bufferAll/);
  const window = await send({ cron: '0 0 * * *', catch_up_window: 'soon' });
  assert.match(window.json.detail, /"catch_up_window"/);
  assert.equal(window.json.details.field, 'catch_up_window');
});

test('pause with note and until, resume, skip-next, trigger, backfill, preview, ledger, why', async (t) => {
  const { ask, duly } = await startServer(t, {
    tasks: [{ name: 'report', run: () => 1 }],
    start: true,
  });
  await ask('/api/schedules', { body: { type: 'report', cron: '0 0 * * *', timezone: 'UTC' } });
  const of = (verb: string, body?: object) => ask(`/api/schedules/report/${verb}`, { method: 'POST', body });

  const paused = await of('pause', { note: 'holiday', until: '2100-01-01' });
  assert.deepEqual(
    [paused.json.status, paused.json.paused.note, paused.json.paused.until_at],
    ['paused', 'holiday', '2100-01-01T00:00:00.000Z'],
  );
  assert.match(paused.json.paused.by, /^key:/);
  const triggered = await of('trigger', { input: { now: true }, note: 'test' });
  assert.deepEqual([triggered.status, triggered.json.result], [201, 'created'], triggered.text);
  assert.deepEqual([triggered.json.job.origin, triggered.json.job.input], ['trigger', { now: true }]);
  await duly.job(triggered.json.job.id).wait();
  const brief = (await of('pause', { until: '90m' })).json.paused;
  assert.ok(Math.abs(Date.parse(brief.until_at) - Date.now() - 90 * 60_000) < 60_000, brief.until_at);
  assert.equal((await of('resume')).json.paused, null);

  const next = (await ask('/api/schedules/report')).json.next_slot;
  const skipped = await of('skip-next');
  assert.equal(skipped.json.slot, next);
  assert.deepEqual(skipped.json.schedule.skips, [next]);
  const preview = (await ask('/api/schedules/report/preview?count=3')).json.data;
  assert.equal(preview.length, 3);
  assert.ok(preview[0].slot > next);
  assert.match(preview[0].local, /T00:00\+00:00$/);
  const why = (await ask(`/api/schedules/report/why?slot=${next}`)).json;
  assert.match(why.sentence, /skip/);

  const range = { from: '2026-01-01', to: '2026-01-03' };
  const dry = await of('backfill', { ...range, dry_run: true });
  assert.deepEqual([dry.json.slots.length, dry.json.jobs.length, dry.json.dry_run], [3, 0, true]);
  const filled = await of('backfill', range);
  assert.equal(filled.json.jobs.length, 3);
  for (const id of filled.json.jobs) await duly.job(id).wait();
  const ledger = (await ask('/api/schedules/report/slots?from=2026-01-01&to=2026-01-04')).json.data;
  assert.deepEqual(
    ledger.map((line: { slot: string; runs: unknown[] }) => [line.slot.slice(0, 10), line.runs.length]),
    [
      ['2026-01-03', 1],
      ['2026-01-02', 1],
      ['2026-01-01', 1],
    ],
  );
  const page = (await ask('/api/schedules/report/slots?from=2026-01-01&to=2026-01-04&limit=2')).json;
  assert.deepEqual([page.data.length, page.has_more], [2, true]);
  const rest = (
    await ask(
      `/api/schedules/report/slots?from=2026-01-01&limit=2&cursor=${encodeURIComponent(page.next_cursor)}`,
    )
  ).json;
  assert.deepEqual([rest.data.length, rest.has_more], [1, false]);
  const jobs = (await ask('/api/jobs?schedule=report')).json.data;
  assert.equal(jobs.length, 4);
});

test('a rule is shown in words, with its next slots, before it is kept', async (t) => {
  const { ask } = await startServer(t);
  const { json } = await ask('/api/schedules/preview', {
    body: { cron: '30 2 * * *', timezone: 'America/New_York', after: '2027-03-13T12:00', count: 2 },
  });
  assert.equal(json.kind, 'cron');
  assert.deepEqual(json.slots[0], {
    slot: '2027-03-14T07:00:00.000Z',
    local: '2027-03-14T03:00-04:00',
    gap: { date: '2027-03-14', time: '02:30' },
    repeat: null,
  });
});

test('a declared set is compared and applied; an override survives the next deploy and shows as drift', async (t) => {
  const { ask } = await startServer(t);
  const set = (cron: string, more: object[] = []) => ({
    app: 'shop',
    release: '1',
    schedules: [{ type: 'report', name: 'nightly', cron }, ...more],
  });
  const plan = await ask('/api/schedules/diff', { body: set('0 0 * * *') });
  assert.deepEqual(
    plan.json.data.map((one: { action: string }) => one.action),
    ['add'],
  );
  assert.equal((await ask('/api/schedules')).json.data.length, 0);
  await ask('/api/schedules/apply', {
    body: set('0 0 * * *', [{ type: 'report', name: 'weekly', cron: '0 0 * * 0' }]),
  });
  const list = (await ask('/api/schedules?app=shop')).json.data;
  assert.deepEqual(
    list.map((one: { name: string }) => one.name),
    ['nightly', 'weekly'],
  );

  await ask('/api/schedules/nightly', {
    method: 'PATCH',
    body: { cron: '0 5 * * *', edit_note: 'too early' },
  });
  await ask('/api/schedules/apply', { body: { ...set('0 0 * * *'), release: '2' } });
  const nightly = (await ask('/api/schedules/nightly')).json;
  assert.equal(nightly.cron, '0 5 * * *');
  assert.deepEqual(
    [nightly.drift.kind, nightly.drift.note, nightly.drift.fields[0]],
    ['overridden', 'too early', { field: 'cron', declared: '0 0 * * *', stands: '0 5 * * *' }],
  );
  assert.equal((await ask('/api/schedules/weekly')).json.status, 'disabled');
  const reverted = await ask('/api/schedules/nightly/revert', { method: 'POST' });
  assert.deepEqual([reverted.json.cron, reverted.json.drift], ['0 0 * * *', null]);
});

test('a schedule tells what makes the same, redacted as it is itself', async (t) => {
  const { ask } = await startServer(t, { server: { redact: { input: ['secret'] } } });
  const body = {
    name: 'nightly',
    type: 'report',
    cron: '0 2 * * *',
    timezone: 'Europe/Rome',
    missed: 'all',
    catch_up_window: '2h',
    retry: { attempts: 5, max_delay: 120_000 },
    start_at: '2027-01-01T00:00:00.000Z',
    input: { a: 1, secret: 'x' },
    metadata: { own: 1 },
  };
  const { json: created } = await ask('/api/schedules', { body });
  assert.equal(created.definition, undefined);
  const { json: whole } = await ask('/api/schedules/nightly?definition=true');
  const { definition } = whole;
  const { dst: _dst, ...reported } = definition;
  assert.deepEqual(reported, { ...body, input: { a: 1, secret: '[redacted]' } });
  const listed = (await ask('/api/schedules?definition=true')).json.data[0];
  assert.deepEqual(listed.definition, definition);
  const again = await ask('/api/schedules', { body: { ...definition, input: body.input } });
  assert.deepEqual(
    [again.status, again.json.updated_at],
    [200, created.updated_at],
    'nothing is changed by it',
  );
});

test('what is shown instead of a value is not taken for the value', async (t) => {
  const { ask, duly } = await startServer(t, { server: { redact: { input: ['secret', 'list.*.token'] } } });
  const input = { a: 1, secret: 'x', list: [{ token: 'y' }] };
  await ask('/api/schedules', { body: { name: 'nightly', type: 'report', cron: '0 2 * * *', input } });
  const { json: shown } = await ask('/api/schedules/nightly');
  assert.deepEqual(shown.input, { a: 1, secret: '[redacted]', list: [{ token: '[redacted]' }] });
  const sentBack = { ...shown.input, a: 2 };
  const refused = await Promise.all([
    ask('/api/jobs', { body: { type: 'report', input: sentBack } }),
    ask('/api/schedules', { body: { name: 'other', type: 'report', cron: '0 3 * * *', input: sentBack } }),
    ask('/api/schedules/nightly', { method: 'PATCH', body: { input: sentBack } }),
    ask('/api/schedules/nightly/trigger', { body: { input: { list: sentBack.list } } }),
  ]);
  assert.deepEqual(
    refused.map(({ status, json }) => [status, json.code, json.details.issues[0].path]),
    [
      [400, 'request_invalid', 'input.secret'],
      [400, 'request_invalid', 'input.secret'],
      [400, 'request_invalid', 'input.secret'],
      [400, 'request_invalid', 'input.list.0.token'],
    ],
  );
  assert.deepEqual((await duly.schedules.get('nightly'))?.input, input);
  const whole = { ...input, a: 2 };
  assert.equal(
    (await ask('/api/schedules/nightly', { method: 'PATCH', body: { input: whole } })).status,
    200,
  );
  assert.deepEqual((await duly.schedules.get('nightly'))?.input, whole);
});

test('a run of its own fills a target and does not change it', async (t) => {
  const { ask, duly, key } = await startServer(t, { server: { allowCommands: true } });
  const command = { argv: ['echo', '{{input.word}}'] };
  const body = { name: 'say', cron: '0 0 1 1 *', target: { command }, input: { word: 'a' } };
  assert.equal((await ask('/api/schedules', { body })).status, 201);
  const input = { command: { argv: ['echo', 'mine'] }, word: 'b' };
  const asked = { key: await key('operate'), body: { input } };
  const { status, json } = await ask('/api/schedules/say/trigger', asked);
  assert.equal(status, 201);
  assert.deepEqual((await duly.job(json.job.id).get()).input, { command, input });
});

test('an edit gives a schedule another target of its kind, what fills it, and another address to tell', async (t) => {
  const { ask, duly } = await startServer(t, { server: { allowTargets: ['127.0.0.1'] } });
  const http = { url: 'http://127.0.0.1:9/{{input.path}}', headers: { 'x-secret': 's' } };
  const body = {
    name: 'ping',
    cron: '0 0 1 1 *',
    target: { http },
    input: { path: 'a' },
    metadata: { own: 1 },
  };
  assert.equal((await ask('/api/schedules', { body })).status, 201);
  const edit = (changes: object) => ask('/api/schedules/ping', { method: 'PATCH', body: changes });
  const kept = async () => (await duly.schedules.get('ping')) as Schedule;

  const moved = { url: 'http://127.0.0.1:10/', method: 'PUT' };
  assert.equal((await edit({ target: { http: moved } })).status, 200);
  assert.deepEqual((await kept()).input, { http: moved, input: { path: 'a' } });
  assert.equal((await edit({ input: { path: 'b', http } })).status, 200);
  assert.deepEqual((await kept()).input, { http: moved, input: { path: 'b', http } });
  for (const target of [{ http: { url: 'http://169.254.169.254/' } }, { command: { argv: ['true'] } }]) {
    assert.ok((await edit({ target })).status >= 400, JSON.stringify(target));
  }
  assert.equal((await ask('/api/schedules', { body: { type: 'work', cron: '0 0 1 1 *' } })).status, 201);
  const other = await ask('/api/schedules/work', { method: 'PATCH', body: { target: { http: moved } } });
  assert.deepEqual([other.status, other.json.code], [400, 'request_invalid']);

  const reported = 'http://127.0.0.1:9/told';
  assert.equal((await edit({ callback_url: reported })).status, 200);
  assert.deepEqual((await kept()).metadata, { own: 1, callback_url: reported });
  assert.equal((await edit({ callback_url: 'http://10.0.0.1/' })).status, 422);
  assert.equal((await edit({ metadata: { own: 2, callback_url: 'http://10.0.0.1/' } })).status, 422);
  assert.equal((await edit({ callback_url: null })).status, 200);
  assert.deepEqual((await kept()).metadata, { own: 1 });
});

test('of a schedule that was deleted it is told how to see it', async (t) => {
  const { ask } = await startServer(t);
  const { json: created } = await ask('/api/schedules', {
    body: { name: 'gone', type: 'x', cron: '0 0 * * *' },
  });
  await ask('/api/schedules/gone?note=bye', { method: 'DELETE' });
  const { status, json } = await ask('/api/schedules/gone');
  assert.equal(status, 404);
  assert.match(json.detail, /was deleted at .* by key:.* \("bye"\)/);
  const [, seen = '', slots = ''] = /GET (\S+) and GET (\S+)\.$/.exec(json.hint) ?? [];
  assert.equal((await ask(seen)).json.id, created.id);
  assert.equal((await ask(slots)).status, 200);
});

test('a name that several tenants use is told with the ids to use instead', async (t) => {
  const { ask } = await startServer(t);
  for (const tenant of ['a', 'b']) {
    const created = await ask('/api/schedules', {
      body: { name: 'nightly', type: 'x', cron: '0 0 * * *', tenant },
    });
    assert.equal(created.status, 201);
  }
  const { status, json } = await ask('/api/schedules/nightly');
  assert.deepEqual([status, json.code], [409, 'schedule_ambiguous']);
  assert.match(json.hint, /id/);
  for (const { id, tenant } of json.details.schedules) {
    assert.equal((await ask(`/api/schedules/${id}`)).json.tenant, tenant);
  }
});

test('what is not shown of an input is not shown in the plan, the drift and the audit either', async (t) => {
  const { ask } = await startServer(t, {
    server: { allowTargets: ['127.0.0.1'], redact: { input: ['card'], metadata: ['token'] } },
  });
  const target = (secret: string) => ({
    http: { url: 'http://127.0.0.1:9/', headers: { Authorization: secret } },
  });
  const set = (secret: string) => ({
    app: 'x',
    schedules: [
      { name: 'call', cron: '0 0 1 1 *', target: target(secret) },
      {
        name: 'pay',
        cron: '0 0 1 1 *',
        type: 'pay',
        input: { card: secret, n: 1 },
        metadata: { token: secret },
      },
    ],
  });
  const texts = [
    (await ask('/api/schedules/apply', { body: set('hush-1') })).text,
    (await ask('/api/schedules/diff', { body: set('hush-2') })).text,
    (await ask('/api/schedules/call', { method: 'PATCH', body: { target: target('hush-3') } })).text,
    (await ask('/api/schedules/pay', { method: 'PATCH', body: { input: { card: 'hush-4' } } })).text,
    (await ask('/api/schedules/call?definition=true')).text,
    (await ask('/api/schedules/pay?definition=true')).text,
    (await ask('/api/audit')).text,
  ];
  assert.match(texts[1] as string, /"field":"input"/);
  assert.match(texts[4] as string, /"kind":"overridden"/);
  assert.ok((texts[6] as string).includes('\\"n\\":1'), 'the audit still has the rest of the input');
  for (const text of texts) assert.doesNotMatch(text, /hush-/);

  await ask('/api/alerts/channels', { body: { kind: 'slack', url: 'http://127.0.0.1:9/hush-5' } });
  await ask('/api/webhooks', { body: { url: 'http://127.0.0.1:9/hush-6' } });
  assert.doesNotMatch((await ask('/api/audit')).text, /hush-/);
});
