import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

const transcode = {
  name: 'video_transcode',
  run: async ({ progress }: { progress: (p: number, m: string, s: object) => Promise<void> }) => {
    await progress(55, 'Transcoding 720p', { step: 2, of: 4 });
    return { ok: true };
  },
};

test('/livez answers without a key', async (t) => {
  const { ask } = await startServer(t);
  const answer = await ask('/livez', { key: null });
  assert.deepEqual([answer.status, answer.json], [200, { status: 'ok' }]);
});

test('a job is created and shown with all its fields', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [transcode], start: true });
  const created = await ask('/api/jobs', {
    body: { type: 'video_transcode', input: 's3://uploads/video_789.mp4', metadata: { user: 7 } },
  });
  assert.equal(created.status, 201, created.text);
  assert.equal(created.headers.get('location'), `/api/jobs/${created.json.id}`);
  assert.equal(created.json.deduped, false);
  await duly.job(created.json.id).wait();
  const shown = await ask(created.headers.get('location') as string);
  const { id, created_at, started_at, updated_at, completed_at, due_at, lateness_ms, node, ...rest } =
    shown.json;
  assert.match(id, /^job_[0-9a-z]{26}$/);
  for (const at of [created_at, started_at, updated_at, completed_at, due_at]) {
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  assert.equal(typeof lateness_ms, 'number');
  assert.match(node, /^node_/);
  assert.deepEqual(rest, {
    type: 'video_transcode',
    version: 1,
    status: 'COMPLETED',
    reason: 'returned',
    progress: 100,
    expire_at: null,
    next_attempt_at: null,
    waiting_for: null,
    input: 's3://uploads/video_789.mp4',
    metadata: { user: 7, current_step: 'Transcoding 720p', steps_completed: 2, steps_total: 4 },
    attempts: 1,
    max_attempts: 3,
    losses: 0,
    queue: 'default',
    priority: 0,
    tenant: null,
    key: null,
    serial: null,
    result: { ok: true },
    error: null,
    origin: 'event',
    parent_id: null,
    parent_key: null,
    // {{job.passive +json | %json: shown.json.%json, | copyOf=copy_of: null,}}
    copy_of: null,
    // {{/job}}
    schedule: null,
    slot: null,
    fire_id: null,
    lease_until_at: null,
    cancel_requested_at: null,
    cancelled_by: null,
    dead: false,
  });
});

test('a job of a task that is not defined here waits for a worker that has it', async (t) => {
  const { ask } = await startServer(t, { tasks: [transcode], start: true });
  const created = await ask('/api/jobs', { body: { type: 'python_task', input: { any: 'json' } } });
  assert.deepEqual([created.status, created.json.status], [201, 'PENDING']);
});

const failing = {
  name: 'import',
  retry: 1,
  run: async ({ log }: { log: { info(message: string): void } }) => {
    log.info('one');
    log.info('two');
    throw new TypeError('Row 17 has no price.');
  },
};

