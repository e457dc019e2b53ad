// Calls every function of the schema through the engine and counts the pages that each call reads. Plans are cached in a session, so the same
// calls before and after a store is filled show whether a plan depended on how full the tables were when it was made.

import assert from 'node:assert/strict';
import {
  claimRequest,
  day,
  dedupe,
  fireGroup,
  freshId,
  hour,
  jobSpec,
  lockRequest,
  lostSettlement,
  minute,
  nodeInfo,
  scheduleClaim,
  schedulePut,
  settlement,
  slotJob,
  slotRow,
  t0,
} from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema } from '../../../../../test/servers/postgres.ts';
import type { ClaimedJob, Engine } from '../../../src/contract/engine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { ask, url } from './setup.ts';

/** Pages read by the most expensive call of each function, by its name without the number. */
export type Pages = Map<string, number>;

/** How much a store holds. */
export interface Fill {
  leases: number;
  jobs: number;
  schedules: number;
}

/** A session of its own on a store, whose calls are counted. */
interface CountedSession {
  engine: Engine;
  /** What was read since the last call of this. */
  take(): Pages;
  close(): Promise<void>;
}

/** The functions with planner settings: all that a session calls again and again. */
async function plannedFunctions(schema: string): Promise<string[]> {
  const found = `SELECT proname AS name FROM pg_proc
    WHERE pronamespace = $1::regnamespace AND 'plan_cache_mode=force_generic_plan' = ANY (proconfig)`;
  return (await ask(found, [schema])).map(({ name }) => (name as string).replace(/_f\d+$/, ''));
}

const batch = 100;

/** Opens a session of its own: one connection that is never replaced. */
async function openCounted(schema: string): Promise<CountedSession> {
  let pages: Pages = new Map();
  const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
  const foundCall = new RegExp(`"${schema}"\\.found_f\\d+\\(`);
  const called = new RegExp(`^SELECT "${schema}"\\.(\\w+)_f\\d+\\(`);
  const reading = `SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0)::int AS n FROM pg_class WHERE relnamespace = '${schema}'::regnamespace`;
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (query: unknown) => Promise<pg.QueryResult>;
    const counted = async (asked: unknown): Promise<pg.QueryResult> => {
      const text = typeof asked === 'string' ? asked : (asked as { text: string }).text;
      const name = called.exec(text)?.[1] ?? (foundCall.test(text) ? 'found' : undefined);
      if (name === undefined) return query(asked);
      await query('BEGIN');
      try {
        // The counters of a session go on from one transaction to the next.
        const before = (await query(reading)).rows[0].n as number;
        const result = await query(asked);
        const read = ((await query(reading)).rows[0].n as number) - before;
        pages.set(name, Math.max(pages.get(name) ?? 0, read));
        await query('COMMIT');
        return result;
      } catch (error) {
        await query('ROLLBACK');
        throw error;
      }
    };
    Object.assign(client, { query: counted });
  });
  const engine = await openEngine({ pool, schema });
  return {
    engine,
    take() {
      const taken = pages;
      pages = new Map();
      return taken;
    },
    async close() {
      await engine.close();
      await pool.end();
    },
  };
}

