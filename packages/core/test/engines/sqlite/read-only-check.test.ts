// Not part of the shared suite: only SQLite has one lock for all who write.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { claimRequest, jobSpec, scheduleClaim } from '@duly/conformance/builders';
import { systemClock } from '../../../src/base/clock.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/index.ts';
import { testFolder } from './folder.ts';

test('a call that finds nothing to do does not wait for a writer', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock: systemClock, busyMs: 50 });
  t.after(() => engine.close());
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 60_000 } })] }] });
  const writer = new DatabaseSync(path);
  t.after(() => writer.close());
  writer.exec('BEGIN IMMEDIATE');

  const { nextDueAt, now, claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  assert.deepEqual(claimed, []);
  assert.ok(nextDueAt !== null && nextDueAt - now > 50_000 && nextDueAt - now <= 60_000);
  const { now: _, ...schedules } = await engine.claimSchedules({ ...scheduleClaim(), now: undefined });
  assert.deepEqual(schedules, { schedules: [], nextDueAt: null, more: false });
  const { jobs, nextAt } = await engine.reap({ node: 'n', leaseMs: 1_000, limit: 10 });
  assert.deepEqual([jobs, nextAt], [[], null]);
  // The lock is really held: a call that writes waits for it.
  await assert.rejects(engine.enqueue({ groups: [{ jobs: [jobSpec()] }] }), {
    code: 'store_locked_by_user_transaction',
  });
  writer.exec('ROLLBACK');
});

test('while a job runs, a reap does not answer from a file that cannot be written', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock: systemClock, busyMs: 50 });
  t.after(() => engine.close());
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  assert.equal(claimed.length, 1);
  const writer = new DatabaseSync(path);
  t.after(() => writer.close());
  writer.exec('BEGIN IMMEDIATE');

  // Neither lets it take a lease over. A node that is answered would think that outcomes arrive, and take over what ended meanwhile.
  for (const endedBy of [undefined, 0]) {
    const input = { node: 'n', leaseMs: 1_000, limit: 10, ...(endedBy === undefined ? {} : { endedBy }) };
    await assert.rejects(engine.reap(input), { code: 'store_locked_by_user_transaction' });
  }
  writer.exec('ROLLBACK');
  const { jobs, nextAt, now } = await engine.reap({ node: 'n', leaseMs: 1_000, limit: 10, endedBy: 0 });
  assert.deepEqual(jobs, []);
  assert.ok(nextAt !== null && nextAt > now);
});
