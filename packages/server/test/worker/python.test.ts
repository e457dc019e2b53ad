import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startServer } from '../fixture.ts';
import { openSse } from '../live/guide.ts';
import { startPython, withoutPython } from './python.ts';

const skip = withoutPython();
const timing = { duly: { lease: '3s', heartbeat: '300ms' } } as const;

test('the worker in Python runs jobs, shows progress and log, fails, retries and completes', {
  skip,
}, async (t) => {
  const { url, key, ask, duly } = await startServer(t, timing);
  await startPython(t, { url, key: await key('run'), name: 'py' });
  const create = async (type: string, input: unknown, more = {}): Promise<string> =>
    (await ask('/api/jobs', { body: { type, input, ...more } })).json.id;

  const text = 'one two\nthree\nfour five six';
  const id = await create('count_words', { text }, { metadata: { own: true } });
  const stream = await openSse(t, `${url}/api/jobs/${id}/events`, { key: await key('read') });
  const lines: string[] = [];
  await stream.until(({ event, data }) => {
    if (event === 'log') lines.push(data.message);
    return event === 'end';
  });
  assert.deepEqual(lines, ['line 1 has 2 words', 'line 2 has 1 words', 'line 3 has 3 words']);
  const { json } = await ask(`/api/jobs/${id}`);
  assert.deepEqual([json.status, json.result, json.progress], ['COMPLETED', { words: 6 }, 100]);
  assert.match(json.node, /^remote:py@key:/);
  assert.deepEqual(json.metadata, { own: true, current_step: 'line 3', steps_completed: 3, steps_total: 3 });

  const retry = { attempts: 2, backoff: 'fixed', delay: 1 };
  const failing = await create('divide', { a: 1, b: 0 }, { retry });
  await duly.job(failing).wait({ timeout: '20s' });
  const failed = (await ask(`/api/jobs/${failing}`)).json;
  assert.deepEqual([failed.status, failed.attempts, failed.error.name], ['FAILED', 2, 'ZeroDivisionError']);
  assert.match(failed.error.stack, /tasks\.py/);

  const odd = await create('not_json', null, { retry: 1 });
  await duly.job(odd).wait({ timeout: '20s' });
  assert.match((await ask(`/api/jobs/${odd}`)).json.error.message, /not JSON serializable/);

  const [node] = (await duly.nodes()).filter((one) => one.id.startsWith('remote:py@'));
  assert.deepEqual([node?.roles, node?.concurrency], [['worker'], 4]);
  assert.ok(node?.tasks.some(({ type }) => type === 'divide'));
  const many = await Promise.all(Array.from({ length: 20 }, (_, a) => create('divide', { a, b: 1 })));
  for (const [a, one] of many.entries()) {
    assert.equal((await duly.job(one).wait({ timeout: '20s' })).result, a);
  }
});

test('a job that Python runs is cancelled, and one that is stopped by a signal is finished first', {
  skip,
}, async (t) => {
  const { url, key, ask, duly } = await startServer(t, timing);
  const python = await startPython(t, { url, key: await key('run'), name: 'py' });
  const create = async (type: string): Promise<string> =>
    (await ask('/api/jobs', { body: { type, input: null } })).json.id;
  const reaches = async (id: string): Promise<void> => {
    const stream = await openSse(t, `${url}/api/jobs/${id}/events`, { key: await key('read') });
    await stream.until(({ data }) => data?.progress === 10);
    await stream.close();
  };
  const first = await create('until_stopped');
  await reaches(first);
  assert.equal((await ask(`/api/jobs/${first}/cancel`, { body: {} })).status, 202);
  const cancelled = await duly.job(first).wait({ timeout: '20s' });
  assert.deepEqual([cancelled.status, cancelled.error?.message], ['CANCELLED', 'stopped']);

  const second = await create('until_stopped');
  await reaches(second);
  const exited = once(python, 'exit');
  python.kill('SIGTERM');
  await once(python.stdout as NonNullable<typeof python.stdout>, 'data');
  await ask(`/api/jobs/${second}/cancel`, { body: {} });
  assert.equal((await duly.job(second).wait({ timeout: '20s' })).status, 'CANCELLED');
  assert.equal((await exited)[0], 0);
});

test('a Python process that dies loses its jobs, and one that comes after it goes on', {
  skip,
}, async (t) => {
  const fixture = await startServer(t, { duly: { lease: '500ms', heartbeat: '100ms' }, start: true });
  const { url, key, ask, duly } = fixture;
  const run = await key('run');
  const first = await startPython(t, { url, key: run, name: 'one' });
  const dying = (
    await ask('/api/jobs', { body: { type: 'ends_process', input: null, delivery: 'at-most-once' } })
  ).json.id;
  const exited = once(first, 'exit');
  const lost = await duly.job(dying).wait({ timeout: '30s' });
  await exited;
  assert.deepEqual(
    [lost.status, lost.error?.code],
    ['FAILED', 'lost'],
    'its beginning was written before it was given out',
  );

  const second = await startPython(t, { url, key: run, name: 'two' });
  const again = (await ask('/api/jobs', { body: { type: 'count_words', input: { text: 'a b' } } })).json.id;
  assert.deepEqual((await duly.job(again).wait({ timeout: '30s' })).result, { words: 2 });
  assert.equal(second.exitCode, null);
});

test('a Python process that stood still and is given its own job once more keeps it, and all its places', {
  skip,
}, async (t) => {
  const fixture = await startServer(t, { duly: { lease: '1s', heartbeat: '100ms' }, start: true });
  const { url, key, ask, duly } = fixture;
  const python = await startPython(t, { url, key: await key('run'), name: 'py' });
  const { id } = (await ask('/api/jobs', { body: { type: 'longer_than_leases', input: null } })).json;
  const stream = await openSse(t, `${url}/api/jobs/${id}/events`, { key: await key('read') });
  await stream.until(({ data }) => data?.progress === 10);
  python.kill('SIGSTOP');
  await stream.until(({ data }) => data?.losses === 1);
  python.kill('SIGCONT');
  const done = await duly.job(id).wait({ timeout: '30s' });
  assert.deepEqual([done.status, done.result, done.losses], ['COMPLETED', { 'told to stop': false }, 1]);
  const rest = await Promise.all(
    Array.from(
      { length: 8 },
      async (_, a) => (await ask('/api/jobs', { body: { type: 'divide', input: { a, b: 1 } } })).json.id,
    ),
  );
  for (const [a, one] of rest.entries())
    assert.equal((await duly.job(one).wait({ timeout: '20s' })).result, a);
});