/** Calls every verb that writes, and the reads that go by functions, with jobs of this type alone. */
async function callEverything(engine: Engine, type: string): Promise<void> {
  const now = t0;
  const spec = (fields: Parameters<typeof jobSpec>[0] = {}) => jobSpec({ type, ...fields });
  const many = <Value>(create: (i: number) => Value, count = batch) =>
    Array.from({ length: count }, (_, i) => create(i));
  const tasks = [{ type, version: 1, limit: 10 * batch }];
  const claim = (fields: Parameters<typeof claimRequest>[0] = {}) =>
    claimRequest({ tasks, limit: batch, leaseMs: minute, ...fields });
  const exchange = (settle: ReturnType<typeof settlement>[], claimed = true, at = now) =>
    engine.exchange({ now: at, settle, claim: claimed ? claim() : null });
  const drain = async (at = now): Promise<ClaimedJob[]> => {
    const taken: ClaimedJob[] = [];
    for (;;) {
      const { claimed } = await exchange([], true, at);
      if (claimed.length === 0) return taken;
      taken.push(...claimed);
    }
  };
  const done = (jobs: readonly ClaimedJob[]) =>
    exchange(
      jobs.map((job) => settlement(job, 'COMPLETED')),
      false,
    );

  // Plain jobs: of one kind, of several, taken with the call, settled together with the next claim.
  await engine.enqueue({ now, groups: [{ jobs: many(() => spec()) }] });
  await engine.enqueue({
    now,
    groups: [{ jobs: many((i) => spec({ priority: i % 3, tenant: `tenant-${i}` })) }],
  });
  const running = await engine.enqueue({ now, groups: [{ jobs: [spec()] }], claim: claim() });
  const first = [...(running.claimed ?? []), ...(await drain())];
  await engine.heartbeat({
    now,
    node: 'node-a',
    leaseMs: minute,
    leases: first.map(({ id, fence }) => ({ id, fence, begun: true })),
  });
  await engine.report({
    now,
    reports: first.slice(0, 10).map(({ id, fence }) => ({
      ...{ id, fence, progress: { percent: 50, message: 'half', step: 1, of: 2 } },
      logs: [{ line: 1, at: now, level: 'info' as const, message: 'a line' }],
    })),
    logLimit: 1_000,
  });
  await engine.get({ now, ids: first.slice(0, 10).map(({ id }) => id) });
  await engine.remember({
    now,
    scope: `job:${first[0]?.id}`,
    key: 'step',
    put: {
      value: '1',
      forMs: null,
      guard: { job: first[0]?.id as string, fence: first[0]?.fence as number },
    },
  });
  await exchange(first.map((job) => settlement(job, 'COMPLETED')));

  // Jobs with keys, places, gates and parents, which take the general path; some fail, come back, are put off.
  const keyed = many((i) => spec({ dedupe: dedupe(`key-${i}`, { forMs: day }), serial: `serial-${i % 7}` }));
  await engine.enqueue({ now, groups: [{ jobs: keyed }] });
  const again = keyed.map((one, i) =>
    spec({ dedupe: dedupe(one.dedupe?.key as string, { mode: i % 2 === 0 ? 'drop' : 'replace' }) }),
  );
  await engine.enqueue({ now, groups: [{ jobs: again }] });
  const parent = spec();
  await engine.enqueue({ now, groups: [{ jobs: [parent] }] });
  await engine.enqueue({
    now,
    groups: [
      {
        jobs: many(
          (i) =>
            spec({
              gates: [{ kind: 'overlap', ref: parent.id }],
              parent: { id: parent.id, key: `child-${i}` },
            }),
          10,
        ),
      },
    ],
  });
  const mixed = await drain();
  const ends = ['COMPLETED', 'FAILED', 'RETRYING', 'SCHEDULED', 'PENDING'] as const;
  await exchange(
    mixed.map((job, i) => settlement(job, ends[i % ends.length] as (typeof ends)[number])),
    false,
  );
  const late = await drain(now + minute);
  await exchange(
    late.map((job) => settlement(job, 'FAILED')),
    false,
  );
  await engine.retry({
    now,
    groups: [
      {
        targets: late.slice(0, 5).map(({ id, fence }) => ({ id, expectFence: fence })),
        actor: 'me',
        note: null,
      },
    ],
  });
  await done(await drain());

  // Jobs that fall due, are moved, are cancelled, expire, are deleted and discarded.
  const later = many(() => spec({ due: { at: now + 2 * minute } }));
  const short = many(() => spec({ due: { at: now + minute }, startDeadlineMs: 1 }), 10);
  await engine.enqueue({ now, groups: [{ jobs: [...later, ...short] }] });
  const targets = later.map(({ id }) => ({ id }));
  await engine.reschedule({
    now,
    groups: [{ targets: targets.slice(0, 20), due: { at: now + 3 * minute }, actor: 'me' }],
  });
  await engine.cancel({
    now,
    groups: [{ targets: targets.slice(20, 40), mode: 'ask', actor: 'me', note: null }],
  });
  const who = { actor: 'me', note: null };
  await engine.act({
    now,
    groups: [
      { ...who, action: 'delete', targets: targets.slice(40, 45) },
      { ...who, action: 'discard', targets: late.slice(5, 8).map(({ id }) => ({ id })) },
    ],
  });
  await done(await drain(now + 5 * minute));

  // A lease that ends and is taken over.
  await engine.enqueue({ now, groups: [{ jobs: many(() => spec(), 5) }] });
  await engine.exchange({ now, settle: [], claim: claim({ leaseMs: 1 }) });
  const { jobs: lost } = await engine.reap({ now: now + 2, node: 'node-b', leaseMs: minute, limit: 100 });
  await exchange(
    lost.map((job) => lostSettlement(job, 'unproven')),
    false,
  );
  await done(await drain());

  // Schedules: made, claimed, decided together and one by one, edited, deleted.
  const puts = many(() => schedulePut({ dueAt: now }), 20);
  await engine.applySchedules({ now, groups: [{ changes: puts, actor: 'me' }] });
  const { schedules } = await engine.claimSchedules(scheduleClaim({ now }));
  const mine = schedules.filter(({ id }) => puts.some((put) => put.id === id));
  const group = (one: (typeof mine)[number], fields: Parameters<typeof fireGroup>[1] = {}) => {
    const job = slotJob(one.id, now, { type });
    return fireGroup(one, {
      jobs: [job],
      slots: [slotRow(now, { jobId: job.id })],
      dueAt: now + hour,
      ...fields,
    });
  };
  await engine.fire({ now, node: 'node-a', groups: mine.slice(0, 10).map((one) => group(one)) });
  await engine.fire({
    now,
    node: 'node-a',
    groups: mine
      .slice(10)
      .map((one) => group(one, { slots: [slotRow(now, { decision: 'skipped', reason: 'overlap' })] })),
  });
  await engine.claimSchedules(scheduleClaim({ now, ids: puts.slice(0, 5).map(({ id }) => id) }));
  await engine.applySchedules({
    now,
    groups: [
      {
        changes: puts.slice(0, 5).map(({ id }) => ({
          ...{
            op: 'delete' as const,
            id,
            expectVersion: 2,
            action: 'delete' as const,
            note: null,
            slots: [],
          },
        })),
        actor: 'me',
      },
    ],
  });
  await done(await drain());

  // Locks, values, nodes, settings, the feed, forgetting.
  const lock = await engine.acquire(lockRequest(freshId('lock')));
  await engine.renew({ now, locks: [{ name: 'none', fence: lock.fence as number }], ttlMs: minute });
  await engine.release({ now, locks: [{ name: 'none', fence: lock.fence as number }] });
  const change = {
    op: 'put' as const,
    name: type,
    key: 'k',
    value: '1',
    due: { at: now + hour },
    cleanup: null,
  };
  await engine.putExpiring({ now, groups: [{ changes: [change], actor: 'me' }] });
  await engine.nodes({ now, heartbeat: nodeInfo('node-a'), leave: null, drain: null, forgetAfterMs: minute });
  await engine.records({
    now,
    groups: [{ ops: [{ op: 'put', kind: 'test', key: type, value: '1' }], actor: 'me' }],
  });
  const { position } = await engine.changes({ now, after: null, limit: 1 });
  await engine.changes({ now, after: Math.max(0, position - 50), limit: 100 });
  await engine.prune({ now, limit: 500, ledgerMs: day, compactStarts: [], auditMs: day, changesMs: day });
}

