// The bare loop as a contestant: the server's own best statements, prepared, and nothing around them. In the process itself: a thread
// would only add a way.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duly } from '@duly/core';
import pg from 'pg';
import { type Contestant, type ContestantPlace, elapsed, leadMs, pause } from '../../contestant.ts';
import {
  claimStatement,
  createLaterStatement,
  createRunningStatement,
  createSchedulesStatement,
  createStatement,
  decideStatement,
  moveStatement,
  nextDueStatement,
  promoteStatement,
  type Samples,
  sampleRows,
} from './bare-rows.ts';

// As many as Duly has by default.
const poolSize = 10;
// Tried from 500 to 4,000, with one loop and with two.
const batchSize = 2_000;
const loopCount = 2;
const yearMs = 365 * 86_400_000;
const channel = 'bench_bare';

interface Claimed {
  id: string;
  input: string;
}

/** See `ContestantModule`. */
export async function createContestant({ shared, url }: ContestantPlace): Promise<Contestant> {
  const samples = await samplesOf(shared, url);
  const config = {
    connectionString: url,
    options: '-c jit=off -c enable_seqscan=off -c plan_cache_mode=force_generic_plan',
  };
  const pool = new pg.Pool({ ...config, max: poolSize });
  const ear = new pg.Client(config);
  await ear.connect();
  const single = await pool.connect();

  const texts = {
    create: createStatement(samples),
    createLater: createLaterStatement(samples),
    createRunning: createRunningStatement(samples),
    claim: claimStatement(samples),
    move: moveStatement(samples),
    promote: promoteStatement(samples),
    nextDue: nextDueStatement(samples),
    createSchedules: createSchedulesStatement(samples),
    decide: decideStatement(samples),
    notify: `SELECT pg_notify('${channel}', '')`,
  };
  type Statement = keyof typeof texts;
  type Client = Pick<pg.ClientBase, 'query'>;
  async function run<One extends object>(
    on: Client,
    name: Statement,
    values: unknown[] = [],
  ): Promise<One[]> {
    return (await on.query({ name, text: texts[name], values })).rows as One[];
  }

  let idCount = 0;
  const idStamp = Date.now().toString(36).padStart(10, '0').slice(-10);
  // Every process counts from somewhere else.
  const idPart = process.pid.toString(36).padStart(6, '0').slice(-6);
  const newId = () => `job_${idStamp}${idPart}${(idCount++).toString(36).padStart(10, '0')}`;
  const newToken = () =>
    `node_${idStamp}/claim_${idStamp}${idPart}${(idCount++).toString(36).padStart(10, '0')}`;
  const inputsOf = (from: number, until: number) => {
    const ids: string[] = [];
    const inputs: string[] = [];
    for (let n = from; n < until; n++) {
      ids.push(newId());
      inputs.push(`{"n":${n}}`);
    }
    return [ids, inputs] as const;
  };

  /** So many callers at once, each making jobs in groups, each group a commit. */
  async function create(
    count: number,
    { size, callers, notifies = false }: { size: number; callers: number; notifies?: boolean },
  ) {
    let created = 0;
    const from = elapsed();
    const caller = async () => {
      while (created < count) {
        const first = created;
        created = Math.min(count, created + size);
        const values = [Date.now(), ...inputsOf(first, created)];
        const client = callers === 1 ? single : await pool.connect();
        if (notifies) await client.query('BEGIN');
        await run(client, 'create', values);
        if (notifies) {
          await run(client, 'notify');
          await client.query('COMMIT');
        }
        if (client !== single) client.release();
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return elapsed() - from;
  }

  const numberOf = ({ input }: Claimed) => (JSON.parse(input) as { n: number }).n;
  const move = (on: Client, done: Claimed[]) => run(on, 'move', [Date.now(), done.map(({ id }) => id)]);
  const claim = (on: Client, limit: number) => run<Claimed>(on, 'claim', [Date.now(), limit, newToken()]);

  /** Settles what ran and claims what is next in one transaction, until nothing is left. */
  async function drainLoop(onRun: (job: Claimed) => void): Promise<void> {
    const client = await pool.connect();
    let done: Claimed[] = [];
    do {
      await client.query('BEGIN');
      if (done.length > 0) await move(client, done);
      done = await claim(client, batchSize);
      await client.query('COMMIT');
      for (const job of done) onRun(job);
    } while (done.length > 0);
    client.release();
  }

  const receivedElapsed: number[] = [];

  return {
    enqueueOneByOne: (count) => create(count, { size: 1, callers: 1 }),
    enqueueInFlight: (count, inFlight) => create(count, { size: 1, callers: inFlight }),
    enqueueNotifying: (count, inFlight) => create(count, { size: 1, callers: inFlight, notifies: true }),
    enqueueBulk: (count, size) => create(count, { size, callers: 4 }),

    async fill(count) {
      await create(count, { size: batchSize, callers: 1 });
    },

    async drain(count) {
      let left = count;
      const from = elapsed();
      await Promise.all(
        Array.from({ length: loopCount }, () =>
          drainLoop(() => {
            left--;
          }),
        ),
      );
      const tookMs = elapsed() - from;
      if (left !== 0) throw new Error(`${left} of ${count} jobs did not run.`);
      return tookMs;
    },

    // One durable commit that makes a job and takes it.
    async latencyHere(count) {
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const id = newId();
        const from = elapsed();
        await run(single, 'createRunning', [Date.now(), id, `{"n":${n}}`, newToken()]);
        took.push(elapsed() - from);
        await move(single, [{ id, input: '' }]);
        await pause(2);
      }
      return took;
    },

    async listen() {
      let isLooking = false;
      let isAsked = false;
      const look = async () => {
        isAsked = true;
        if (isLooking) return;
        isLooking = true;
        while (isAsked) {
          isAsked = false;
          const claimed = await claim(single, 20);
          const at = elapsed();
          for (const job of claimed) receivedElapsed[numberOf(job)] = at;
          if (claimed.length === 0) continue;
          await move(single, claimed);
          isAsked = true;
        }
        isLooking = false;
      };
      // Whoever closes does not wait for a look that is on its way.
      ear.on('notification', () => void look().catch(() => {}));
      await ear.query(`LISTEN ${channel}`);
      await look();
    },

    async send(count, gapMs) {
      const sent: number[] = [];
      for (let n = 0; n < count; n++) {
        sent.push(elapsed());
        await run(single, 'create', [Date.now(), [newId()], [`{"n":${n}}`]]);
        // After the commit, as whoever knows better does: inside, every commit would stand in line for one lock of the server.
        await run(single, 'notify');
        await pause(gapMs);
      }
      return sent;
    },

    async sendInTransaction(count, gapMs) {
      const sent: number[] = [];
      for (let n = 0; n < count; n++) {
        await single.query('BEGIN');
        await run(single, 'create', [Date.now(), [newId()], [`{"n":${n}}`]]);
        await run(single, 'notify');
        sent.push(elapsed());
        await single.query('COMMIT');
        await pause(gapMs);
      }
      return sent;
    },

    async received(count) {
      while (receivedElapsed.filter((one) => one !== undefined).length < count) await pause(5);
      return receivedElapsed.splice(0);
    },

    async precision(count, overMs) {
      const late: number[] = [];
      const firstAt = Date.now() + leadMs(count);
      const dueAt = (n: number) => firstAt + Math.floor((n * overMs) / count);
      await run(single, 'createLater', [
        Date.now(),
        ...inputsOf(0, count),
        Array.from({ length: count }, (_, n) => dueAt(n)),
      ]);
      let done: Claimed[] = [];
      while (late.length < count) {
        await single.query('BEGIN');
        if (done.length > 0) await move(single, done);
        await run(single, 'promote', [Date.now()]);
        done = await claim(single, 20);
        await single.query('COMMIT');
        const at = performance.timeOrigin + performance.now();
        for (const job of done) late.push(at - dueAt(numberOf(job)));
        if (done.length > 0) continue;
        const [next] = await run<{ at: string }>(single, 'nextDue');
        if (next !== undefined) await pause(Math.max(0, Number(next.at) - Date.now()));
      }
      return late;
    },

    async fillFuture(count) {
      const due = Date.now() + yearMs;
      for (let n = 0; n < count; n += batchSize) {
        const until = Math.min(count, n + batchSize);
        await run(single, 'createLater', [
          Date.now(),
          ...inputsOf(n, until),
          Array.from({ length: until - n }, () => due),
        ]);
      }
    },

    writeBurst,

    async close() {
      single.release();
      await Promise.all([pool.end(), ear.end()]);
    },
  };

  /** Decided schedules: the schedule's row moves on, the ledger has a row, the job exists. The schedules are made first, unmeasured. */
  async function writeBurst(count: number): Promise<number> {
    const part = idCount++;
    const ids = Array.from({ length: count }, (_, n) => scheduleId(`bench-${part}-${n}`));
    for (let n = 0; n < count; n += batchSize)
      await run(single, 'createSchedules', [ids.slice(n, n + batchSize)]);
    let next = 0;
    const from = elapsed();
    const writer = async () => {
      const client = await pool.connect();
      while (next < count) {
        const first = next;
        next = Math.min(count, next + burstSize);
        const now = Date.now();
        await run(client, 'decide', [now, ids.slice(first, next), ...inputsOf(first, next), now + yearMs]);
      }
      client.release();
    };
    await Promise.all(Array.from({ length: loopCount }, writer));
    return elapsed() - from;
  }
}

const burstSize = 1_000;

/** Ids of schedules are hashes of their names, of this length: each entry of an index goes to another page. */
const scheduleId = (name: string): string =>
  `sch_${createHash('sha256').update(name).digest('hex').slice(0, 26)}`;

/** What rows look like, found out once in a run; and the tables, made by Duly itself. */
async function samplesOf(shared: string, url: string): Promise<Samples> {
  const path = join(shared, 'bare-samples.json');
  if (!existsSync(path)) writeFileSync(path, JSON.stringify(await sampleRows(url)));
  const duly = new Duly({ store: url, logger: false });
  // A node's first round of maintenance makes the days of history; without them it would all go to one table, which has an index more.
  const kept = new Promise<void>((resolve) => {
    duly.on('call', ({ verb }) => {
      if (verb === 'prune') resolve();
    });
  });
  await duly.start();
  await kept;
  await duly.stop();
  return JSON.parse(readFileSync(path, 'utf8')) as Samples;
}
