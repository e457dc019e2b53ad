// What a look at a store finds is made to happen on a real server.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { startPgBouncer } from '../../../../../test/servers/pgbouncer.ts';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { examinePostgres } from '../../../src/engines/postgres/examine.ts';
import type { StoreExamination } from '../../../src/engines/shared/setting-check.ts';
import { examineStore } from '../../../src/store/examine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { parseStoreAddress } from '../../../src/store/store-url.ts';
import { ask, url } from './setup.ts';

const schema = freshSchema();
const store = inSchema(url, schema);
await (await openEngine(store)).close();

const settings = (text: string) => `${store}&options=${encodeURIComponent(text)}`;
const find = ({ checks }: StoreExamination, name: string) => checks.filter((one) => one.name === name);
const stateOf = (examination: StoreExamination, name: string) => find(examination, name)[0]?.state;

it('settings that weaken promises are found, each with its hint, and what is well is said too', async () => {
  const found = await examineStore(store);
  assert.equal(found.state, 'warning');
  assert.ok(!JSON.stringify(found).includes(new URL(url).password));
  // The server of the tests forgets everything on purpose.
  assert.deepEqual(
    [
      'fsync',
      'full_page_writes',
      'synchronous_commit',
      'version',
      'standby',
      'clock',
      'schema',
      'listen',
    ].map((check) => stateOf(found, check)),
    ['warning', 'warning', 'warning', 'ok', 'ok', 'ok', 'ok', 'ok'],
  );
  for (const { state, hint, name } of found.checks) {
    if (state === 'failing' || state === 'warning') assert.ok(hint, name);
  }
});

it('what the role sets is what counts', async () => {
  const found = await examineStore(
    settings('-c synchronous_commit=on -c statement_timeout=1000 -c default_transaction_read_only=on'),
  );
  assert.equal(stateOf(found, 'synchronous_commit'), 'ok');
  assert.equal(stateOf(found, 'statement_timeout'), 'warning');
  assert.equal(stateOf(found, 'standby'), 'failing');
  assert.equal(stateOf(found, 'jit'), undefined);
  const isolated = await examineStore(
    settings('-c default_transaction_isolation=serializable -c array_nulls=off -c enable_nestloop=off'),
  );
  assert.equal(stateOf(isolated, 'isolation'), 'failing');
  assert.equal(stateOf(isolated, 'array_nulls'), 'failing');
  // Only a server with LLVM beside it compiles.
  const [{ jit }] = (await ask('SELECT pg_jit_available() AS jit')) as [{ jit: boolean }];
  assert.equal(stateOf(isolated, 'jit'), jit ? 'warning' : undefined);
  assert.equal(stateOf(await examineStore(settings('-c enable_nestloop=off -c jit=off')), 'jit'), undefined);
});

it('a transaction that stays open is found, and what the hint says ends it', async (t) => {
  const address = parseStoreAddress(store);
  assert.ok(address.kind === 'postgres');
  const look = async () => {
    const options = { ...address, clock: systemClock, random: systemRandom, transactionMsMax: 1 };
    const examined = await examinePostgres(options);
    return find(examined, 'transactions').filter(({ message }) => message.includes(`${schema} idle`));
  };
  const stranger = new pg.Client({ connectionString: url, application_name: schema });
  const ended = new Promise((resolve) => stranger.on('error', resolve));
  await stranger.connect();
  t.after(() => stranger.end().catch(() => {}));
  await stranger.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await stranger.query('SELECT 1');
  const [reported] = await look();
  assert.equal(reported?.state, 'warning');
  const fix = /^SELECT pg_terminate_backend\(\d+\)/.exec(reported.hint ?? '')?.[0] as string;
  await ask(fix);
  await ended;
  assert.deepEqual(await look(), []);
});

it('autovacuum that is switched off for a table is found', async () => {
  await ask(`ALTER TABLE ${schema}.jobs SET (autovacuum_enabled = false)`);
  const found = find(await examineStore(store), 'autovacuum').find(({ state }) => state === 'warning');
  assert.match(found?.message ?? '', /jobs/);
  await ask(found?.hint ?? '');
  assert.ok(find(await examineStore(store), 'autovacuum').every(({ state }) => state === 'ok'));
});

it('behind a pooler in transaction mode notifications do not arrive, and it is said', async () => {
  const bouncer = await startPgBouncer(url);
  try {
    const found = await examineStore(inSchema(bouncer.url, schema));
    assert.equal(stateOf(found, 'listen'), 'warning');
    assert.match(find(found, 'listen')[0]?.hint ?? '', /add \?listenUrl=/);
    const beside = (to: URL) => `${inSchema(bouncer.url, schema)}&listenUrl=${encodeURIComponent(to.href)}`;
    const through = await examineStore(beside(new URL(bouncer.url)));
    assert.match(find(through, 'listen')[0]?.message ?? '', /over "listenUrl", which leads to/);
    const denied = await examineStore(beside(Object.assign(new URL(url), { password: 'wrong' })));
    assert.match(
      find(denied, 'listen')[0]?.message ?? '',
      /cannot be created \(password authentication failed/,
    );
    assert.match(find(denied, 'listen')[0]?.hint ?? '', /Check "listenUrl"/);
    assert.equal(stateOf(await examineStore(beside(new URL(url))), 'listen'), 'ok');
  } finally {
    await bouncer.stop();
  }
});

it('a clock that is an hour off is told, and does not matter more than that', async () => {
  const hourMs = 3_600_000;
  for (const [offMs, word] of [
    [hourMs, 'ahead of'],
    [-hourMs, 'behind'],
  ] as const) {
    const found = await examineStore(store, { ...systemClock, now: () => systemClock.now() + offMs });
    const [clock] = find(found, 'clock');
    assert.equal(clock?.state, 'warning');
    assert.match(clock?.message ?? '', new RegExp(`1 h ${word}`));
  }
});

it('a store that is not there, and a server that is not there, are findings', async () => {
  const none = await examineStore(inSchema(url, freshSchema()));
  assert.equal(stateOf(none, 'schema'), 'failing');
  const away = await examineStore('postgres://duly@127.0.0.1:1/duly');
  assert.equal(stateOf(away, 'store_unavailable'), 'failing');
  const old = freshSchema();
  await (await openEngine(inSchema(url, old))).close();
  await ask(`UPDATE ${old}.meta SET value = 99 WHERE key = 'lowest_set'`);
  const newer = await examineStore(inSchema(url, old));
  assert.equal(stateOf(newer, 'schema'), 'failing');
});