/** Puts rows of other types into all large tables, none of them due, ended or claimable. */
async function fill(schema: string, { leases, jobs, schedules }: Fill): Promise<void> {
  const far = t0 + 365 * day;
  const policy = JSON.stringify({ maxAttempts: 1 });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (sql: string) => client.query(sql.replaceAll('duly.', `"${schema}".`));
  try {
    // A third runs, the rest waits for another day; some of each kind that has an index of its own.
    await run(`INSERT INTO duly.jobs (id, type, version, queue, tenant, priority, status, rank, rank_offset, due_at, expire_at, created_at,
        updated_at, started_at, max_attempts, origin, dedupe_key, serial, parent_id, schedule_id, slot_at, policy, retention_ms, dead_retention_ms, input)
      SELECT 'fill_' || i, 'fill-' || i % 50, 1, 'fill', 'tenant-' || i % 100, 0,
        CASE WHEN i <= ${leases} THEN 'RUNNING' WHEN i % 10 = 0 THEN 'PENDING' WHEN i % 10 = 1 THEN 'BLOCKED' ELSE 'SCHEDULED' END,
        CASE WHEN i > ${leases} AND i % 10 = 0 THEN ${far} + i END, 0, ${far} + i, CASE WHEN i > ${leases} THEN ${far} + i END, ${t0}, ${t0},
        CASE WHEN i <= ${leases} THEN ${t0} END, 1, CASE WHEN i % 20 = 0 THEN 'backfill' ELSE 'event' END, CASE WHEN i % 4 = 0 THEN 'fill-' || i END,
        CASE WHEN i % 5 = 0 THEN 'fill-' || i END, CASE WHEN i % 6 = 0 THEN 'fill_' || i - 1 END, CASE WHEN i % 7 = 0 THEN 'fill-' || i END, ${far},
        '${policy}', 1, 1, '{"n":1}' FROM generate_series(1, ${jobs}) i`);
    await run(`INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
      SELECT 'fill_' || i, i, i, 'fill', 'fill', true, ${far} FROM generate_series(1, ${leases}) i`);
    await run(`INSERT INTO duly.dedupes (type, tenant, key, job_id, until_at, created_at)
      SELECT 'fill-' || i % 50, 'tenant-' || i % 100, 'fill-' || i, 'fill_' || i, ${far}, ${t0} FROM generate_series(4, ${jobs}, 4) i`);
    await run(`INSERT INTO duly.gates (kind, ref, order_at, seq, job)
      SELECT 'after', 'fill_' || i - 1, 0, i, 'fill_' || i FROM generate_series(${leases} + 1, ${jobs}) i WHERE i % 10 = 1`);
    await run(
      `INSERT INTO duly.children (parent_id, key, job_id) SELECT 'fill_' || i - 1, 'k', 'fill_' || i FROM generate_series(6, ${jobs}, 6) i`,
    );
    await run(`INSERT INTO duly.schedules (id, generation, version, state, due_at, waits_for, updated_at)
      SELECT 'fill-' || i, 1, 1, '{}', ${far} + i, CASE WHEN i % 3 = 0 THEN 'fill_' || i END, ${t0} FROM generate_series(1, ${schedules}) i`);
    await run(
      `INSERT INTO duly.specs (id, name, spec, created_at) SELECT 'fill-' || i, 'fill-' || i, '{}', ${t0} FROM generate_series(1, ${schedules}) i`,
    );
    await run(`INSERT INTO duly.slots (schedule_id, generation, from_at, to_at, count, decision, node, decided_at, last_decided_at)
      SELECT 'fill-' || i, 1, ${t0}, ${t0}, 1, 'fired', 'fill', ${t0}, ${t0} FROM generate_series(1, ${schedules}) i`);
    for (const table of ['finished', 'dead']) {
      await run(`INSERT INTO duly.${table} (id, seq, type, version, queue, priority, status, rank_offset, due_at, created_at, updated_at, finished_at,
          prune_at, fence, attempt, spent, max_attempts, losses, begun_losses, percent, origin, slot_allow, policy, retention_ms, dead_retention_ms,
          attempts, input)
        SELECT '${table}_' || i, i, 'fill', 1, 'fill', 0, 'FAILED', 0, ${t0}, ${t0}, ${t0}, ${t0} + i, ${far}, 1, 1, 1, 1, 0, 0, 0, 'event', false,
          '${policy}', 1, 1, '[]', '{}' FROM generate_series(1, ${schedules}) i`);
    }
    await run(
      `INSERT INTO duly.journal (scope, key, value, until_at) SELECT 'fill', i::text, '1', ${far} FROM generate_series(1, ${schedules}) i`,
    );
    await run(`INSERT INTO duly.logs (job_id, n, attempt, line, at, level, message)
      SELECT 'fill_' || i, 1, 1, 1, ${t0}, 'info', 'x' FROM generate_series(1, ${schedules}) i`);
    await run(
      `INSERT INTO duly.expirings (name, key, value, expires_at) SELECT 'fill', i::text, '1', ${far} FROM generate_series(1, ${schedules}) i`,
    );
  } finally {
    await client.end();
  }
}

