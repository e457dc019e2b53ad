// What all peers on PostgreSQL do alike as contestants.
import pg from 'pg';
import { type Contestant, type ContestantPlace, elapsed, leadMs, pause } from '../../contestant.ts';

/** A peer by its own calls. */
export interface Peer {
  /** Makes a job, due now or at an instant. */
  add(n: number, dueAt?: number): Promise<unknown>;
  addMany(numbers: number[]): Promise<unknown>;
  /** Makes a job in a transaction of the program's own; left out: it cannot. */
  addInTransaction?(client: pg.Client, n: number): Promise<unknown>;
  start(onRun: (n: number) => void): Promise<void>;
  stop(): Promise<void>;
  /** Jobs that are not recorded as over. */
  leftCount(): Promise<number>;
  close(): Promise<void>;
}

const bulkSize = 1_000;
const numbersFrom = (from: number, until: number) => Array.from({ length: until - from }, (_, i) => from + i);

/** Makes a contestant of it. */
export function createPeerContestant({ url }: ContestantPlace, peer: Peer): Contestant {
  let onRun: (n: number) => void = () => {};
  let isStarted = false;
  const receivedElapsed: number[] = [];
  async function start(): Promise<void> {
    if (isStarted) return;
    isStarted = true;
    await peer.start((n) => onRun(n));
  }
  async function stop(): Promise<void> {
    if (isStarted) await peer.stop();
    isStarted = false;
  }
  async function timed(work: () => Promise<unknown>): Promise<number> {
    const from = elapsed();
    await work();
    return elapsed() - from;
  }
  async function inFlight(
    count: number,
    callers: number,
    add: (n: number) => Promise<unknown>,
  ): Promise<void> {
    let n = 0;
    const caller = async () => {
      while (n < count) await add(n++);
    };
    await Promise.all(Array.from({ length: callers }, caller));
  }
  const { addInTransaction } = peer;

  return {
    enqueueOneByOne: (count) => timed(() => inFlight(count, 1, (n) => peer.add(n))),
    enqueueInFlight: (count, callers) => timed(() => inFlight(count, callers, (n) => peer.add(n))),
    enqueueBulk: (count, size) =>
      timed(async () => {
        for (let n = 0; n < count; n += size) await peer.addMany(numbersFrom(n, Math.min(count, n + size)));
      }),
    async fill(count) {
      await stop();
      for (let n = 0; n < count; n += bulkSize)
        await peer.addMany(numbersFrom(n, Math.min(count, n + bulkSize)));
      // What autovacuum would do a minute later: a table that was just filled has no statistics, and plans go astray.
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('ANALYZE');
      await client.end();
    },
    drain: () =>
      timed(async () => {
        await start();
        while ((await peer.leftCount()) > 0) await pause(10);
      }),
    async latencyHere(count) {
      await start();
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const ran = Promise.withResolvers<void>();
        const from = elapsed();
        onRun = () => {
          took.push(elapsed() - from);
          ran.resolve();
        };
        await peer.add(n);
        await ran.promise;
        await pause(5);
      }
      return took;
    },
    async listen() {
      onRun = (n) => {
        receivedElapsed[n] = elapsed();
      };
      await start();
    },
    async send(count, gapMs) {
      const sent: number[] = [];
      for (let n = 0; n < count; n++) {
        sent.push(elapsed());
        await peer.add(n);
        await pause(gapMs);
      }
      return sent;
    },
    ...(addInTransaction === undefined
      ? {}
      : {
          async sendInTransaction(count: number, gapMs: number) {
            const client = new pg.Client({ connectionString: url });
            await client.connect();
            const sent: number[] = [];
            for (let n = 0; n < count; n++) {
              await client.query('BEGIN');
              await addInTransaction(client, n);
              sent.push(elapsed());
              await client.query('COMMIT');
              await pause(gapMs);
            }
            await client.end();
            return sent;
          },
        }),
    async received(count) {
      while (receivedElapsed.filter((one) => one !== undefined).length < count) await pause(5);
      return receivedElapsed.splice(0);
    },
    async precision(count, overMs) {
      await start();
      const late: number[] = [];
      const done = Promise.withResolvers<void>();
      const firstAt = Date.now() + leadMs(count);
      const dueAt = (n: number) => firstAt + Math.floor((n * overMs) / count);
      onRun = (n) => {
        late.push(performance.timeOrigin + performance.now() - dueAt(n));
        if (late.length === count) done.resolve();
      };
      await inFlight(count, 50, (n) => peer.add(n, dueAt(n)));
      await done.promise;
      return late;
    },
    async idle(forMs) {
      await start();
      await pause(2_000);
      const cpu = process.cpuUsage();
      const tookMs = await timed(() => pause(forMs));
      const { user, system } = process.cpuUsage(cpu);
      return { callsPerSecond: null, cpuPercent: (user + system) / 10 / tookMs };
    },
    async close() {
      await stop();
      await peer.close();
    },
  };
}
