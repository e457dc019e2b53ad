// A newer release adds columns, tables and functions of its own while this one still runs (docs/internals/postgres.md).
// Not part of the shared suite, because how a store grows is specific to each engine.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { playRandom } from '@duly/conformance';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { schemaVersion } from '../../../src/engines/postgres/migrate.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { openStore } from '../../../src/store/thread/open-store.ts';
import { ask, url } from './setup.ts';

/** What the next release would do: every table grows, and the store says so. */
async function expand(schema: string): Promise<void> {
  const tables = await ask(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
    [schema],
  );
  const grow = tables.map(({ name }) => `ALTER TABLE ${schema}.${name} ADD COLUMN of_the_next_release text`);
  await ask(`BEGIN; ${grow.join(';')}; COMMIT`);
  await ask(`UPDATE ${schema}.meta SET value = value + 1 WHERE key = 'schema_version'`);
}

it('this release goes on while the next one has added columns to every table, and may be started anew', async () => {
  const schema = freshSchema();
  const before = await openEngine(inSchema(url, schema));
  // Used before, so that what its connections remember of the tables is from then.
  await before.enqueue({ groups: [] });
  await before.counts({ cap: 1 });
  await expand(schema);
  const { from, to, steps } = await before.migrate({ dryRun: false });
  assert.deepEqual([from, to, steps], [schemaVersion + 1, schemaVersion, []]);
  const after = await openEngine(inSchema(url, schema));
  const { engine: reference } = await openStore('sqlite::memory:');
  await playRandom({ engine: before, reference, seed: 5, steps: 200 });
  await Promise.all([before, after, reference].map((engine) => engine.close()));
});

it('once the next release has taken away what this one needs, this one is refused', async () => {
  const schema = freshSchema();
  await (await openEngine(inSchema(url, schema))).close();
  await expand(schema);
  await ask(`UPDATE ${schema}.meta SET value = $1 WHERE key = 'lowest_set'`, [functionSet.number + 1]);
  await assert.rejects(openEngine(inSchema(url, schema)), (error) => isDulyError(error, 'schema_too_new'));
});
