import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { claimRequest, jobSpec, settlement } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema, inSchema, startPostgres } from '../../../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../../../test/servers/tcp-proxy.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { schemaVersion } from '../../../src/engines/postgres/migrate.ts';
import { abandonMove, moveStore } from '../../../src/operations/transfer.ts';
import { examineStore } from '../../../src/store/examine.ts';
import { openEngine, readSchemaStatus } from '../../../src/store/open-engine.ts';
import { withoutPassword } from '../../../src/store/store-url.ts';
import { ask, open, url } from './setup.ts';

async function tablesOf(schema: string): Promise<number> {
  const [row] = await ask(
    "SELECT count(*)::int AS n FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')",
    [schema],
  );
  return row?.n;
}

it('opening an empty database makes the schema; opening it again changes nothing', async () => {
  const schema = freshSchema();
  const first = await open({ schema });
  assert.equal(first.info.kind, 'postgres');
  assert.match(first.info.version, /^\d+/);
  assert.ok(first.info.place.endsWith(`/duly?schema=${schema}`));
  assert.ok(!first.info.place.includes(new URL(url).password));
  assert.deepEqual(await first.migrate({ dryRun: false }), { from: schemaVersion, steps: [] });
  await first.close();
  const created = await tablesOf(schema);
  assert.ok(created > 10);
  await (await open({ schema })).close();
  assert.equal(await tablesOf(schema), created);
});

it('a store that is opened without migrating is left as it is, and says what is missing', async () => {
  const schema = freshSchema();
  const store = await open({ schema, migrate: 'never' });
  const plan = await store.migrate({ dryRun: true });
  assert.equal(plan.from, 0);
  assert.equal(plan.steps[0], 'initial');
  assert.equal(await tablesOf(schema), 0);
  assert.deepEqual(await store.migrate({ dryRun: false }), plan);
  assert.ok((await tablesOf(schema)) > 10);
  await store.close();
});

it('a store whose functions are older gets them anew and loses nothing', async () => {
  const schema = freshSchema();
  const before = await openEngine(inSchema(url, schema));
  const job = jobSpec({ due: { inMs: 0 } });
  await before.enqueue({ groups: [{ jobs: [job] }] });
  await before.close();
  // As a store has it whose functions were edited since. One of them is gone.
  await ask(`DROP FUNCTION ${schema}.reap_f${functionSet.number}; DROP FUNCTION ${schema}.take_ids_f${functionSet.number};
    CREATE FUNCTION ${schema}.reap_f${functionSet.number}(bigint, bigint, integer) RETURNS text LANGUAGE sql AS $$ SELECT 'old' $$;
    CREATE FUNCTION ${schema}.mine() RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$;
    UPDATE ${schema}.meta SET value = value - 1 WHERE key = 'functions_${functionSet.number}';
    DELETE FROM ${schema}.meta WHERE key = 'released_${functionSet.number}'`);
  const [id] = await ask(`SELECT value FROM ${schema}.meta WHERE key = 'store'`);
  const after = await openEngine(inSchema(url, schema));
  assert.deepEqual((await after.reap({ node: 'node-a', leaseMs: 1_000, limit: 10 })).jobs, []);
  await after.enqueue({ groups: [{ jobs: [job] }], repeat: true });
  const { claimed } = await after.exchange({ settle: [], claim: claimRequest() });
  assert.deepEqual(
    claimed.map((one) => one.id),
    [job.id],
  );
  await after.close();
  assert.deepEqual(await ask(`SELECT value FROM ${schema}.meta WHERE key = 'store'`), [id]);
  assert.deepEqual(await ask(`SELECT ${schema}.mine()`), [{ mine: 'mine' }]);
});

it('a released function set is not replaced by another text of the same number', async () => {
  const schema = freshSchema();
  await (await open({ schema })).close();
  const { number, hash, isReleased } = functionSet;
  assert.equal((await setsOf(schema)).meta.has(`released_${number}`), isReleased);
  await ask(`UPDATE ${schema}.meta SET value = value - 1 WHERE key = 'functions_${number}';
    INSERT INTO ${schema}.meta (key, value) VALUES ('released_${number}', 1) ON CONFLICT DO NOTHING`);
  const store = await open({ schema, migrate: 'never' });
  for (const call of [() => open({ schema }), () => store.migrate({ dryRun: false })])
    await assert.rejects(
      call,
      (error) =>
        isDulyError(error, 'schema_too_new') && error.hint?.includes('Run the release that created') === true,
    );
  await store.close();
  assert.equal((await setsOf(schema)).meta.get(`functions_${number}`), hash - 1);
});

