// The bare loop: prepared statements on node:sqlite in a thread, the same file settings and rows as Duly's, and nothing around them.
import { createHash } from 'node:crypto';
import { watch, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { elapsed, leadMs } from '../../contestant.ts';
import type { BareAsk, BareCall } from './bare.ts';
import {
  claimStatement,
  feedStatement,
  fenceStatement,
  finishStatement,
  insertLike,
  type Row,
  removeStatement,
  type Samples,
} from './bare-rows.ts';

const { file, samples } = workerData as { file: string; samples: Samples };
const port = parentPort as NonNullable<typeof parentPort>;

const db = new DatabaseSync(file, { timeout: 5_000 });
db.exec('PRAGMA journal_mode = WAL');
db.exec('PRAGMA synchronous = FULL');
db.exec('PRAGMA temp_store = MEMORY');
db.exec('PRAGMA cache_size = -32000');
db.exec('PRAGMA journal_size_limit = 67108864');

const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');
const insert = db.prepare(
  insertLike('jobs', samples.pending, {
    id: ':id',
    rank: ':now',
    due_at: ':now',
    created_at: ':now',
    updated_at: ':now',
    input: ':input',
  }),
);
const insertLater = db.prepare(
  insertLike('jobs', samples.pending, {
    id: ':id',
    status: "'SCHEDULED'",
    rank: 'NULL',
    due_at: ':due',
    created_at: ':now',
    updated_at: ':now',
    input: ':input',
  }),
);
const claim = db.prepare(claimStatement(samples));
const finish = db.prepare(finishStatement(samples));
const remove = db.prepare(removeStatement);
const feed = db.prepare(feedStatement);
const fences = db.prepare(fenceStatement);
const promote = db.prepare(
  `UPDATE jobs SET status = 'PENDING', rank = due_at, updated_at = :now
  WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = :type AND due_at <= :now RETURNING id`,
);
const nextDue = db.prepare(
  "SELECT min(due_at) AS at FROM jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ?",
);

const node = String(samples.running.node);
const type = String(samples.pending.type);
// Tried from 200 to 5,000: 500 to 2,000 are equal, fewer and more are slower.
const batchSize = 1_000;
const yearMs = 365 * 86_400_000;
// As many entries to a row as the lists of Duly's changes have.
type Entry = [string, string, string, string, number];

let idCount = 0;
const idStamp = Date.now().toString(36).padStart(10, '0').slice(-10);
// Every connection counts from somewhere else.
const idPart = process.pid.toString(36).padStart(6, '0').slice(-6);
const newId = () => `job_${idStamp}${idPart}${(idCount++).toString(36).padStart(10, '0')}`;

interface Claimed {
  seq: number;
  id: string;
  input: string;
}

function insertOne(n: number, now: number, entries: Entry[]): void {
  const id = newId();
  insert.run({ id, now, input: `{"n":${n}}` });
  entries.push([id, type, 'PENDING', 'created', 0]);
}

function createInGroups(count: number, size: number): number {
  const from = elapsed();
  for (let n = 0; n < count; ) {
    const now = Date.now();
    const entries: Entry[] = [];
    begin.run();
    for (const until = Math.min(count, n + size); n < until; n++) insertOne(n, now, entries);
    feed.run(now, JSON.stringify(entries));
    commit.run();
  }
  return elapsed() - from;
}

function claimSome(limit: number, now: number, entries: Entry[]): Claimed[] {
  const { value } = fences.get(limit) as { value: number };
  const claimed = claim.all({
    fence: value - limit,
    lease: now + 30_000,
    token: `${node}/claim_${idStamp}${value.toString(36).padStart(16, '0')}`,
    node,
    now,
    limit,
  }) as unknown as Claimed[];
  for (const { id } of claimed) entries.push([id, type, 'RUNNING', 'claimed', 0]);
  return claimed;
}

function finishSome(done: Claimed[], now: number, entries: Entry[]): void {
  const seqs = JSON.stringify(done.map(({ seq }) => seq));
  finish.run({ now, seqs });
  remove.run(seqs);
  for (const { id } of done) entries.push([id, type, 'COMPLETED', 'completed', 100]);
}

/** Settles what ran and claims what is next in one transaction, until nothing is left. */
function drain(count: number, onRun: (job: Claimed) => void): number {
  const from = elapsed();
  let left = count;
  let done: Claimed[] = [];
  while (left > 0) {
    const now = Date.now();
    const entries: Entry[] = [];
    begin.run();
    if (done.length > 0) finishSome(done, now, entries);
    left -= done.length;
    done = left > 0 ? claimSome(batchSize, now, entries) : [];
    feed.run(now, JSON.stringify(entries));
    commit.run();
    for (const job of done) onRun(job);
    if (left > 0 && done.length === 0) throw new Error(`${left} jobs are missing.`);
  }
  return elapsed() - from;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const notifyFile = `${file}-bare-bell`;
const receivedElapsed: number[] = [];

let taken: ReturnType<typeof claimSome> = [];

/** One durable commit that makes a job and takes it. */
function createAndClaim(n: number): void {
  const now = Date.now();
  const entries: Entry[] = [];
  begin.run();
  insertOne(n, now, entries);
  taken = claimSome(1, now, entries);
  feed.run(now, JSON.stringify(entries));
  commit.run();
}

function endTaken(): void {
  const now = Date.now();
  const ends: Entry[] = [];
  begin.run();
  finishSome(taken, now, ends);
  feed.run(now, JSON.stringify(ends));
  commit.run();
}

const ask: BareAsk = {
  enqueueOneByOne: async (count) => createInGroups(count, 1),
  enqueueInFlight: async (count, inFlight) => createInGroups(count, inFlight),
  enqueueBulk: async (count, size) => createInGroups(count, size),

  async fill(count) {
    createInGroups(count, batchSize);
  },

  async drain(count) {
    let left = count;
    const tookMs = drain(count, () => {
      left--;
    });
    if (left !== 0) throw new Error(`${left} of ${count} jobs did not run.`);
    return tookMs;
  },

  async latencyHere(count) {
    const took: number[] = [];
    for (let n = 0; n < count; n++) {
      const from = elapsed();
      createAndClaim(n);
      took.push(elapsed() - from);
      endTaken();
      await wait(2);
    }
    return took;
  },

  async commitOne(n) {
    createAndClaim(n);
  },

  async endOne() {
    endTaken();
  },

  async listen() {
    writeFileSync(notifyFile, '0');
    const look = () => {
      for (;;) {
        const now = Date.now();
        const entries: Entry[] = [];
        begin.run();
        const claimed = claimSome(20, now, entries);
        if (claimed.length > 0) feed.run(now, JSON.stringify(entries));
        commit.run();
        const at = elapsed();
        for (const { input } of claimed) receivedElapsed[(JSON.parse(input) as { n: number }).n] = at;
        if (claimed.length === 0) return;
        const ends: Entry[] = [];
        begin.run();
        finishSome(claimed, now, ends);
        feed.run(now, JSON.stringify(ends));
        commit.run();
      }
    };
    watch(notifyFile, look);
    look();
  },

  async send(count, gapMs) {
    const sent: number[] = [];
    for (let n = 0; n < count; n++) {
      sent.push(elapsed());
      const now = Date.now();
      const entries: Entry[] = [];
      begin.run();
      insertOne(n, now, entries);
      feed.run(now, JSON.stringify(entries));
      commit.run();
      writeFileSync(notifyFile, String(n));
      await wait(gapMs);
    }
    return sent;
  },

  async sendInTransaction(count, gapMs) {
    const sent: number[] = [];
    for (let n = 0; n < count; n++) {
      const now = Date.now();
      const entries: Entry[] = [];
      begin.run();
      insertOne(n, now, entries);
      feed.run(now, JSON.stringify(entries));
      sent.push(elapsed());
      commit.run();
      writeFileSync(notifyFile, String(n));
      await wait(gapMs);
    }
    return sent;
  },

  async received(count) {
    while (receivedElapsed.filter((one) => one !== undefined).length < count) await wait(5);
    return receivedElapsed.splice(0);
  },

  async precision(count, overMs) {
    const late: number[] = [];
    const firstAt = Date.now() + leadMs(count);
    const dueAt = (n: number) => firstAt + Math.floor((n * overMs) / count);
    begin.run();
    const entries: Entry[] = [];
    for (let n = 0; n < count; n++) {
      const id = newId();
      insertLater.run({ id, due: dueAt(n), now: Date.now(), input: `{"n":${n}}` });
      entries.push([id, type, 'SCHEDULED', 'created', 0]);
    }
    feed.run(Date.now(), JSON.stringify(entries));
    commit.run();
    let done: Claimed[] = [];
    while (late.length < count) {
      const now = Date.now();
      const changes: Entry[] = [];
      begin.run();
      if (done.length > 0) finishSome(done, now, changes);
      for (const { id } of promote.all({ now, type }) as unknown as { id: string }[]) {
        changes.push([id, type, 'PENDING', 'due', 0]);
      }
      done = claimSome(20, now, changes);
      if (changes.length > 0) feed.run(now, JSON.stringify(changes));
      commit.run();
      const at = performance.timeOrigin + performance.now();
      for (const { input } of done) late.push(at - dueAt((JSON.parse(input) as { n: number }).n));
      if (done.length > 0) continue;
      const { at: next } = nextDue.get(type) as { at: number | null };
      if (next !== null) await wait(Math.max(0, next - Date.now()));
    }
    return late;
  },

  async fillFuture(count) {
    const due = Date.now() + yearMs;
    for (let n = 0; n < count; ) {
      const now = Date.now();
      const entries: Entry[] = [];
      begin.run();
      for (const until = Math.min(count, n + batchSize); n < until; n++) {
        const id = newId();
        insertLater.run({ id, due, now, input: `{"n":${n}}` });
        entries.push([id, type, 'SCHEDULED', 'created', 0]);
      }
      feed.run(now, JSON.stringify(entries));
      commit.run();
    }
  },

  async writeBurst(count) {
    return writeBurst(count);
  },
};

let burstCount = 0;

// As long as a schedule's id without its prefix.
const hashLength = 26;
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, hashLength);

/** Decided schedules: the schedule's row moves on, the ledger has a row, the job exists. The schedules are made first, unmeasured. */
function writeBurst(count: number): number {
  const { schedule, slot, slotJob } = samples;
  const addSchedule = db.prepare(insertLike('schedules', schedule, { id: ':id', name: ':id' }));
  const addSlot = db.prepare(
    insertLike('slots', slot, {
      schedule_id: ':schedule',
      job_id: ':job',
      from_at: ':now',
      to_at: ':now',
      decided_at: ':now',
      last_decided_at: ':now',
    }),
  );
  const addJob = db.prepare(
    insertLike('jobs', slotJob, {
      id: ':job',
      schedule_id: ':schedule',
      rank: ':now',
      due_at: ':now',
      created_at: ':now',
      updated_at: ':now',
      input: ':input',
    }),
  );
  const moveOn = db.prepare(
    `UPDATE schedules SET state = :state, due_at = :due, version = version + 1, updated_at = :now, fence = :fence
    WHERE id = :schedule AND version = :version`,
  );
  const part = burstCount++;
  // Scattered like the product's, which are hashes: in their order of making every index would be filled at its end.
  const ids = Array.from({ length: count }, (_, n) => `sch_${hashOf(`${part} ${n}`)}`);
  const idOf = (n: number) => ids[n] as string;
  begin.run();
  for (let n = 0; n < count; n++) addSchedule.run({ id: idOf(n) });
  commit.run();
  const state = String((schedule as Row).state);
  const version = Number((schedule as Row).version);
  const from = elapsed();
  for (let n = 0; n < count; ) {
    const now = Date.now();
    const entries: Entry[] = [];
    begin.run();
    const { value } = fences.get(batchSize) as { value: number };
    for (const until = Math.min(count, n + batchSize); n < until; n++) {
      const job = newId();
      const id = idOf(n);
      addJob.run({ job, schedule: id, now, input: `{"n":${n}}` });
      addSlot.run({ schedule: id, job, now });
      moveOn.run({ schedule: id, state, due: now + yearMs, now, fence: value - n, version });
      entries.push([job, type, 'PENDING', 'created', 0]);
    }
    feed.run(now, JSON.stringify(entries));
    commit.run();
  }
  return elapsed() - from;
}

port.on('message', async ({ id, ability, args }: BareCall) => {
  if (ability === 'close') {
    db.close();
    process.exit(0);
  }
  try {
    const call = ask[ability] as (...args: unknown[]) => Promise<unknown>;
    port.postMessage({ id, value: await call(...args) });
  } catch (error) {
    port.postMessage({ id, error: (error as Error).stack });
  }
});