test('jobs are listed by every filter, with cursors and a count that says when it stopped', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [transcode, failing] });
  const create = (body: object) => ask('/api/jobs', { body: { type: 'import', ...body } });
  await create({ input: { user: { id: 42 } }, tenant: 'a', key: 'k1', queue: 'slow' });
  await create({ input: { user: { id: '42' } }, tenant: 'b', metadata: { x: 1 } });
  await create({ type: 'video_transcode', input: 'x', serial: 's' });
  await create({ delay: '1h', priority: 5 });
  const ids = async (query: string): Promise<unknown[]> => {
    const answer = await ask(`/api/jobs?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data.map((job: { type: string; tenant: string | null }) => [job.type, job.tenant]);
  };
  assert.equal((await ids('')).length, 4);
  assert.deepEqual(await ids('status=SCHEDULED'), [['import', null]]);
  assert.deepEqual(await ids('status=scheduled,BLOCKED&status=FAILED'), [['import', null]]);
  assert.deepEqual(await ids('type=video_transcode'), [['video_transcode', null]]);
  assert.deepEqual(await ids('tenant=b'), [['import', 'b']]);
  assert.deepEqual(await ids('key=k1'), [['import', 'a']]);
  assert.deepEqual(await ids('queue=slow'), [['import', 'a']]);
  assert.deepEqual(await ids('serial=s'), [['video_transcode', null]]);
  assert.deepEqual(await ids('input.user.id=42'), [['import', 'a']]);
  assert.deepEqual(await ids('input.user.id="42"'), [['import', 'b']]);
  assert.equal((await ids('since=1h')).length, 4);
  assert.deepEqual(await ids('since=2100-01-01T00:00:00Z'), []);
  assert.deepEqual(await ids('before=2020-01-01T00:00:00Z'), []);
  assert.deepEqual(await ids('dead=true'), []);

  const first = await ask('/api/jobs?limit=3&count=true');
  assert.deepEqual([first.json.data.length, first.json.has_more], [3, true]);
  assert.deepEqual(first.json.total, { count: 4, capped: false });
  const second = await ask(`/api/jobs?limit=3&cursor=${encodeURIComponent(first.json.next_cursor)}`);
  assert.deepEqual(
    [second.json.data.length, second.json.has_more, second.json.next_cursor],
    [1, false, null],
  );
  assert.deepEqual(await duly.jobs().count({ cap: 2 }), { count: 2, capped: true });

  for (const query of ['stauts=FAILED', 'limit=0', 'status=NOPE', 'input.=1', 'cursor=zzz', 'dead=maybe']) {
    const answer = await ask(`/api/jobs?${query}`);
    assert.equal(answer.status, 400, `${query}: ${answer.text}`);
  }
});

test('the latest job of a tenant is found by type, tenant and key', async (t) => {
  const { ask } = await startServer(t);
  for (const tenant of ['a', 'b', 'a']) await ask('/api/jobs', { body: { type: 'report', tenant } });
  const newest = (await ask('/api/jobs?tenant=a')).json.data[0].id;
  assert.equal((await ask('/api/jobs/latest?type=report&tenant=a')).json.id, newest);
  const none = await ask('/api/jobs/latest?type=report&tenant=c');
  assert.deepEqual([none.status, none.json.code], [404, 'job_not_found']);
});

test('a failed job: error text, logs, attempts, why, retry and run again; the stack for operators only', async (t) => {
  const { ask, key, duly } = await startServer(t, { tasks: [failing], start: true });
  const { id } = (await ask('/api/jobs', { body: { type: 'import' } })).json;
  await duly.job(id).wait();
  assert.equal((await ask('/api/jobs?error=row%2017&dead=true')).json.data[0].id, id);
  const shown = (await ask(`/api/jobs/${id}`)).json;
  assert.deepEqual([shown.status, shown.error.name, shown.dead], ['FAILED', 'TypeError', true]);
  assert.match(shown.error.stack, /TypeError: Row 17/);
  const read = await key('read');
  assert.equal((await ask(`/api/jobs/${id}`, { key: read })).json.error.stack, undefined);
  assert.equal((await ask(`/api/jobs/${id}/why`, { key: read })).json.error.stack, undefined);
  assert.equal((await ask(`/api/jobs/${id}/attempts`, { key: read })).json.data[0].error.stack, undefined);

  const logs = await ask(`/api/jobs/${id}/logs?limit=1`);
  assert.deepEqual([logs.json.data[0].message, logs.json.has_more], ['one', true]);
  const more = await ask(`/api/jobs/${id}/logs?limit=1&cursor=${logs.json.next_cursor}`);
  assert.deepEqual([more.json.data[0].message, more.json.has_more], ['two', false]);
  const why = (await ask(`/api/jobs/${id}/why`)).json;
  assert.match(why.sentence, /Row 17/);

  const again = await ask(`/api/jobs/${id}/run-again`, { method: 'POST' });
  assert.deepEqual([again.status, again.json.copy_of], [201, id]);
  const back = await ask(`/api/jobs/${id}/retry`, { body: { note: 'the file is there now' } });
  assert.deepEqual([back.status, back.json.result], [200, 'changed']);
  const [row] = await duly.audit({ subject: `job:${id}` });
  assert.match(row?.actor ?? '', /^key:[0-9a-z]{12}$/);
  assert.equal(row?.note, 'the file is there now');
});

test('jobs are cancelled, moved, and acted on by filter, dry first', async (t) => {
  const { ask } = await startServer(t);
  const created = await Promise.all(
    Array.from({ length: 5 }, () => ask('/api/jobs', { body: { type: 'mail', delay: '1h' } })),
  );
  const [a, b] = created.map(({ json }) => json.id);
  const cancelled = await ask(`/api/jobs/${a}/cancel`, { method: 'POST' });
  assert.deepEqual(
    [cancelled.status, cancelled.json.result, cancelled.json.status],
    [200, 'changed', 'CANCELLED'],
  );
  const moved = await ask(`/api/jobs/${b}/reschedule`, { body: { run_at: '2100-01-01T00:00:00Z' } });
  assert.equal(moved.json.due_at, '2100-01-01T00:00:00.000Z');
  assert.equal((await ask(`/api/jobs/${a}/reschedule`, { body: { delay: '1m' } })).status, 409);
  assert.equal((await ask(`/api/jobs/${b}/reschedule`, { body: {} })).status, 400);

  const dry = await ask('/api/jobs/bulk', {
    body: { action: 'cancel', filter: { type: 'mail' }, dry_run: true },
  });
  const { ids, as_of: asOf, ...counts } = dry.json;
  assert.deepEqual(counts, { changed: 4, refused: 1, dry_run: true });
  assert.equal(ids.length, 4);
  assert.ok(Math.abs(Date.parse(asOf) - Date.now()) < 60_000);
  assert.equal((await ask('/api/jobs?status=SCHEDULED')).json.data.length, 4);
  const done = await ask('/api/jobs/bulk', { body: { action: 'cancel', filter: { status: 'SCHEDULED' } } });
  assert.deepEqual(done.json, { changed: 4, refused: 0, dry_run: false });
  assert.equal((await ask('/api/jobs?status=CANCELLED')).json.data.length, 5);
  assert.equal((await ask('/api/jobs/bulk', { body: { action: 'cancel', filter: {} } })).status, 400);
});

test('a filter that says nothing, or would be lost on the way, is refused', async (t) => {
  const { ask } = await startServer(t);
  await ask('/api/jobs', { body: { type: 'mail', input: { user: 1 } } });
  for (const path of ['input.__proto__=1', 'input.user.__proto__=1']) {
    const { status, json } = await ask(`/api/jobs?${path}`);
    assert.deepEqual([status, json.code], [400, 'request_invalid'], path);
  }
  assert.equal((await ask('/api/jobs?input.constructor=1')).json.data.length, 0);
  const act = { filter: { input: {} }, dry_run: true };
  for (const [path, body] of [
    ['/api/jobs/bulk', { ...act, action: 'cancel' }],
    ['/api/dead/discard', act],
  ] as const) {
    const { status, json } = await ask(path, { body });
    assert.deepEqual([status, json.details.issues[0].path], [400, 'filter.input'], path);
  }
  for (const filter of [
    '{"type":"mail","task":"mail"}',
    '{"type":"mail","__proto__":{"status":"FAILED"}}',
    '{"type":"mail","input":{"user":1,"__proto__":1}}',
  ]) {
    const body = JSON.parse(`{"action":"cancel","filter":${filter},"dry_run":true}`);
    assert.equal((await ask('/api/jobs/bulk', { body })).status, 400, filter);
  }
});

test('NUL characters, which not every store can be asked for, are refused in addresses and names', async (t) => {
  const { ask } = await startServer(t);
  for (const path of [
    '/api/jobs/job_%00',
    '/api/jobs?queue=%00',
    '/api/jobs?input.a%00b=1',
    '/api/jobs/latest?type=%00',
    '/api/dead?error=%00',
  ]) {
    const { status, json } = await ask(path);
    assert.deepEqual([status, json.code], [400, 'request_invalid'], path);
  }
  for (const [path, body] of [
    ['/api/worker/heartbeat', { leases: [{ id: '\0', fence: 1 }] }],
    ['/api/jobs/bulk', { action: 'cancel', filter: { ids: ['\0'] } }],
    ['/api/jobs/bulk', { action: 'cancel', filter: { error: '\0' } }],
    ['/api/keys', { scope: 'read', tenant: '\0' }],
  ] as const) {
    const { status, json } = await ask(path, { body });
    assert.deepEqual([status, json.code], [400, 'request_invalid'], path);
  }
});

test('what is not to be seen is redacted by path, in lists too', async (t) => {
  const { ask } = await startServer(t, { server: { redact: { input: ['card.number', 'list.*.token'] } } });
  const input = { card: { number: '4111', name: 'Ada' }, list: [{ token: 't', n: 1 }] };
  const { json } = await ask('/api/jobs', { body: { type: 'pay', input } });
  const shown = { card: { number: '[redacted]', name: 'Ada' }, list: [{ token: '[redacted]', n: 1 }] };
  assert.deepEqual(json.input, shown);
  assert.deepEqual((await ask('/api/jobs')).json.data[0].input, shown);
});

test('jobs cannot be looked for by what is not shown of them', async (t) => {
  const { ask } = await startServer(t, {
    server: { allowTargets: ['127.0.0.1'], redact: { input: ['card.number', 'list.*.token'] } },
  });
  await ask('/api/jobs', { body: { type: 'x', input: { card: { number: '4711', name: 'Ada' } } } });
  const http = { url: 'http://127.0.0.1:9/', headers: { Authorization: 'secret' } };
  await ask('/api/jobs', { body: { target: { http }, delay: '1h' } });
  for (const query of [
    'input.card.number="4711"',
    'input.list.0.token=1',
    'input.card.number.deeper=1',
    'input.http.headers.Authorization=secret',
    'type=duly:http&input.http.headers.Authorization=secret',
  ]) {
    const { status, json } = await ask(`/api/jobs?${query}`);
    assert.deepEqual([status, json.code], [400, 'request_invalid'], query);
    const [, path, value] = /input\.([^=]+)=(.*)$/.exec(query) as unknown as [string, string, string];
    const body = { action: 'cancel', filter: { input: { [path]: value } }, dry_run: true };
    assert.equal((await ask('/api/jobs/bulk', { body })).status, 400, query);
  }
  assert.equal((await ask('/api/jobs?input.card.name=Ada')).json.data.length, 1);
  // Of a task of one's own this is a field like others.
  assert.equal((await ask('/api/jobs?type=x&input.http.headers.Authorization=secret')).status, 200);
});

test('a brief list cuts what is long, and is as redacted as any', async (t) => {
  const { ask, duly } = await startServer(t, {
    tasks: [
      {
        name: 'long',
        retry: { attempts: 1 },
        run: () => {
          throw new Error(`m${'😀'.repeat(2_000)}`, { cause: new Error('below') });
        },
      },
    ],
    start: true,
    server: { redact: { input: ['secret'] } },
  });
  const job = await duly.taskNamed('long').now({ secret: 'hidden', text: 'x'.repeat(100_000) });
  await job.wait();
  await duly.taskNamed('short').in('1h', { n: 1 });
  const [short, long] = (await ask('/api/jobs?brief=true')).json.data;
  assert.deepEqual(short.input, { n: 1 });
  assert.match(long.input, /^\{"secret":"\[redacted\]","text":"x+…$/);
  assert.equal(long.input.length, 1_001);
  assert.equal(long.error.message.length, 1_000, 'no half of a pair');
  assert.deepEqual([long.error.stack, long.error.cause], [undefined, undefined]);
  const [, whole] = (await ask('/api/jobs')).json.data;
  assert.equal(whole.input.text.length, 100_000);
  assert.equal((await ask('/api/jobs?brief=yes')).status, 400);
  assert.ok((await ask(`/api/jobs/${job.id}/why`)).json.sentence.isWellFormed());
  assert.equal((await ask('/api/dead/groups')).json.data[0].jobs[0].input.length, 1_001);
});

test('a bulk action that would change more than its dry run counted answers 409 and changes nothing', async (t) => {
  const { ask, duly } = await startServer(t);
  const task = duly.taskNamed('mail');
  await task.inMany('1h', [1, 2]);
  const filter = { type: 'mail', status: 'SCHEDULED' };
  const bulk = (fields: object) => ask('/api/jobs/bulk', { body: { action: 'cancel', filter, ...fields } });
  const { json: counted } = await bulk({ dry_run: true });
  const late = await task.in('1h', 3);
  const { changed: expected, as_of: asOf, ids } = counted;

  const refused = await bulk({ expected });
  assert.deepEqual([refused.status, refused.json.code], [409, 'too_many_match']);
  assert.deepEqual(refused.json.details, { expected: 2, found: 3 });
  assert.equal((await ask('/api/jobs?status=SCHEDULED')).json.data.length, 3);

  for (const paged of [{ limit: 1 }, { cursor: 'after:job_x' }])
    assert.equal((await bulk({ expected, ...paged })).json.code, 'request_invalid');
  assert.equal((await bulk({ as_of: 'yesterday' })).status, 400);

  // By the ids of the dry run, the later job stays although it matches.
  const done = await bulk({ filter: { ...filter, ids }, expected, as_of: asOf });
  assert.deepEqual(done.json, { changed: 2, refused: 0, dry_run: false });
  assert.equal((await late.get()).status, 'SCHEDULED');
});

test('an action on dead letters changes those that its dry run counted, by filter, group and all', async (t) => {
  const fragile = {
    name: 'fragile',
    retry: 1,
    run: () => {
      throw new Error('Disk 7 is full.');
    },
  };
  const { ask, duly } = await startServer(t, { tasks: [fragile], start: true });
  const fail = async () => (await duly.taskNamed('fragile').now(null)).wait();
  await fail();
  const { type, name, pattern } = (await ask('/api/dead/groups')).json.data[0];
  for (const which of [{ all: true }, { filter: { type } }, { group: { type, name, pattern } }]) {
    const { json: counted } = await ask('/api/dead/discard', { body: { ...which, dry_run: true } });
    assert.equal(counted.ids.length, counted.changed);
    const late = await fail();
    const refused = await ask('/api/dead/discard', { body: { ...which, expected: counted.changed } });
    assert.deepEqual([refused.status, refused.json.code], [409, 'too_many_match'], JSON.stringify(which));
    const { as_of, changed: expected } = counted;
    const done = await ask('/api/dead/discard', { body: { ...which, as_of, expected } });
    assert.deepEqual(done.json, { changed: expected, refused: 0, dry_run: false }, JSON.stringify(which));
    assert.deepEqual(
      (await ask('/api/dead')).json.data.map(({ id }: { id: string }) => id),
      [late.id],
    );
  }
});

test('jobs are found by text in their type, tenant, status and error', async (t) => {
  const fragile = {
    name: 'charge_card',
    retry: 1,
    run: () => {
      throw new Error('Card declined, by Acme Bank.');
    },
  };
  const { ask, duly } = await startServer(t, { tasks: [fragile], start: true });
  await (await duly.taskNamed('charge_card').now(null)).wait();
  await duly.taskNamed('send_mail').in('1h', null, { tenant: 'acme' });
  await duly.taskNamed('send_mail').in('1h', null, { tenant: 'globex' });
  const found = async (query: string) =>
    (await ask(`/api/jobs?${query}&count=true`)).json.total.count as number;
  assert.equal(await found('text=send_mail'), 2);
  assert.equal(await found('text=acme'), 2);
  assert.equal(await found('text=failed'), 1);
  assert.equal(await found('text=acme&text=scheduled'), 1);
  assert.equal((await ask('/api/jobs?text=')).status, 400);
  const bulk = (text: unknown) =>
    ask('/api/jobs/bulk', { body: { action: 'cancel', filter: { text }, dry_run: true } });
  assert.equal((await bulk(['acme', 'scheduled'])).json.changed, 1);
  for (const text of ['', [], ['\0']]) assert.equal((await bulk(text)).status, 400, JSON.stringify(text));
});

test('a bulk action goes in parts if it is asked to, each with where the next begins', async (t) => {
  const { ask, duly } = await startServer(t);
  await duly.taskNamed('many').nowMany(Array.from({ length: 7 }, (_, n) => ({ n })));
  const act = (body: object) =>
    ask('/api/jobs/bulk', { body: { action: 'cancel', filter: { type: 'many' }, ...body } });
  const dry = await act({ limit: 5, dry_run: true });
  assert.deepEqual([dry.json.changed, typeof dry.json.next_cursor], [5, 'string']);
  const parts: number[] = [];
  for (let cursor: string | null = null; ; ) {
    const { json } = await act({ limit: 3, ...(cursor === null ? {} : { cursor }) });
    parts.push(json.changed);
    cursor = json.next_cursor;
    if (cursor === null) break;
  }
  assert.equal(
    parts.reduce((sum, one) => sum + one, 0),
    7,
  );
  assert.ok(parts.every((one) => one <= 3));
  assert.equal((await duly.jobs({ type: 'many', status: 'CANCELLED' }).count()).count, 7);
  for (const wrong of [{ limit: 0 }, { limit: 10_001 }, { cursor: 'x' }]) {
    assert.equal((await act(wrong)).status, 400, JSON.stringify(wrong));
  }
});