/** The functions of each set that a schema has, without the number, and what the store says about itself. */
async function setsOf(schema: string): Promise<{ sets: Map<number, string[]>; meta: Map<string, number> }> {
  const sets = new Map<number, string[]>();
  const named = await ask(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = $1::text::regnamespace
     UNION ALL SELECT viewname FROM pg_views WHERE schemaname = $1 ORDER BY 1`,
    [schema],
  );
  for (const { name } of named) {
    const [, base = '', set] = /^(.*)_f(\d+)$/.exec(name) ?? [];
    sets.set(Number(set), [...(sets.get(Number(set)) ?? []), base].sort());
  }
  const meta = await ask(`SELECT key, value FROM ${schema}.meta WHERE key <> 'store'`);
  return { sets, meta: new Map(meta.map(({ key, value }) => [key, Number(value)])) };
}

/** Turns the functions of this code into those of an earlier release. */
async function renumberSet(schema: string, set: number): Promise<void> {
  await ask(`DO $$ DECLARE r record; BEGIN
    FOR r IN SELECT oid, proname FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace LOOP
      EXECUTE format('ALTER FUNCTION %s RENAME TO %I', r.oid::regprocedure, regexp_replace(r.proname, '_f[0-9]+$', '_f${set}'));
    END LOOP;
    FOR r IN SELECT viewname FROM pg_views WHERE schemaname = '${schema}' LOOP
      EXECUTE format('ALTER VIEW ${schema}.%I RENAME TO %I', r.viewname, regexp_replace(r.viewname, '_f[0-9]+$', '_f${set}'));
    END LOOP;
  END $$; UPDATE ${schema}.meta SET key = 'functions_${set}' WHERE key LIKE 'functions%'`);
}

it('functions are created beside those of the last release, and older ones that serve nobody are dropped', async () => {
  const schema = freshSchema();
  const { number } = functionSet;
  await (await open({ schema })).close();
  const fresh = await setsOf(schema);
  assert.deepEqual([...fresh.sets.keys()], [number]);
  assert.equal(fresh.meta.get('lowest_set'), number);
  // Code from before the first release had 18 migrations, and refuses what serves a higher number only.
  assert.equal(fresh.meta.get('lowest_code'), 1_000);

  // A store of the release before.
  await renumberSet(schema, number - 1);
  await ask(`UPDATE ${schema}.meta SET value = ${number - 1} WHERE key = 'lowest_set'`);
  const store = await open({ schema, migrate: 'never' });
  const steps = [`functions_${number}`];
  assert.deepEqual((await store.migrate({ dryRun: true })).steps, steps);
  assert.deepEqual((await store.migrate({ dryRun: false })).steps, steps);
  await store.close();
  const beside = await setsOf(schema);
  assert.deepEqual([...beside.sets.keys()].sort(), [number - 1, number].sort());
  assert.deepEqual(beside.sets.get(number), beside.sets.get(number - 1));
  assert.equal(beside.meta.get('lowest_set'), number - 1);
  assert.equal(beside.meta.get(`functions_${number}`), functionSet.hash);

  // A store whose lowest code was raised by the release before.
  await ask(`DELETE FROM ${schema}.meta WHERE key = 'functions_${number}';
    UPDATE ${schema}.meta SET value = ${number} WHERE key = 'lowest_set'`);
  await (await open({ schema })).close();
  assert.deepEqual([...(await setsOf(schema)).sets.keys()], [number]);
});

it('a node whose functions or views are gone hears that the store serves newer code only', async () => {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  const isTooNew = (error: unknown) => isDulyError(error, 'schema_too_new');
  await ask(`DROP VIEW ${schema}.over_f${functionSet.number} CASCADE`);
  await assert.rejects(engine.stats({ now: 1, sinceAt: 0, types: null }), isTooNew);
  await renumberSet(schema, functionSet.number + 1);
  await assert.rejects(engine.exchange({ settle: [], claim: claimRequest() }), isTooNew);
  await engine.close();
});

/** Two stores whose move stopped after both were fenced. The functions are those of another release. */
async function fencePair(): Promise<{ source: string; from: string; to: string }> {
  const [source, target] = [freshSchema(), freshSchema()];
  const [from, to] = [inSchema(url, source), inSchema(url, target)];
  const leaving = await openEngine(from);
  await leaving.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const step = { move: 'move-a', counters: null };
  await leaving.transfer({ ...step, step: 'leave', place: withoutPassword(to) });
  await leaving.close();
  const arriving = await openEngine(to);
  await arriving.transfer({ ...step, step: 'arrive', place: withoutPassword(from) });
  await arriving.close();
  // So that the move has to write when the store was pruned.
  await ask(`INSERT INTO ${source}.meta (key, value) VALUES ('pruned_created_at', 1)`);
  for (const schema of [source, target]) await renumberSet(schema, functionSet.number + 1);
  return { source, from, to };
}

it('a store that a move fences opens with any function set, and the move can be abandoned', async () => {
  const { source, from, to } = await fencePair();
  const fenced = await openEngine(from);
  assert.deepEqual((await fenced.migrate({ dryRun: false })).steps, []);
  assert.equal((await setsOf(source)).meta.has(`functions_${functionSet.number}`), false);
  for (const call of [
    () => fenced.counts({ cap: 1 }),
    () => fenced.exchange({ settle: [], claim: claimRequest() }),
  ])
    await assert.rejects(call, (error) => isDulyError(error, 'store_moved'));
  await fenced.close();
  // What a program creates beside the fenced tables keeps its name.
  await ask(`CREATE TABLE ${source}.of_a_program (n int)`);
  assert.equal(await abandonMove({ from, to }), true);
  await ask(`SELECT n FROM ${source}.of_a_program`);
  const after = await openEngine(from);
  const { claimed } = await after.exchange({ settle: [], claim: claimRequest() });
  assert.equal(claimed.length, 1);
  await after.close();
});

it('a move that another release began is completed', async () => {
  const { from, to } = await fencePair();
  assert.equal((await moveStore({ from, to })).result, 'moved');
  const arrived = await openEngine(to);
  const { claimed } = await arrived.exchange({ settle: [], claim: claimRequest() });
  assert.equal(claimed.length, 1);
  await arrived.close();
});

it('processes that migrate at once do it once', async () => {
  const schema = freshSchema();
  const child = fileURLToPath(new URL('./fixtures/migrate-child.ts', import.meta.url));
  const run = async (): Promise<{ from: number; steps: string[] }> => {
    const running = spawn(process.execPath, [child, url, schema], { stdio: ['pipe', 'pipe', 'inherit'] });
    const output = text(running.stdout);
    started.push(() => running.stdin.end());
    const [code] = await once(running, 'exit');
    assert.equal(code, 0);
    return JSON.parse(await output);
  };
  const started: (() => void)[] = [];
  const runs = [run(), run(), run()];
  // All are up and wait for this before they begin.
  for (const begin of started) begin();
  const plans = await Promise.all(runs);
  assert.equal(plans.filter(({ steps }) => steps.length > 0).length, 1, 'one of them did it');
  const [row] = await ask(`SELECT value FROM ${schema}.meta WHERE key = 'schema_version'`);
  assert.equal(Number(row?.value), schemaVersion);
});

it('many openings of a new store in one process all succeed', async () => {
  const schema = freshSchema();
  const stores = await Promise.all(Array.from({ length: 8 }, () => open({ schema, poolSize: 1 })));
  await Promise.all(stores.map((store) => store.close()));
  assert.ok((await tablesOf(schema)) > 10);
});

it('a server that does not answer while a store is opened is given up after the time of a call', async () => {
  const schema = freshSchema();
  await (await open({ schema })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Nobody can read the version of the schema any more, as when the way there was cut just before it.
  await client.query(`BEGIN; LOCK TABLE ${schema}.meta IN ACCESS EXCLUSIVE MODE`);
  await assert.rejects(open({ schema, callMs: 300 }), (error) => isDulyError(error, 'store_unavailable'));
  await client.end();
});

it('who waits for the migration of somebody else notices that the server is gone', async () => {
  const schema = freshSchema();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`duly.migrate.${schema}`]);
  const way = await startTcpProxy(Number(new URL(url).port));
  const connection = `${throughPort(url, way.port)}?application_name=${schema}`;
  const opening = open({ schema, connection, callMs: 2_000 });
  const refused = assert.rejects(opening, (error) => isDulyError(error, 'store_unavailable'));
  const hasTried =
    "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query ~ 'advisory|ROLLBACK|COMMIT'";
  while ((await client.query(hasTried, [schema])).rows.length === 0);
  way.freeze();
  await refused;
  await client.end();
  await way.stop();
});

it('a schema that serves only newer code is refused and not touched', async () => {
  const schema = freshSchema();
  await (await open({ schema })).close();
  const next = schemaVersion + 1;
  await ask(`UPDATE ${schema}.meta SET value = $1 WHERE key = 'schema_version'`, [next]);
  // Newer, and still serves this code: a rolling deploy never stops.
  const beside = await open({ schema });
  assert.deepEqual(await beside.migrate({ dryRun: false }), { from: next, steps: [] });
  await beside.close();
  await ask(`UPDATE ${schema}.meta SET value = $1 WHERE key = 'lowest_set'`, [functionSet.number + 1]);
  await assert.rejects(
    open({ schema }),
    (error) =>
      isDulyError(error, 'schema_too_new') &&
      error.details.lowestCode === functionSet.number + 1 &&
      error.message.includes(`schema ${next} `),
  );
});

it('a store from before the first release is refused and not touched', async () => {
  const schema = freshSchema();
  await (await open({ schema })).close();
  await ask(`DELETE FROM ${schema}.meta WHERE key LIKE 'functions%'`);
  await ask(`UPDATE ${schema}.meta SET value = 18 WHERE key IN ('schema_version', 'lowest_code')`);
  for (const migrate of ['create', 'existing'] as const) {
    await assert.rejects(
      open({ schema, migrate }),
      (error) =>
        isDulyError(error, 'schema_too_old') &&
        error.hint?.includes(`DROP SCHEMA "${schema}"`) === true &&
        error.hint.includes('?schema='),
    );
  }
  await assert.rejects(readSchemaStatus(inSchema(url, schema)), (error) =>
    isDulyError(error, 'schema_too_old'),
  );
  const { checks } = await examineStore(inSchema(url, schema));
  assert.equal(checks.find(({ name }) => name === 'schema_too_old')?.state, 'failing');
  assert.deepEqual(await ask(`SELECT value FROM ${schema}.meta WHERE key = 'schema_version'`), [
    { value: '18' },
  ]);
});

it('a schema with somebody else’s tables is refused and not touched', async () => {
  const schema = freshSchema();
  await ask(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.meta (mine int)`);
  await assert.rejects(open({ schema }), (error) => isDulyError(error, 'store_not_a_database'));
  assert.equal(await tablesOf(schema), 1);
  // Names that many programs give their tables.
  await ask(`CREATE TABLE ${schema}.jobs (id int)`);
  await assert.rejects(open({ schema }), (error) => isDulyError(error, 'store_not_a_database'));
  await ask(`DROP TABLE ${schema}.meta; CREATE TABLE ${schema}.meta (key text, value text)`);
  await assert.rejects(open({ schema }), (error) => isDulyError(error, 'store_not_a_database'));
  assert.equal(await tablesOf(schema), 2);
});

