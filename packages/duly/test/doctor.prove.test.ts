import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { startPostgres } from '../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../test/servers/tcp-proxy.ts';
import { createFolder } from './command.ts';

// A server of its own: it is harmed.
const server = await startPostgres({ durable: true });
after(() => server.stop());

async function ask(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

test('doctor tells the truth while the server is well, confirms nothing, is silent and is gone', async (t) => {
  const folder = createFolder(t);
  const proxy = await startTcpProxy(server.port);
  t.after(() => proxy.stop());
  const store = throughPort(server.url, proxy.port);
  folder.env.DULY_STORE = store;
  const up = folder.start('up', '--demo', '--store', server.url);
  await up.line(/flaky_email failed in attempt 1/);

  const well = await folder.duly('doctor');
  assert.equal(well.code, 0, `${well.out}${well.err}`);
  assert.match(well.out, /^ok {7}store .* answers/m);
  assert.match(well.out, /^ok {7}writes .*It confirms writes/m);
  assert.match(well.out, /^ok {7}nodes .*1 live\./m);
  assert.match(well.out, /^ok {7}synchronous_commit +synchronous_commit = on\.$/m);
  assert.match(well.out, /^note {5}statement_timeout .*\n +ALTER ROLE /m);

  // Connections are accepted and everything can be read: only a write shows it.
  await ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", 'SELECT pg_reload_conf()');
  const listed = await folder.duly('jobs', 'ls');
  assert.equal(listed.code, 0, listed.err);
  const mute = await folder.json('doctor', '--patience', '1s');
  assert.equal(mute.state, 'failing');
  const writes = mute.checks.find((one: { name: string }) => one.name === 'writes');
  assert.equal(writes.state, 'failing');
  assert.match(writes.message, /answers, but confirms no writes: nothing came within 1 s/);
  const standby = mute.settings.find((one: { name: string }) => one.name === 'replication');
  assert.equal(standby.state, 'failing');
  assert.equal((await folder.duly('doctor', '--patience', '1s')).code, 5);
  await ask("ALTER SYSTEM SET synchronous_standby_names = ''", 'SELECT pg_reload_conf()');

  // It answers, and what it says is that it takes nothing.
  await ask('ALTER SYSTEM SET default_transaction_read_only = on', 'SELECT pg_reload_conf()');
  const refused = await folder.duly('doctor');
  assert.equal(refused.code, 5, refused.out);
  assert.match(refused.out, /^failing {2}store .*cannot be used.*takes no writes/m);
  await ask(
    'SET default_transaction_read_only = off',
    'ALTER SYSTEM SET default_transaction_read_only = off',
    'SELECT pg_reload_conf()',
  );

  proxy.freeze();
  const silent = await folder.duly('doctor', '--patience', '1s');
  assert.equal(silent.code, 5, silent.out);
  assert.match(silent.out, /^failing {2}store .*does not answer: nothing came within 1 s/m);
  proxy.thaw();

  up.signal('SIGTERM');
  await up.ended;
  const alone = await folder.duly('doctor');
  assert.equal(alone.code, 1, alone.out);
  assert.match(alone.out, /^failing {2}nodes .*No node is live/m);

  await server.halt('immediate');
  const gone = await folder.duly('doctor');
  assert.equal(gone.code, 5, gone.out);
  assert.match(gone.out, /^failing {2}store .*does not answer/m);
  const { password } = new URL(server.url);
  for (const { out, err } of [well, silent, alone, gone]) assert.ok(!`${out}${err}`.includes(password));
});
