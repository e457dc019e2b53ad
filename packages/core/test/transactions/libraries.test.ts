// The same transactions begun by other libraries. They are not among the repository's own packages but installed into the folder beside, where
// the npm registry can be reached.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { installBeside } from '../../../../test/install-beside.ts';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { Duly } from '../../src/duly.ts';
import { functionSet } from '../../src/engines/postgres/generated.ts';

const url = await testPostgresUrl();
const pool = new pg.Pool({ connectionString: url, max: 4 });
// The server may end before the pool does.
pool.on('error', () => {});
after(() => pool.end());

// Each library has types of its own, and none of them is installed where types are checked.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Library = Record<string, any>;

const require = createRequire(new URL('./libraries/package.json', import.meta.url));

async function load(name: string): Promise<Library> {
  return (await import(pathToFileURL(require.resolve(name)).href)) as Library;
}

/** Begins a transaction, runs `inside` with it, and commits it; what `inside` throws rolls it back. */
type Begin = (inside: (tx: unknown) => Promise<void>) => Promise<void>;

const libraries: Record<string, { needs: string[]; begin(t: TestContext, found: Library[]): Begin }> = {
  'postgres.js': {
    needs: ['postgres'],
    begin(t, [postgres]) {
      const sql = postgres?.default(url, { max: 2, onnotice() {} });
      t.after(() => sql.end());
      return (inside) => sql.begin(inside);
    },
  },
  Kysely: {
    needs: ['kysely'],
    begin(_t, [kysely]) {
      const db = new (kysely as Library).Kysely({
        dialect: new (kysely as Library).PostgresDialect({ pool }),
      });
      return (inside) => db.transaction().execute(inside);
    },
  },
  'Kysely with plugins': {
    needs: ['kysely'],
    begin(_t, [kysely]) {
      const { Kysely, PostgresDialect, CamelCasePlugin, ParseJSONResultsPlugin } = kysely as Library;
      const plugins = [new ParseJSONResultsPlugin(), new CamelCasePlugin({ upperCase: true })];
      const db = new Kysely({ dialect: new PostgresDialect({ pool }), plugins });
      return (inside) => db.transaction().execute(inside);
    },
  },
  'Knex with answers of its own': {
    needs: ['knex'],
    begin(t, [knex]) {
      const upper = (row: object) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toUpperCase(), value]));
      const db = knex?.default({
        client: 'pg',
        connection: url,
        postProcessResponse: ({ rows }: { rows: object[] | undefined }) => rows?.map(upper) ?? [],
      });
      t.after(() => db.destroy());
      return (inside) => db.transaction(inside);
    },
  },
  Knex: {
    needs: ['knex'],
    begin(t, [knex]) {
      const db = knex?.default({ client: 'pg', connection: url });
      t.after(() => db.destroy());
      return (inside) => db.transaction(inside);
    },
  },
  'Drizzle over pg': {
    needs: ['drizzle-orm/node-postgres'],
    begin(_t, [drizzle]) {
      const db = drizzle?.drizzle(pool);
      return (inside) => db.transaction(inside);
    },
  },
  'Drizzle over postgres.js': {
    needs: ['drizzle-orm/postgres-js', 'postgres'],
    begin(t, [drizzle, postgres]) {
      const sql = postgres?.default(url, { max: 2, onnotice() {} });
      t.after(() => sql.end());
      const db = drizzle?.drizzle(sql);
      return (inside) => db.transaction(inside);
    },
  },
  Prisma: {
    needs: ['@prisma/client/runtime/client', '@prisma/adapter-pg'],
    begin(t, [runtime, adapter]) {
      const { PrismaPg } = adapter as Library;
      const client = new (prismaClientOf(runtime as Library))({
        adapter: new PrismaPg({ connectionString: url }),
      });
      t.after(() => client.$disconnect());
      return (inside) => client.$transaction(inside);
    },
  },
};

/** What `prisma generate` writes for a schema without models: its own program would fetch binaries that no registry has. */
function prismaClientOf(runtime: Library) {
  const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';
  return runtime.getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: '0',
    activeProvider: 'postgresql',
    inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: () => load(`${compiler}.mjs`),
      async getQueryCompilerWasmModule() {
        const { wasm } = await load(`${compiler}.wasm-base64.mjs`);
        // Not among the types of Node itself.
        const { WebAssembly } = globalThis as Library;
        return new WebAssembly.Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  });
}

const missing = installBeside(new URL('./libraries/', import.meta.url));

for (const [name, { needs, begin }] of Object.entries(libraries)) {
  const skip = missing !== null && missing;

  test(`${name}: jobs, schedules and completions belong to its transactions`, { skip }, async (t) => {
    const found = await Promise.all(needs.map(load));
    const schema = freshSchema();
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const duly = new Duly({ store: inSchema(url, schema), logger });
    await duly.open();
    await pool.query(`SELECT ${schema}.keep_days_f${functionSet.number}(NULL, 9)`);
    t.after(async () => {
      await duly.stop({ drain: 0 });
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    const transaction = begin(t, found);
    let code: unknown = null;
    const hello = duly.task({
      name: 'hello',
      retry: 1,
      run: async ({ input, job, completeIn }) => {
        if (input === 'lost') {
          await pool.query(`UPDATE ${schema}.leases SET fence = fence + 1000 WHERE id = $1`, [job.id]);
        }
        await transaction((tx) =>
          completeIn(tx, { said: input }).catch((error) => {
            code = error.code;
            throw error;
          }),
        );
      },
    });
    const count = async () =>
      (await duly.jobs().page()).jobs.length + (await duly.schedules.list()).schedules.length;
    const create = async (tx: unknown) => {
      await hello.now('plain ? $1', { tx });
      await hello.nowMany(['a', 'b'], (input) => ({ tx, dedupe: { key: String(input) }, serial: 'one' }));
      await hello.every('0 8 * * *', 'x', { name: 'daily', tx });
      assert.equal(await count(), 0);
    };
    const undone = new Error('undone');
    await assert.rejects(
      transaction(async (tx) => {
        await create(tx);
        throw undone;
      }),
      (error) => error === undone,
    );
    assert.equal(await count(), 0);
    let over: unknown;
    await transaction(async (tx) => {
      over = tx;
      await create(tx);
    });
    assert.equal(await count(), 4);
    // One that is there is looked at, with its jobs, before it is changed.
    await transaction((tx) => hello.every('0 8 * * *', 'y ? $1', { name: 'daily', tx }).then(() => {}));
    assert.equal(await count(), 4);
    assert.equal((await duly.schedules.get('daily')).input, 'y ? $1');
    await assert.rejects(hello.now('late', { tx: over }), { code: 'tx_not_open' });
    assert.equal(await count(), 4, 'what comes after the commit is not kept either');

    let left = 3;
    const ended = duly.next('job.settled', () => --left === 0);
    await duly.start({ signals: false });
    await ended;
    for (const job of (await duly.jobs().page()).jobs) {
      assert.equal(job.status, 'COMPLETED');
      assert.deepEqual(job.result, { said: job.input });
    }
    const lost = duly.next('job.lost');
    await hello.now('lost');
    await lost;
    assert.equal(code, 'lease_lost');
  });
}
