import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../fixture.ts';

const folder = join(import.meta.dirname, '../../../../docs/observability');
const tasks = [
  { name: 'render', run: () => 'made' },
  {
    name: 'break',
    retry: 1,
    run: () => {
      throw new Error('no luck');
    },
  },
];

/** The samples by their series, and the names of the metrics. */
function parse(text: string): { samples: Map<string, number>; names: Set<string> } {
  const samples = new Map<string, number>();
  const names = new Set<string>();
  for (const line of text.split('\n')) {
    const [, name, kind] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (name !== undefined) {
      names.add(name);
      if (kind === 'histogram') for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`);
    }
    const sample = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line);
    if (sample !== null) samples.set(sample[1] as string, Number(sample[2]));
  }
  return { samples, names };
}

test('what happens and how the store stands is told, without names of jobs, tenants or schedules', async (t) => {
  const { ask, duly, key } = await startServer(t, { tasks, start: true });
  const done = duly.next('job.settled', (event) => event.type === 'break');
  const { json } = await ask('/api/jobs', { body: { type: 'render', tenant: 'acme' } });
  await ask(`/api/jobs/${json.id}`);
  await duly.job(json.id).wait();
  await duly.taskNamed('render').every('0 0 1 1 *', undefined, { name: 'nightly' });
  await ask('/api/jobs', { body: { type: 'break' } });
  await done;
  await ask('/api/no/such/place');
  const { status, headers, text } = await ask('/metrics', { key: await key('read') });
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^text\/plain/);
  const { samples, names } = parse(text);
  assert.equal(samples.get('duly_store_up'), 1);
  assert.equal(samples.get('duly_jobs{status="COMPLETED"}'), 1);
  assert.equal(samples.get('duly_dead_letters'), 1);
  assert.equal(samples.get('duly_nodes{role="worker"}'), 1);
  assert.equal(samples.get('duly_attempts_total{type="render",status="COMPLETED"}'), 1);
  assert.equal(samples.get('duly_attempts_total{type="break",status="FAILED"}'), 1);
  assert.equal(samples.get('duly_attempt_duration_seconds_count{type="render"}'), 1);
  assert.equal(samples.get('duly_attempts_running'), 0);
  assert.equal(samples.get('duly_outcomes_unrecorded'), 0);
  assert.equal(
    samples.get('duly_http_request_duration_seconds_count{method="POST",route="/api/jobs",status="201"}'),
    2,
  );
  assert.equal(
    samples.get('duly_http_request_duration_seconds_count{method="GET",route="/api/jobs/:id",status="200"}'),
    1,
  );
  assert.equal(
    samples.get('duly_http_request_duration_seconds_count{method="GET",route="none",status="404"}'),
    1,
  );
  assert.ok((samples.get('duly_store_call_duration_seconds_count{verb="enqueue",ok="true"}') ?? 0) >= 2);
  for (const name of names) assert.match(name, /^duly_[a-z0-9_]+$/);
  assert.doesNotMatch(text, /job_0|acme|nightly|tenant=|schedule=|schedule_id/);
  assert.equal((await ask('/metrics', { key: null })).status, 401);
  assert.equal((await ask('/metrics', { key: await key('admin', 'acme') })).status, 403);
});

test('the queue label is bounded: the queues with the most waiting jobs, and "other" for the rest', async (t) => {
  const { ask, duly } = await startServer(t, { tasks });
  const queues = Array.from({ length: 250 }, (_, i) => `queue-${i}`);
  await duly.tasks.get('render')?.nowMany(queues, (queue) => ({ queue: String(queue) }));
  await duly.tasks.get('render')?.nowMany(['one', 'two'], { queue: 'busy' });
  const { samples } = parse((await ask('/metrics')).text);
  const series = (name: string) => [...samples].filter(([key]) => key.startsWith(`${name}{`));
  assert.equal(series('duly_queue_ready_jobs').length, 201);
  assert.equal(series('duly_queue_oldest_wait_seconds').length, 201);
  assert.equal(samples.get('duly_queue_ready_jobs{queue="busy"}'), 2);
  assert.equal(samples.get('duly_queue_ready_jobs{queue="other"}'), 51);
});

test('only counters end in _total, and every metric has a help text', async (t) => {
  const { ask } = await startServer(t, { tasks });
  const { text } = await ask('/metrics');
  for (const [, name = '', kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    assert.equal(name.endsWith('_total'), kind === 'counter', name);
    assert.match(text, new RegExp(`^# HELP ${name} \\S`, 'm'));
  }
});

test('every metric that the rules and the dashboard name exists, and each has its labels', async (t) => {
  const { ask } = await startServer(t, { tasks });
  const { names } = parse((await ask('/metrics')).text);
  const dashboard = JSON.parse(readFileSync(join(folder, 'duly-dashboard.json'), 'utf8'));
  const expressions: string[] = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  );
  const rules = readFileSync(join(folder, 'duly-rules.yml'), 'utf8');
  assert.ok(expressions.length > 10);
  for (const text of [...expressions, rules]) {
    const named = text.match(/\bduly_[a-z0-9_]+/g) ?? [];
    assert.ok(named.length > 0, text);
    for (const name of named) assert.ok(names.has(name), `${name} in ${text.slice(0, 100)}`);
  }
});
