// Only PostgreSQL keeps history in days that are dropped whole, so this is not part of the shared suite.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { claimRequest, jobPolicy, jobSpec, settlement } from '@duly/conformance/builders';
import pg from 'pg';
import { inSchema } from '../../../../../test/servers/postgres.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/engine.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { keepDays } from '../../../src/engines/postgres/verbs/prune.ts';
import { Work } from '../../../src/engines/postgres/work.ts';
import { examineStore } from '../../../src/store/examine.ts';
import { ask, open, untilWaiting, url } from './setup.ts';

const dayMs = 86_400_000;
// The middle of a day, so that a retention of whole days ends in the middle of one too.
const noonAt = Date.UTC(2027, 0, 15, 12);

describe('PostgreSQL, days of history', () => {
  const schema = `days_${process.pid}`;
  after(() => ask(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`));

  async function finishOne(engine: Engine, retentionMs: number): Promise<string> {
    const spec = jobSpec({ due: { at: noonAt }, policy: jobPolicy({ retentionMs }) });
    const claim = claimRequest();
    const { claimed } = await engine.enqueue({ now: noonAt, groups: [{ jobs: [spec] }], claim });
    const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
    await engine.exchange({ now: noonAt, settle, claim: null });
    return spec.id;
  }

  const placeOf = async (id: string) =>
    (await ask(`SELECT tableoid::regclass::text AS place FROM "${schema}".finished WHERE id = $1`, [id]))[0]
      ?.place as string | undefined;

  /** Everything there is to do, call by call, as a node does it; how many jobs went. */
  async function keepAll(work: Work, now: number): Promise<number> {
    let sum = 0;
    for (;;) {
      const { jobs, more } = await keepDays(work, now);
      sum += jobs;
      if (!more) return sum;
    }
  }

  it('a day is created ahead, takes what waited for it, and is dropped when it is over', async () => {
    const opened = await open({ schema });
    const engine = createPostgresEngine(opened);
    const work = new Work(opened.database, schema, () => {});
    try {
      const early = await finishOne(engine, 2 * dayMs);
      assert.equal(await placeOf(early), `${schema}.finished_other`);
      await keepAll(work, noonAt);
      assert.equal(await placeOf(early), `${schema}.finished_20270117`, 'it moved when its day was created');
      const late = await finishOne(engine, 3 * dayMs);
      assert.equal(await placeOf(late), `${schema}.finished_20270118`);
      const far = await finishOne(engine, 300 * dayMs);
      assert.equal(await placeOf(far), `${schema}.finished_other`, 'no day so far ahead is created');

      await keepAll(work, noonAt + 2 * dayMs);
      assert.equal(await placeOf(early), `${schema}.finished_20270117`, 'its day is not over');
      assert.equal(await keepAll(work, noonAt + 3 * dayMs), 1);
      const reply = await engine.get({ now: noonAt, ids: [early, late, far] });
      assert.deepEqual(
        reply.jobs.map((job) => job?.id ?? null),
        [null, late, far],
      );
      assert.equal(reply.prunedCreatedAt, noonAt);
      assert.equal(await keepAll(work, noonAt + 3 * dayMs), 0, 'again changes nothing');
    } finally {
      await engine.close();
    }
  });

  it('one call makes days or drops one, so that no lock is held for what takes long', async () => {
    const fresh = `${schema}_steps`;
    const opened = await open({ schema: fresh });
    const engine = createPostgresEngine(opened);
    const work = new Work(opened.database, fresh, () => {});
    const step = async (now: number) => {
      const { jobs, more } = await keepDays(work, now);
      return [jobs, more];
    };
    try {
      for (const days of [1, 1, 2]) await finishOne(engine, days * dayMs);
      assert.deepEqual(await step(noonAt), [0, true], 'as far as the first that took something along');
      assert.deepEqual(await step(noonAt), [0, true], 'the next that did');
      assert.deepEqual(await step(noonAt), [0, true], 'the others');
      // Those of the calendar, which a new store has, are over by this clock.
      assert.equal(await keepAll(work, noonAt), 0);
      const lateAt = noonAt + 4 * dayMs;
      assert.deepEqual(await step(lateAt), [0, true], 'new days first');
      // The 15th was empty, the 16th had two jobs, the 17th one, the 18th none.
      const steps: unknown[] = [];
      while (steps.length < 4) steps.push(await step(lateAt));
      assert.deepEqual(steps, [
        [0, true],
        [2, true],
        [1, true],
        [0, false],
      ]);
      // What hangs on the jobs of a day goes in slices of a hundred times the limit, the day with the last of it.
      const id = await finishOne(engine, 7 * dayMs);
      await ask(
        `INSERT INTO "${fresh}".logs (job_id, n, attempt, line, at, level, message) SELECT $1, n, 1, n, 1, 'info', 'line' FROM generate_series(1, 250) n`,
        [id],
      );
      await keepAll(work, noonAt + 7 * dayMs);
      const logCounts: number[] = [];
      const overAt = noonAt + 8 * dayMs;
      // A new day, two slices, and the day.
      for (const expected of [
        [0, true],
        [0, true],
        [0, true],
        [1, false],
      ]) {
        const { jobs, more } = await keepDays(work, overAt, 1);
        assert.deepEqual([jobs, more], expected);
        logCounts.push((await ask(`SELECT count(*)::int AS n FROM "${fresh}".logs`))[0]?.n);
      }
      assert.deepEqual(logCounts, [250, 150, 50, 0]);
    } finally {
      await engine.close();
      await ask(`DROP SCHEMA IF EXISTS "${fresh}" CASCADE`);
    }
  });

  it('a settlement that meets the making of its day is done once the day is there', async () => {
    const fresh = `${schema}_race`;
    const engine = createPostgresEngine(await open({ schema: fresh }));
    const creator = new pg.Client({ connectionString: url });
    await creator.connect();
    try {
      const claim = claimRequest();
      const specs = [jobSpec({ due: { at: noonAt } }), jobSpec({ due: { at: noonAt }, serial: 'one' })];
      const { claimed } = await engine.enqueue({ now: noonAt, groups: [{ jobs: specs }], claim });
      // The days are made and not yet committed: whoever ends a job now waits for history, which has no day for it.
      await creator.query('BEGIN');
      await creator.query(`SELECT "${fresh}".keep_days_f${functionSet.number}($1, 9)`, [noonAt]);
      const settling = claimed.map((lease) =>
        engine.exchange({ now: noonAt, settle: [settlement(lease, 'COMPLETED')], claim: null }),
      );
      await untilWaiting(claimed.length, creator);
      await creator.query('COMMIT');
      for (const reply of await Promise.all(settling)) assert.deepEqual(reply.settled, ['done']);
      const rows = await ask(`SELECT tableoid::regclass::text AS place FROM "${fresh}".finished`);
      assert.deepEqual(
        rows.map(({ place }) => place),
        claimed.map(() => `${fresh}.finished_20270122`),
      );
    } finally {
      await creator.end();
      await engine.close();
      await ask(`DROP SCHEMA IF EXISTS "${fresh}" CASCADE`);
    }
  });

  it('a read that meets the making of a day finds what moved there', async () => {
    const fresh = `${schema}_read`;
    const engine = createPostgresEngine(await open({ schema: fresh }));
    const creator = new pg.Client({ connectionString: url });
    await creator.connect();
    try {
      const dedupe = { key: 'k', forMs: 20 * dayMs, mode: 'drop' as const, maxWaitMs: null };
      const spec = jobSpec({ due: { at: noonAt }, dedupe });
      const claim = claimRequest();
      const { claimed } = await engine.enqueue({ now: noonAt, groups: [{ jobs: [spec] }], claim });
      const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
      await engine.exchange({ now: noonAt, settle, claim: null });
      const page = { cursor: null, limit: 10 };
      const reads = [
        async () => (await engine.get({ now: noonAt, ids: [spec.id] })).jobs,
        async () =>
          (await engine.holder({ now: noonAt, type: spec.type, tenant: spec.tenant, key: 'k' })).jobs,
        async () => (await engine.list({ now: noonAt, filter: { type: [spec.type] }, ...page })).jobs,
        async () => (await engine.list({ now: noonAt, filter: { ids: [spec.id] }, ...page })).jobs,
      ];
      // The day is made with what waited for it, and not yet committed: who reads history waits, and has been planned.
      await creator.query('BEGIN');
      await creator.query(`SELECT "${fresh}".keep_days_f${functionSet.number}($1, 9)`, [noonAt]);
      const reading = reads.map((read) => read());
      await untilWaiting(reads.length, creator);
      await creator.query('COMMIT');
      for (const jobs of await Promise.all(reading)) {
        assert.deepEqual(
          jobs.map((job) => job?.id),
          [spec.id],
        );
      }
    } finally {
      await creator.end();
      await engine.close();
      await ask(`DROP SCHEMA IF EXISTS "${fresh}" CASCADE`);
    }
  });

  it('a role that may make and drop no tables forgets what is over job by job', async () => {
    const fresh = `${schema}_role`;
    const role = `${schema}_guest`;
    const owner = await open({ schema: fresh });
    const engine = createPostgresEngine(owner);
    await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'guest'`);
    const address = Object.assign(new URL(url), { username: role, password: 'guest' });
    try {
      await keepAll(new Work(owner.database, fresh, () => {}), noonAt);
      const ids = [await finishOne(engine, 2 * dayMs), await finishOne(engine, 2 * dayMs)];
      const kept = await finishOne(engine, 4 * dayMs);
      await ask(`GRANT USAGE ON SCHEMA "${fresh}" TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA "${fresh}" TO ${role};
        GRANT ALL ON ALL SEQUENCES IN SCHEMA "${fresh}" TO ${role}`);
      const guest = await open({ schema: fresh, connection: address.href });
      try {
        const work = new Work(guest.database, fresh, () => {});
        const pick = ({ jobs, more }: { jobs: number; more: boolean }) => [jobs, more];
        assert.deepEqual(pick(await keepDays(work, noonAt + 3 * dayMs, 1)), [1, true]);
        assert.deepEqual(pick(await keepDays(work, noonAt + 3 * dayMs, 2)), [1, false]);
        const { jobs, prunedCreatedAt } = await engine.get({ now: noonAt, ids: [...ids, kept] });
        assert.deepEqual(
          [jobs.map((job) => job?.id), prunedCreatedAt],
          [[undefined, undefined, kept], noonAt],
        );
        // By the server's clock, as a node does it.
        const asked = { limit: 10, ledgerMs: dayMs, auditMs: dayMs, changesMs: dayMs };
        assert.equal((await createPostgresEngine(guest).prune(asked)).more, false);
        const { checks } = await examineStore(inSchema(address.href, fresh));
        assert.match(
          checks.find(({ name }) => name === 'history_role')?.message ?? '',
          /does not own the tables/,
        );
      } finally {
        await guest.close();
      }
    } finally {
      await engine.close();
      await ask(`DROP SCHEMA IF EXISTS "${fresh}" CASCADE`);
      await ask(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('a new store has its days before its first job', async () => {
    const fresh = `${schema}_new`;
    const engine = createPostgresEngine(await open({ schema: fresh }));
    try {
      const claim = claimRequest();
      const spec = jobSpec({ due: { inMs: 0 }, policy: jobPolicy({ retentionMs: 7 * dayMs }) });
      const { claimed } = await engine.enqueue({ groups: [{ jobs: [spec] }], claim });
      const settle = claimed.map((lease) => settlement(lease, 'COMPLETED'));
      await engine.exchange({ settle, claim: null });
      const [row] = await ask(`SELECT tableoid::regclass::text AS place FROM "${fresh}".finished`);
      assert.match(row?.place, /\.finished_\d{8}$/);
    } finally {
      await engine.close();
      await ask(`DROP SCHEMA IF EXISTS "${fresh}" CASCADE`);
    }
  });

  it('a prune by the clock of the server creates the days of the calendar', async () => {
    const engine = createPostgresEngine(await open({ schema }));
    try {
      const bounds = { ledgerMs: 900 * dayMs, auditMs: 900 * dayMs, changesMs: 900 * dayMs };
      const { now } = await engine.prune({ limit: 10, ...bounds });
      const today = new Date(now).toISOString().slice(0, 10).replaceAll('-', '');
      const found = await ask('SELECT to_regclass($1) IS NOT NULL AS created', [
        `"${schema}".finished_${today}`,
      ]);
      assert.equal(found[0]?.created, true);
    } finally {
      await engine.close();
    }
  });
});
