import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../src/index.ts';
import { Duly } from '../../src/index.ts';
import { toAttemptJson, toJobJson } from '../../src/internal.ts';

async function createJob(
  t: { after(fn: () => Promise<void>): void },
  metadata: Record<string, unknown>,
): Promise<Job> {
  const duly = new Duly({ store: 'sqlite::memory:' });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'video_transcode', run: () => undefined });
  return (await task.in('1h', { userId: 7 }, { metadata, tenant: 'acme' })).get() as Promise<Job>;
}

test('a job is shown in snake case, with instants as texts and the input untouched', async (t) => {
  const job = await createJob(t, { myOwnField: 1 });
  const json = toJobJson(job);
  assert.deepEqual(JSON.parse(JSON.stringify(json)), json, 'it is JSON already');
  assert.deepEqual(
    Object.keys(json).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name)),
    [],
  );
  assert.equal(json.id, job.id);
  assert.equal(json.status, 'SCHEDULED');
  assert.equal(json.progress, 0);
  assert.equal(json.due_at, job.dueAt.toISOString());
  assert.equal(json.next_attempt_at, json.due_at);
  assert.deepEqual(json.waiting_for, { kind: 'time', until_at: json.due_at });
  assert.deepEqual(json.input, { userId: 7 });
  assert.equal(json.tenant, 'acme');
  assert.equal(json.started_at, null);
  assert.deepEqual(json.metadata, {
    myOwnField: 1,
    current_step: null,
    steps_completed: null,
    steps_total: null,
  });
});

test('the step that a handler shows stands over a field of the same name, and without one the field stays', async (t) => {
  const job = await createJob(t, { current_step: 'mine' });
  assert.equal(toJobJson(job).metadata.current_step, 'mine');
  const progress = { percent: 55, message: 'Transcoding 720p', step: 2, of: 4 };
  const { metadata, progress: percent } = toJobJson({ ...job, progress });
  assert.equal(percent, 55);
  assert.deepEqual(metadata, { current_step: 'Transcoding 720p', steps_completed: 2, steps_total: 4 });
});

test('stacks are shown only when they are asked for, in causes and attempts too', async (t) => {
  const job = await createJob(t, {});
  const error = {
    name: 'A',
    message: 'a',
    stack: 'secret',
    code: 'C',
    cause: { name: 'B', message: 'b', stack: 'secret' },
  };
  const attempt = {
    n: 1,
    node: 'node_a',
    fence: 1,
    startedAt: job.createdAt,
    endedAt: null,
    reason: null,
    error,
  };
  assert.deepEqual(toJobJson({ ...job, error }).error, {
    name: 'A',
    message: 'a',
    code: 'C',
    cause: { name: 'B', message: 'b' },
  });
  assert.ok(!JSON.stringify(toAttemptJson(attempt)).includes('secret'));
  assert.deepEqual(toJobJson({ ...job, error }, { stack: true }).error, error);
  assert.deepEqual(toAttemptJson(attempt, { stack: true }).error, error);
});
