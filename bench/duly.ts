// Duly as a contestant, with default options, on whatever store the place names.
import { Duly } from '@duly/core';
import {
  type BurstNews,
  type Contestant,
  type ContestantPlace,
  elapsed,
  leadMs,
  pause,
} from './contestant.ts';
import { storeInternalsOf } from './store-internals.ts';
import { sustain } from './sustain.ts';

interface Numbered {
  n: number;
}

const bulkSize = 1_000;
// Enough to keep the store busy; more would only wait in the batcher.
const bulkInFlight = 4;
const settleMs = 2_000;
const yearMs = 365 * 86_400_000;

/** See `ContestantModule`. */
export async function createContestant({ url }: ContestantPlace): Promise<Contestant> {
  const duly = new Duly({ store: url, logger: false });
  let onRun: (n: number) => void = () => {};
  const task = duly.task({ name: 'bench', run: ({ input }) => onRun((input as Numbered).n) });
  // The store is opened by the first call.
  await duly.counts();
  let isStarted = false;

  async function start(): Promise<void> {
    if (isStarted) return;
    isStarted = true;
    await duly.start();
  }

  async function createMany(count: number, size: number, create: (inputs: Numbered[]) => Promise<unknown>) {
    let created = 0;
    const one = async () => {
      while (created < count) {
        const from = created;
        created = Math.min(count, created + size);
        await create(Array.from({ length: created - from }, (_, i) => ({ n: from + i })));
      }
    };
    await Promise.all(Array.from({ length: bulkInFlight }, one));
  }

  const inside = await storeInternalsOf(url);
  const receivedElapsed: number[] = [];
  const noBurst: BurstNews = {
    firedCount: 0,
    startedCount: 0,
    firstFiredElapsed: null,
    lastFiredElapsed: null,
    lastStartedElapsed: null,
  };
  const burst: BurstNews = { ...noBurst };

  return {
    async enqueueOneByOne(count) {
      const from = elapsed();
      for (let n = 0; n < count; n++) await task.now({ n });
      return elapsed() - from;
    },

    async enqueueInFlight(count, inFlight) {
      let n = 0;
      const caller = async () => {
        while (n < count) await task.now({ n: n++ });
      };
      const from = elapsed();
      await Promise.all(Array.from({ length: inFlight }, caller));
      return elapsed() - from;
    },

    async enqueueBulk(count, size) {
      const from = elapsed();
      await createMany(count, size, (inputs) => task.nowMany(inputs));
      return elapsed() - from;
    },

    async fill(count) {
      await duly.pause({ all: true });
      await start();
      await createMany(count, bulkSize, (inputs) => task.nowMany(inputs));
    },

    async drain(count) {
      let left = count;
      onRun = () => {
        left--;
      };
      // Idle means that everything was handed in as well: the last outcome is recorded.
      const drained = new Promise<void>((resolve) => {
        const off = duly.on('idle', () => {
          if (left > 0) return;
          off();
          resolve();
        });
      });
      const from = elapsed();
      await duly.resume({ all: true });
      await drained;
      return elapsed() - from;
    },

    async latencyHere(count) {
      await start();
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const settled = new Promise<void>((resolve) => {
          const off = duly.on('job.settled', () => {
            off();
            resolve();
          });
        });
        const from = elapsed();
        onRun = () => took.push(elapsed() - from);
        await task.now({ n });
        await settled;
        await pause(2);
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
        await task.now({ n });
        await pause(gapMs);
      }
      return sent;
    },

    ...(inside.openTransactions === undefined
      ? {}
      : {
          async sendInTransaction(count: number, gapMs: number) {
            const own = await inside.openTransactions?.(url);
            if (own === undefined) return [];
            const sent: number[] = [];
            for (let n = 0; n < count; n++) {
              await task.now({ n }, { tx: await own.begin() });
              sent.push(elapsed());
              await own.commit();
              await pause(gapMs);
            }
            await own.close();
            return sent;
          },
        }),

    async received(count) {
      while (receivedElapsed.filter((one) => one !== undefined).length < count) await pause(5);
      return receivedElapsed.splice(0);
    },

    async precision(count, overMs) {
      const startedElapsed: number[] = [];
      const done = new Promise<void>((resolve) => {
        let left = count;
        onRun = (n) => {
          startedElapsed[n] = elapsed();
          if (--left === 0) resolve();
        };
      });
      await start();
      // Made first, so that making them does not disturb what is measured.
      const firstAt = Date.now() + leadMs(count);
      const dueAt = (n: number) => firstAt + Math.floor((n * overMs) / count);
      await Promise.all(Array.from({ length: count }, (_, n) => task.at(dueAt(n), { n })));
      await done;
      const offset = await (await storeInternalsOf(url)).readStoreOffset(url);
      return startedElapsed.map((at, n) => offset + at - dueAt(n));
    },

    async fillFuture(count) {
      await createMany(count, bulkSize, (inputs) => task.inMany(yearMs, inputs));
    },

    async createSchedules(count, dueAt, firstNumber = 0) {
      const at = new Date(dueAt);
      const cron = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
      let n = firstNumber;
      const one = async () => {
        while (n < firstNumber + count) {
          const input = { n: n++ };
          await task.every(cron, input, { name: `bench-${input.n}` });
        }
      };
      await Promise.all(Array.from({ length: 50 }, one));
    },

    async awaitBurst() {
      Object.assign(burst, noBurst);
      if (isStarted) return;
      onRun = () => {
        burst.startedCount++;
        burst.lastStartedElapsed = elapsed();
      };
      duly.on('schedule.fired', () => {
        burst.firedCount++;
        burst.lastFiredElapsed = elapsed();
        burst.firstFiredElapsed ??= burst.lastFiredElapsed;
      });
      await start();
    },

    async dieInBurst() {
      duly.on('call', ({ verb }) => {
        if (verb === 'claimSchedules' && burst.firedCount > 0) process.kill(process.pid, 'SIGKILL');
      });
    },

    async burstNews() {
      return { ...burst };
    },

    async storeTime(at) {
      return (await (await storeInternalsOf(url)).readStoreOffset(url)) + at;
    },

    sustain: (options) => sustain(url, options),

    async idle(forMs) {
      await start();
      // The first moments prove notifications, send heartbeats and read the state.
      await pause(settleMs);
      let calls = 0;
      const off = duly.on('call', () => {
        calls++;
      });
      const cpu = process.cpuUsage();
      const from = elapsed();
      await pause(forMs);
      const tookMs = elapsed() - from;
      const { user, system } = process.cpuUsage(cpu);
      off();
      return {
        callsPerSecond: calls / (tookMs / 1_000),
        // Microseconds of processor in milliseconds of time, in percent.
        cpuPercent: (user + system) / 10 / tookMs,
      };
    },

    idleStatements: (forMs) => idleStatements(url, forMs),

    async memory() {
      await start();
      for (let n = 0; n < 20; n++) await task.now({ n });
      await pause(500);
      globalThis.gc?.();
      await pause(200);
      return process.memoryUsage.rss();
    },

    async close() {
      await duly.stop({ drain: 0 });
    },
  };
}

/** Statements in a second of a second node that counts them. */
async function idleStatements(url: string, forMs: number): Promise<number> {
  const counted = (await storeInternalsOf(url)).countStatements(url);
  const duly = new Duly({ store: counted.url, logger: false });
  duly.task({ name: 'bench', run: () => {} });
  await duly.start();
  await pause(settleMs);
  const before = counted.read();
  const from = elapsed();
  await pause(forMs);
  const perSecond = (counted.read() - before) / ((elapsed() - from) / 1_000);
  await duly.stop();
  return perSecond;
}
