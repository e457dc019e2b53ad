import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApiError, createClient, type Job } from '../src/client/client.ts';
import { startServer } from './fixture.ts';

test('the typed client makes, reads, lists and follows errors by their codes', async (t) => {
  const { url, adminKey } = await startServer(t);
  const client = createClient({ url, key: adminKey });
  const created = await client.call('POST /api/jobs', {
    body: { type: 'mail', input: { to: 'ada' }, delay: '1h' },
    idempotencyKey: 'once',
  });
  const again = await client.call('POST /api/jobs', {
    body: { type: 'mail', input: { to: 'ada' }, delay: '1h' },
    idempotencyKey: 'once',
  });
  assert.equal(again.id, created.id);
  const job: Job = await client.call('GET /api/jobs/{id}', { path: { id: created.id } });
  assert.equal(job.status, 'SCHEDULED');
  for (let i = 0; i < 4; i++) await client.call('POST /api/jobs', { body: { type: 'mail' } });
  const ids = new Set<string>();
  for await (const one of client.each('GET /api/jobs', { query: { type: ['mail', 'other'], limit: 2 } })) {
    ids.add(one.id);
  }
  assert.equal(ids.size, 5);
  const toAda = await client.call('GET /api/jobs', { query: { type: 'mail', 'input.to': 'ada' } });
  assert.deepEqual(
    toAda.data.map(({ id }) => id),
    [created.id],
  );
  // @ts-expect-error: a filter that the route does not know
  await assert.rejects(client.call('GET /api/jobs', { query: { 'inptu.to': 'ada' } }), {
    code: 'request_invalid',
  });
  const schedule = await client.call('POST /api/schedules', {
    body: { type: 'mail', name: 'a/b ü', cron: '0 0 * * *' },
  });
  const found = await client.call('GET /api/schedules/{id}', { path: { id: schedule.name } });
  assert.equal(found.id, schedule.id);
  assert.equal(await client.call('DELETE /api/schedules/{id}', { path: { id: schedule.id } }), null);
  await assert.rejects(client.call('GET /api/jobs/{id}', { path: { id: 'job_x' } }), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code], [404, 'job_not_found']);
    return true;
  });
  await assert.rejects(createClient({ url }).call('GET /api/jobs'), { code: 'unauthenticated' });

  // The compiler refuses what the routes do not take; these lines are never run.
  const _never = (): unknown[] => [
    // @ts-expect-error a body is needed
    client.call('POST /api/jobs'),
    // @ts-expect-error there is no such field
    client.call('POST /api/jobs', { body: { type: 'x', delya: '1h' } }),
    // @ts-expect-error there is no such route
    client.call('GET /api/nothing'),
    // @ts-expect-error the id is missing
    client.call('GET /api/jobs/{id}', { path: {} }),
  ];
});

test('the client stands alone: it imports nothing but its generated types', () => {
  const text = readFileSync(join(import.meta.dirname, '../src/client/client.ts'), 'utf8');
  const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
  assert.deepEqual([...new Set(imports)], ['./generated.ts']);
});