it('a role that may not make tables uses a store that is created, and is told what to do about one that is not', async () => {
  const [created, missing] = [freshSchema(), freshSchema()];
  await (await open({ schema: created })).close();
  const role = `user_${created}`;
  await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'few'`);
  await ask(
    `GRANT USAGE ON SCHEMA ${created} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${created} TO ${role};
     GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${created} TO ${role}`,
  );
  const address = new URL(url);
  address.username = role;
  address.password = 'few';
  const engine = await openEngine(inSchema(address.href, created));
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
  assert.deepEqual((await engine.exchange({ settle, claim: null })).settled, ['done']);
  await engine.close();
  await assert.rejects(
    open({ schema: missing, connection: address.href }),
    (error) => isDulyError(error, 'store_denied') && error.hint?.includes('duly migrate') === true,
  );
});

it('a pool of the program’s own is used and not ended', async () => {
  const schema = freshSchema();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const store = await open({ schema, connection: pool });
  assert.ok(!store.info.place.includes(new URL(url).password));
  await store.close();
  assert.deepEqual((await pool.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
  await pool.end();
});

it('transactions that are read-only or isolated otherwise by default, and lists without NULL, are refused', async () => {
  const cases = [
    ['default_transaction_read_only = on', 'store_read_only'],
    ["default_transaction_isolation = 'serializable'", 'postgres_unsupported'],
    ['array_nulls = off', 'postgres_unsupported'],
  ] as const;
  for (const [setting, code] of cases) {
    const role = freshSchema();
    await ask(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'set'`);
    await ask(`ALTER ROLE ${role} SET ${setting}`);
    const address = new URL(url);
    address.username = role;
    address.password = 'set';
    await assert.rejects(open({ schema: role, connection: address.href }), (error) =>
      isDulyError(error, code),
    );
  }
});

it('a standby is refused, also for a store that is there', async () => {
  const primary = await startPostgres({ settings: { wal_level: 'replica', max_wal_senders: 4 } });
  const standby = await startPostgres({ settings: { hot_standby: 'on' }, cloneOf: primary });
  try {
    const schema = freshSchema();
    await (await open({ schema, connection: primary.url })).close();
    await assert.rejects(
      open({ schema, connection: standby.url }),
      (error) => isDulyError(error, 'store_read_only') && error.message.includes('standby'),
    );
  } finally {
    await standby.stop();
    await primary.stop();
  }
});

it('what endangers commits is warned of', async () => {
  const store = await open({ schema: freshSchema() });
  // The test server itself runs so.
  assert.ok(store.info.warnings.some((warning) => warning.includes('fsync=off')));
  assert.ok(store.info.warnings.some((warning) => warning.includes('synchronous_commit=off')));
  await store.close();
});
