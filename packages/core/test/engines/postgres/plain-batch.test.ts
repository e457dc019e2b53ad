import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobSpec } from '../../../src/contract/engine.ts';
import { plainBatch } from '../../../src/engines/postgres/plain-batch.ts';

const policy = () => ({ maxAttempts: 3, retry: { backoff: 'fixed', delayMs: 1_000 }, retentionMs: 1_000 });
const job = (n: number, fields: Partial<JobSpec> = {}): JobSpec =>
  ({
    ...{ id: `job_${n}`, type: 'mail', version: 1, queue: 'default', tenant: null, priority: 0 },
    ...{ rankOffsetMs: 0, due: { inMs: 0 }, input: `${n}`, metadata: null, policy: policy() },
    ...{ startDeadlineMs: null, dedupe: null, serial: null, gates: [], parent: null, origin: 'api' },
    ...{ slot: null, copyOf: null, ...fields },
  }) as unknown as JobSpec;

test('jobs with policies of their own but one content are of one kind', () => {
  const batch = plainBatch(Array.from({ length: 5_000 }, (_, n) => job(n, { tenant: `t${n}` })));
  assert.equal(batch.firsts.length, 1);
  assert.equal(batch.kind, null);
  assert.equal(batch.tenants?.[4_999], 't4999');
});

test('each kind is sent once, in the order of its first job', () => {
  const jobs = [
    job(0),
    job(1, { type: 'sms' }),
    job(2),
    job(3, { due: { inMs: 5 } }),
    job(4, { type: 'sms' }),
  ];
  const batch = plainBatch(jobs);
  assert.deepEqual(batch.kind, [1, 2, 1, 3, 2]);
  assert.deepEqual(
    batch.firsts.map(({ id }) => id),
    ['job_0', 'job_1', 'job_3'],
  );
  assert.deepEqual(
    (JSON.parse(batch.specs) as { n: number; type: string }[]).map(({ n, type }) => [n, type]),
    [
      [1, 'mail'],
      [2, 'sms'],
      [3, 'mail'],
    ],
  );
});
