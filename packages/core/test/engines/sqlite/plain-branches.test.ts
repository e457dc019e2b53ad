// Not part of the shared suite: which branch of an insert and a claim is taken does not show in their replies.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { claimRequest, jobSpec, t0 } from '@duly/conformance/builders';
import { systemClock } from '../../../src/base/clock.ts';
import type { Engine, JobSpec } from '../../../src/contract/engine.ts';
import { openDatabase, type SqliteStatement } from '../../../src/engines/sqlite/database.ts';
import { statements } from '../../../src/engines/sqlite/generated.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/index.ts';

/** An engine in memory, and the statements that it has executed. */
async function openWatched(
  t: TestContext,
  hasPlainBranches: boolean,
): Promise<{ engine: Engine; executed: Set<string> }> {
  const path = ':memory:';
  const opened = await openDatabase({ path, busyMs: 0, exclusive: false });
  const executed = new Set<string>();
  const { prepare } = opened.db;
  opened.db.prepare = (sql): SqliteStatement => {
    const statement = prepare.call(opened.db, sql);
    for (const name of ['get', 'all', 'run'] as const) {
      const call = statement[name].bind(statement) as (...values: never[]) => never;
      statement[name] = (...values: never[]) => {
        executed.add(sql);
        return call(...values);
      };
    }
    return statement;
  };
  const engine = await openSqliteEngine({ path, clock: systemClock, opened, hasPlainBranches });
  t.after(() => engine.close());
  executed.clear();
  return { engine, executed };
}

const isPlainClaim = (executed: Set<string>): boolean =>
  executed.has(statements.claim.onlyLane) && !executed.has(statements.claim.nextQueue);

test('a plain job that its caller claims is written once, and with the plain branches off twice', async (t) => {
  const spec = jobSpec({ id: 'job', type: 'work', due: { at: t0 } });
  const input = { now: t0, groups: [{ jobs: [spec] }], claim: claimRequest() };
  const plain = await openWatched(t, true);
  const full = await openWatched(t, false);
  assert.deepEqual(await plain.engine.enqueue(input), await full.engine.enqueue(input));
  assert.equal(plain.executed.has(statements.claim.take), false);
  assert.equal(full.executed.has(statements.claim.take), true);
  assert.equal(full.executed.has(statements.claim.onlyLane), false);
});

test('a claim is plain while all that is ready is in one lane of its tasks', async (t) => {
  const { engine, executed } = await openWatched(t, true);
  const claimAfter = async (jobs: Partial<JobSpec>[], now = t0): Promise<[string[], boolean]> => {
    await engine.enqueue({
      now: t0,
      groups: [{ jobs: jobs.map((job) => jobSpec({ type: 'work', due: { at: t0 }, ...job })) }],
    });
    executed.clear();
    const claim = claimRequest({ tasks: [{ type: 'work', version: 1, limit: 9 }], queues: null });
    const { claimed } = await engine.exchange({ now, settle: [], claim });
    return [claimed.map(({ id }) => id), isPlainClaim(executed)];
  };
  assert.deepEqual(await claimAfter([{ id: 'a' }, { id: 'b' }]), [['a', 'b'], true]);
  assert.deepEqual(
    await claimAfter([
      { id: 'c', queue: 'x' },
      { id: 'd', queue: 'y' },
    ]),
    [['c', 'd'], false],
  );
  assert.deepEqual(await claimAfter([{ id: 'e', due: { at: t0 + 1 } }], t0 + 1), [['e'], false]);
  assert.deepEqual(await claimAfter([{ id: 'f', type: 'other' }, { id: 'g' }]), [['g'], false]);
});
