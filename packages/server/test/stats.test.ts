import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

const good = { name: 'good', run: () => {} };
const bad = {
  name: 'bad',
  retry: { attempts: 1 },
  run: () => {
    throw new Error('no');
  },
};

test('stats tell by task what became of the jobs that ended lately', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [good], start: true });
  const job = await duly.taskNamed('good').now(null);
  await job.result();
  const { json } = await ask('/api/stats?since=1h');
  assert.equal(json.data[0].type, 'good');
  assert.equal(json.data[0].completed, 1);
  assert.match(json.data[0].last_completed_at, /^\d{4}-/);
  assert.equal((await ask('/api/stats?since=soon')).status, 400);
});

test('stats of schedules tell how their runs ended, and the last success', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [good, bad], start: true });
  for (const task of ['good', 'bad']) {
    await duly.schedules.put({ type: task, name: `every-${task}`, cron: '0 2 1 1 *' });
    const { job } = await duly.schedules.trigger(`every-${task}`);
    await job?.result().catch(() => null);
  }
  const { json } = await ask('/api/stats/schedules');
  const [ofBad, ofGood] = json.data;
  assert.deepEqual([ofBad.failed, ofBad.completed, ofBad.last_completed_at], [1, 0, null]);
  assert.deepEqual([ofGood.failed, ofGood.completed], [0, 1]);
  assert.ok(ofGood.duration_ms_p50 >= 0);
  const one = await ask('/api/stats/schedules?schedule=every-good');
  assert.deepEqual(one.json.data, [ofGood]);
  assert.equal((await ask('/api/stats/schedules?schedule=none')).status, 404);
  const { schedule_id: badId } = ofBad;
  const both = await ask(`/api/stats/schedules?ids=${ofGood.schedule_id}&ids=${badId}`);
  assert.deepEqual(both.json.data, [ofGood, ofBad]);
  assert.deepEqual((await ask(`/api/stats/schedules?ids=${badId}`)).json.data, [ofBad]);
});

test('the trend gives steps until now, whole ones from the store once, and says which step it took', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [good, bad], start: true });
  const jobs = [await duly.taskNamed('good').now(null), await duly.taskNamed('bad').now(null)];
  for (const job of jobs) await job.result().catch(() => null);
  const { json } = await ask('/api/stats/trend?since=1h');
  assert.equal(json.step_ms, 60_000);
  assert.ok(json.data.length === 61 || json.data.length === 60, `${json.data.length} steps`);
  const sum = (name: string, steps: Record<string, number>[] = json.data) =>
    steps.reduce((total, step) => total + (step[name] as number), 0);
  assert.deepEqual([sum('completed'), sum('failed')], [1, 1]);
  assert.ok(json.data.at(-1).from <= json.now);
  const trends = () => duly.calls()?.trend ?? 0;
  const before = trends();
  assert.ok(before > 1, 'a stretch is asked for in several calls');
  await ask('/api/stats/trend?since=1h');
  assert.equal(trends(), before + 1, 'only what is not over was asked for again');
  const ofType = await ask('/api/stats/trend?since=1h&type=bad');
  assert.deepEqual([sum('completed', ofType.json.data), sum('failed', ofType.json.data)], [0, 1]);
  assert.equal((await ask('/api/stats/trend?since=1h&schedule=none')).status, 404);
  for (const query of ['since=1d&step=1s', 'since=1h&step=10ms', 'since=2999-01-01T00:00:00Z']) {
    assert.equal((await ask(`/api/stats/trend?${query}`)).status, 400, query);
  }
});
