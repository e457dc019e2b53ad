// A store that was brought to another server by pg_dump. Only PostgreSQL counts transactions, and the feed of changes goes by that count.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import { postgresPrograms } from '../../../../../test/servers/installed.ts';
import { freshSchema, inSchema, runProgram, startPostgres } from '../../../../../test/servers/postgres.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { ask, url } from './setup.ts';

async function create(engine: Engine): Promise<string> {
  const spec = jobSpec();
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  return spec.id;
}

/** The ids of all changes after a position, and the last position. */
async function changesAfter(engine: Engine, after: number) {
  const { changes, position } = await engine.changes({ after, limit: 1_000 });
  return { ids: changes.map(({ id }) => id), position };
}

it('the feed of a store that was restored on a server which has counted less goes on where it was, each change once', async (t) => {
  const schema = freshSchema();
  const target = await startPostgres();
  t.after(() => target.stop());
  const before = await openEngine(inSchema(url, schema));
  const [first, second] = [await create(before), await create(before)];
  const { ids, position } = await changesAfter(before, 0);
  assert.deepEqual(ids, [first, second]);
  // Every subtransaction that writes is counted. The source has counted further than the target will for a while.
  await ask(`CREATE TABLE ${schema}.counted (n int);
    DO $$ BEGIN FOR i IN 1..5000 LOOP
      BEGIN INSERT INTO ${schema}.counted VALUES (i); EXCEPTION WHEN OTHERS THEN RAISE; END;
    END LOOP; END $$;
    DROP TABLE ${schema}.counted`);
  const third = await create(before);
  assert.deepEqual((await changesAfter(before, position)).ids, [third]);
  // This one nobody has looked for when the dump is made.
  const fourth = await create(before);
  await before.close();

  const programs = postgresPrograms();
  const dump = join(target.folder, 'dump.sql');
  runProgram(join(programs, 'pg_dump'), [`--schema=${schema}`, `--file=${dump}`, url]);
  runProgram(join(programs, 'psql'), ['-q', '-v', 'ON_ERROR_STOP=1', '-f', dump, target.url]);
  const counted = async (address: string) =>
    Number((await ask('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS n', [], address))[0]?.n);
  assert.ok((await counted(target.url)) < (await counted(url)), 'the target has counted less');

  const after = await openEngine(inSchema(target.url, schema));
  t.after(() => after.close());
  const fifth = await create(after);
  assert.deepEqual((await changesAfter(after, 0)).ids, [first, second, third, fourth, fifth]);
  const sixth = await create(after);
  const all = await changesAfter(after, 0);
  assert.deepEqual(all.ids, [first, second, third, fourth, fifth, sixth]);
  // Nothing is new again when the target reaches the numbers of the source.
  await ask(
    `CREATE TABLE counted (n int);
    DO $$ BEGIN FOR i IN 1..15000 LOOP
      BEGIN INSERT INTO counted VALUES (i); EXCEPTION WHEN OTHERS THEN RAISE; END;
    END LOOP; END $$`,
    [],
    target.url,
  );
  const seventh = await create(after);
  assert.deepEqual((await changesAfter(after, all.position)).ids, [seventh]);
});
