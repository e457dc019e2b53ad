import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import pg from 'pg';
import { testPostgresUrl } from '../../../test/servers/postgres.ts';
import { createFolder } from './command.ts';

const server = await testPostgresUrl();

test('bench measures in a place of its own and leaves nothing behind, on a file and on a server', async (t) => {
  const folder = createFolder(t);
  const reported = await folder.json('bench', '--jobs', '200');
  assert.equal(reported.jobs, 200);
  for (const [name, value] of Object.entries(reported).filter(([name]) => /_per_second$|_ms_/.test(name)))
    assert.ok((value as number) > 0, name);
  assert.deepEqual(readdirSync(folder.path), []);
  const shown = await folder.duly('bench', '--jobs', '100', '--store', server);
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /^WHAT +FIGURE\n/);
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  t.after(() => client.end());
  const { rows } = await client.query(
    "SELECT 1 FROM information_schema.schemata WHERE schema_name LIKE 'duly_bench_%'",
  );
  assert.deepEqual(rows, []);
  const few = await folder.duly('bench', '--jobs', '10');
  assert.equal(few.code, 2);
});