/** What each function read in a session that planned on an empty store, and in one that planned on the full store. */
export interface PlanCosts {
  /** The functions that it is about. */
  planned: string[];
  /** Before the fill. */
  empty: Pages;
  /** After it, in the session that had planned before. */
  stale: Pages;
  /** After it, in a new session. */
  fresh: Pages;
}

/** Plans on an empty store, fills it, and calls everything again in the same session and in a new one. */
export async function measurePlans(size: Fill): Promise<PlanCosts> {
  const schema = freshSchema();
  const tables = async () => {
    const found =
      "SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'";
    return (await ask(found, [schema])).map(({ name }) => `"${schema}"."${name}"`);
  };
  const inSession = async <Result>(use: (session: CountedSession) => Promise<Result>): Promise<Result> => {
    const session = await openCounted(schema);
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  };
  try {
    // What autovacuum leaves when it comes by at a moment when nothing is there: pages, and the belief that they hold no rows.
    await inSession(({ engine }) => callEverything(engine, 'earlier'));
    for (const table of await tables()) {
      await ask(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
      await ask(`VACUUM (ANALYZE, TRUNCATE OFF) ${table}`);
    }
    const before = await inSession(async ({ engine, take }) => {
      await callEverything(engine, 'planned');
      take();
      await callEverything(engine, 'empty');
      const empty = take();
      await fill(schema, size);
      await callEverything(engine, 'settled');
      take();
      await callEverything(engine, 'stale');
      return { empty, stale: take() };
    });
    for (const table of await tables()) await ask(`ANALYZE ${table}`);
    const fresh = await inSession(async ({ engine, take }) => {
      await callEverything(engine, 'warm');
      take();
      await callEverything(engine, 'fresh');
      return take();
    });
    return { planned: await plannedFunctions(schema), ...before, fresh };
  } finally {
    await ask(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  }
}

/** Functions that read a whole narrow table by design, and which one. */
const readsWhole: Record<string, string> = { reap: 'leases' };
/** A tree of a million entries is two levels deeper than one of a hundred. */
const depthFactor = 3;
const tolerance = 1.2;
/** Called in a transaction of the user's own, or rolled back. */
const calledInside = new Set(['settle_in_transaction', 'warm_up']);

/** Fails with the functions that read more pages in a session that planned on an empty store, or far more than on a small one. */
export async function expectSteadyPlans(size: Fill): Promise<void> {
  const { planned, empty, stale, fresh } = await measurePlans(size);
  assert.ok(planned.length > 20, 'the functions were not found');
  const missing = planned.filter((name) => !stale.has(name) && !calledInside.has(name));
  assert.deepEqual(missing, [], 'every function with planner settings is called by this test');
  const table = [...stale].map(([name, read]) => ({
    ...{ name, empty: empty.get(name) ?? 0, stale: read, fresh: fresh.get(name) ?? 0 },
  }));
  const bad = table.filter(
    (one) =>
      one.stale > tolerance * one.fresh + 50 ||
      (readsWhole[one.name] === undefined && one.fresh > depthFactor * one.empty + 100),
  );
  const seen = JSON.stringify(table, null, 1);
  assert.deepEqual(bad, [], `pages read by the most expensive call of each function:\n${seen}`);
}
