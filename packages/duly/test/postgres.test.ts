import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { createFolder } from './command.ts';

const url = await testPostgresUrl();
const { password } = new URL(url);

async function hasSchema(name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS here', [name]);
  await client.end();
  return rows[0].here;
}

test('looking at a store that is not there says so and creates nothing', async (t) => {
  const folder = createFolder(t);
  const schema = freshSchema();
  for (const args of [['jobs', 'ls'], ['queues'], ['why', 'job_a'], ['pause', 'all']]) {
    const { code, err } = await folder.duly(...args, '--store', inSchema(url, schema));
    assert.equal(code, 5, args.join(' '));
    assert.match(err, /^error\[store_not_found\]: There is no store at postgres:\/\//);
    assert.ok(!err.includes(password));
  }
  assert.equal(await hasSchema(schema), false);
});

test('migrate status, migrate, and then everything else', async (t) => {
  const folder = createFolder(t);
  const store = inSchema(url, freshSchema());
  folder.env.DULY_STORE = store;
  const before = await folder.json('migrate', 'status');
  assert.deepEqual([before.schema, before.serves, before.steps[0]], [0, true, 'initial']);
  const reported = await folder.duly('migrate', 'status');
  assert.match(reported.out, /no schema yet; .*\nTo do it: .* migrate --store '?postgres:\/\/duly@/);
  const created = await folder.json('migrate');
  assert.deepEqual([created.created, created.schema], [true, before.known_schema]);
  assert.match(created.version, /^\d+/);
  const after = await folder.duly('migrate', 'status');
  assert.match(after.out, /: schema \d+, nothing left to do\.\n$/);
  const run = await folder.duly('run', 'mail', '"hello"');
  assert.equal(run.code, 0, run.err);
  const listed = await folder.json('jobs', 'ls');
  assert.deepEqual([listed.data.length, listed.data[0].type, listed.data[0].status], [1, 'mail', 'PENDING']);
  const why = await folder.duly('why', listed.data[0].id);
  assert.equal(why.code, 0, why.err);
  for (const { out, err } of [reported, after, run, why]) assert.ok(!`${out}${err}`.includes(password));
});

test('a node on PostgreSQL runs the demo, and nothing it prints holds the password', async (t) => {
  const folder = createFolder(t);
  const up = folder.start('up', '--demo', '--store', inSchema(url, freshSchema()));
  await up.line(/flaky_email failed in attempt 1 of 5/);
  up.signal('SIGTERM');
  const { code, out, err } = await up.ended;
  assert.equal(code, 0, err);
  assert.ok(!`${out}${err}`.includes(password));
  assert.match(out, /postgres:\/\/duly@127\.0\.0\.1/);
});
