// Only PostgreSQL has standbys: what was committed on the primary alone is seen there, and may be gone after a failover.

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { claimRequest, jobSpec, settlement } from '@duly/conformance/builders';
import { freshSchema, startPostgres } from '../../../../../test/servers/postgres.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import type { ClaimedJob, Engine, PutExpiringInput } from '../../../src/contract/engine.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/engine.ts';
import { ask, open } from './setup.ts';

// A server of its own: it loses its standby.
const server = await startPostgres({ durable: true });
after(() => server.stop());
const run = (text: string) => ask(text, [], server.url);

/** From now on a commit waits for a standby that is not there; or for none. */
async function waitForStandby(name: 'nobody' | ''): Promise<void> {
  await run(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await run('SELECT pg_reload_conf()');
  const settings = `SELECT 1 WHERE current_setting('synchronous_standby_names') = '${name}'`;
  while ((await run(settings)).length === 0);
}

/** Ends the session that waits for the standby: what it did is committed here, and nowhere else. */
async function endWaiting(): Promise<void> {
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  while ((await run(end)).length === 0);
}

/** Makes a call whose commit is cut short, and shows that it took effect here. */
async function cutShort(call: () => Promise<unknown>): Promise<void> {
  await waitForStandby('nobody');
  const lost = assert.rejects(
    call(),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === true,
  );
  await endWaiting();
  await lost;
}

async function isNotConfirmed(call: () => Promise<unknown>): Promise<void> {
  await assert.rejects(
    call(),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === true,
  );
}

it('a repeat of what only the primary has is not confirmed before the standby has it', async () => {
  // Three calls wait for the whole of it; a busy machine needs most of a second for a connection.
  const opened = await open({ schema: freshSchema(), connection: server.url, callMs: 3_000 });
  const engine: Engine = createPostgresEngine(opened);
  const spec = jobSpec({ due: { inMs: 0 } });
  const enqueue = (repeat: boolean) => engine.enqueue({ groups: [{ jobs: [spec] }], repeat });
  await cutShort(() => enqueue(false));
  assert.equal((await engine.get({ ids: [spec.id] })).jobs.length, 1, 'it is seen');
  await isNotConfirmed(() => enqueue(true));
  await waitForStandby('');
  assert.equal((await enqueue(true)).groups[0]?.ok, true);

  const claim = claimRequest();
  await cutShort(() => engine.exchange({ settle: [], claim }));
  await isNotConfirmed(() => engine.exchange({ settle: [], claim, repeat: true }));
  await waitForStandby('');
  const { claimed } = await engine.exchange({ settle: [], claim, repeat: true });
  assert.equal(claimed.length, 1);

  const settle = [settlement(claimed[0] as ClaimedJob, 'COMPLETED')];
  await cutShort(() => engine.exchange({ settle, claim: null }));
  await isNotConfirmed(() => engine.exchange({ settle, claim: null, repeat: true }));
  await waitForStandby('');
  assert.deepEqual((await engine.exchange({ settle, claim: null, repeat: true })).settled, ['done']);

  const change = (changed: PutExpiringInput['groups'][number]['changes'][number]) =>
    engine.putExpiring({ groups: [{ actor: 'key:anna', changes: [changed] }] });
  const value = { name: 'tokens', key: 'a' };
  const cleanup = jobSpec({ type: 'cleanup', due: { inMs: 60_000 } });
  const put = () => change({ ...value, op: 'put', value: '1', due: { inMs: 60_000 }, cleanup });
  await cutShort(put);
  // Without the value's row, a repeated put writes nothing.
  await cutShort(() => change({ ...value, op: 'delete' }));
  await isNotConfirmed(put);
  await waitForStandby('');
  assert.equal((await put()).groups[0]?.ok, true);
  await engine.close();
});
