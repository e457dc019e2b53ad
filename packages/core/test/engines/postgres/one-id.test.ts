// One job per id on PostgreSQL, where an ended job leaves the table whose primary key guards ids.

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { claimRequest, jobSpec, settlement } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import type { JobSpec } from '../../../src/contract/engine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { createPairs } from './pairs.ts';
import { ask, untilWaiting, url, waitForLocks } from './setup.ts';

const atOnce = { due: { inMs: 0 } };

async function setup(t: TestContext) {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  const stranger = new pg.Client({ connectionString: url });
  await stranger.connect();
  t.after(async () => {
    await stranger.end();
    await engine.close();
  });
  const enqueue = (spec: JobSpec, repeat: boolean) =>
    engine.enqueue({ repeat, groups: [{ jobs: [spec] }] }).then(({ groups: [group] }) => {
      assert.ok(group?.ok);
      return group.items[0];
    });
  const runAll = async (): Promise<void> => {
    const { claimed } = await engine.exchange({ settle: [], claim: claimRequest({ limit: 10 }) });
    const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
    await engine.exchange({ settle, claim: null });
  };
  const statuses = async (id: string): Promise<string[]> => {
    const all = ['jobs', 'dead', 'finished'].map((table) => `SELECT id, status FROM ${schema}.${table}`);
    const rows = await ask(`SELECT status FROM (${all.join(' UNION ALL ')}) j WHERE id = $1`, [id]);
    return rows.map(({ status }) => status);
  };
  return { schema, engine, stranger, enqueue, runAll, statuses };
}

it('a repeated call that finds nothing creates nothing if the job was created and ended meanwhile', async (t) => {
  const { schema, stranger, enqueue, runAll, statuses } = await setup(t);
  await waitForLocks(schema);
  const gate = jobSpec({ due: { inMs: 3_600_000 } });
  await enqueue(gate, false);
  await stranger.query('BEGIN');
  await stranger.query(`SELECT 1 FROM ${schema}.jobs WHERE id = $1 FOR UPDATE`, [gate.id]);
  const spec = jobSpec(atOnce);
  // It has looked for the id, and waits for the row of its gate before it inserts.
  const repeated = enqueue({ ...spec, gates: [{ kind: 'parent', ref: gate.id }] }, true);
  await untilWaiting(1, stranger);
  await enqueue(spec, false);
  await runAll();
  assert.deepEqual(await statuses(spec.id), ['COMPLETED']);
  await stranger.query('COMMIT');
  assert.equal((await repeated)?.status, 'COMPLETED');
  assert.deepEqual(await statuses(spec.id), ['COMPLETED']);
});

it('a repeated call with a dedupe key leaves the key free if its job ended meanwhile', async (t) => {
  const { schema, stranger, enqueue, runAll, statuses } = await setup(t);
  await waitForLocks(schema);
  const gate = jobSpec({ due: { inMs: 3_600_000 } });
  await enqueue(gate, false);
  await stranger.query('BEGIN');
  await stranger.query(`SELECT 1 FROM ${schema}.jobs WHERE id = $1 FOR UPDATE`, [gate.id]);
  const spec = jobSpec(atOnce);
  const dedupe = { key: 'k', forMs: null, mode: 'drop', maxWaitMs: null } as const;
  const repeated = enqueue({ ...spec, dedupe, gates: [{ kind: 'parent', ref: gate.id }] }, true);
  await untilWaiting(1, stranger);
  await enqueue(spec, false);
  await runAll();
  await stranger.query('COMMIT');
  assert.equal((await repeated)?.status, 'COMPLETED');
  assert.deepEqual(await statuses(spec.id), ['COMPLETED']);
  assert.deepEqual(await ask(`SELECT 1 FROM ${schema}.dedupes`), []);
});

for (const isolation of ['REPEATABLE READ', 'SERIALIZABLE']) {
  it(`under ${isolation} a call whose job was created and ended since its snapshot fails as busy`, async (t) => {
    const { engine, stranger, enqueue, runAll, statuses } = await setup(t);
    await stranger.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    await stranger.query('SELECT 1');
    const spec = jobSpec(atOnce);
    await enqueue(spec, true);
    await runAll();
    const userTransaction = await engine.userTransaction?.(stranger);
    await assert.rejects(
      Promise.resolve(userTransaction?.enqueue({ repeat: true, groups: [{ jobs: [spec] }] })),
      (error) => isDulyError(error, 'store_busy'),
    );
    await stranger.query('ROLLBACK');
    assert.deepEqual(await statuses(spec.id), ['COMPLETED']);
  });
}

it('an id that is created twice at once is one job, however soon it ends', async () => {
  assert.deepEqual(await createPairs({ pairCount: 2_000, processCount: 1 }), { doubled: 0, startedTwice: 0 });
});
