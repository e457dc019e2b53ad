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

test('a job is made and shown in the shape of the design', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [transcode], start: true });
  const made = await ask('/api/jobs', {
    body: { type: 'video_transcode', input: 's3://uploads/video_789.mp4', metadata: { user: 7 } },
  });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('location'), `/api/jobs/${made.json.id}`);
  assert.equal(made.json.deduped, false);
  await duly.job(made.json.id).wait();
  const shown = await ask(made.headers.get('location') as string);
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
    copy_of: null,
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
  const made = await ask('/api/jobs', { body: { type: 'python_task', input: { any: 'json' } } });
  assert.deepEqual([made.status, made.json.status], [201, 'PENDING']);
});
