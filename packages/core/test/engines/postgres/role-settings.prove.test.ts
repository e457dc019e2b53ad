// What people set for the roles of their programs: every statement of ours must bear it, or say what ended it. Only PostgreSQL has roles.

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { claimRequest, jobSpec, settlement } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { ask, untilWaiting, url } from './setup.ts';

const [{ number }] = (await ask("SELECT current_setting('server_version_num')::int AS number")) as [
  { number: number },
];

/** A new store of a role with these settings, and somebody who keeps rows of it. */
async function setup(t: TestContext, settings: Record<string, string>) {
  const role = freshSchema();
  await ask(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'set'`);
  for (const [name, value] of Object.entries(settings))
    await ask(`ALTER ROLE ${role} SET ${name} = '${value}'`);
  const address = Object.assign(new URL(url), { username: role, password: 'set' });
  const engine = await openEngine(inSchema(address.href, role));
  const stranger = new pg.Client({ connectionString: url });
  await stranger.connect();
  t.after(async () => {
    await stranger.end();
    await engine.close();
  });
  const sessions = async () =>
    (await ask('SELECT 1 FROM pg_stat_activity WHERE usename = $1', [role])).length;
  return { schema: role, engine, stranger, sessions };
}

it('a statement that statement_timeout ends is store_busy and names it; nothing was kept, and the next one goes through', async (t) => {
  // The migration takes longer than this, and has a limit of its own.
  const { schema, engine, stranger } = await setup(t, { statement_timeout: '150ms' });
  const isEnded = (error: unknown) =>
    isDulyError(error, 'store_busy') &&
    error.details.sqlState === '57014' &&
    error.message.includes('statement timeout');
  const spec = jobSpec({ due: { inMs: 0 } });
  const create = () => engine.enqueue({ groups: [{ jobs: [spec] }] });
  await stranger.query(`BEGIN; LOCK TABLE ${schema}.jobs IN ACCESS EXCLUSIVE MODE`);
  await assert.rejects(create(), isEnded);
  await assert.rejects(engine.get({ ids: [spec.id] }), isEnded);
  await assert.rejects(engine.exchange({ settle: [], claim: claimRequest() }), isEnded);
  await stranger.query('COMMIT');
  assert.deepEqual((await engine.get({ ids: [spec.id] })).jobs, [null]);
  await create();
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  assert.deepEqual(
    claimed.map(({ id }) => id),
    [spec.id],
  );
});

it('lock_timeout of the role does not shorten the waiting of verbs that write', async (t) => {
  const { schema, engine, stranger } = await setup(t, { lock_timeout: '10ms' });
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  await stranger.query(`BEGIN; SELECT 1 FROM ${schema}.jobs FOR UPDATE`);
  const cancelling = engine.cancel({
    groups: [{ targets: [{ id: spec.id }], actor: 'test', mode: 'ask', note: null }],
  });
  await untilWaiting(1, stranger);
  await stranger.query('SELECT pg_sleep(0.1)');
  await stranger.query('COMMIT');
  await cancelling;
  assert.equal((await engine.get({ ids: [spec.id] })).jobs[0]?.status, 'CANCELLED');
});

it('sessions that the server ends because they are idle are followed by others', {
  skip: number < 140_000 && 'idle_session_timeout came with PostgreSQL 14',
}, async (t) => {
  const idle = { idle_session_timeout: '50ms', idle_in_transaction_session_timeout: '50ms' };
  const { engine, sessions } = await setup(t, idle);
  for (let round = 0; round < 3; round++) {
    const spec = jobSpec({ due: { inMs: 0 } });
    await engine.enqueue({ groups: [{ jobs: [spec] }] });
    const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
    while ((await sessions()) > 0);
    const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
    const { settled } = await engine.exchange({ settle, claim: null });
    assert.deepEqual(settled, ['done']);
  }
});
