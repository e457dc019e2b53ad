// plainjob as a contestant: better-sqlite3, its fastest poll, and the same durability as everyone (it sets synchronous=NORMAL itself).
import { type Contestant, type ContestantPlace, elapsed, leadMs, pause } from '../../contestant.ts';
import { loadPeer } from '../../peer-module.ts';

/** The slice of its API that is used. */
interface Plainjob {
  better(database: unknown): unknown;
  defineQueue(options: { connection: unknown; logger: object }): Queue;
  defineWorker(
    type: string,
    run: (job: { data: string }) => Promise<void>,
    options: { queue: Queue; logger: object; pollIntervall: number; onCompleted?: () => void },
  ): { start(): Promise<void>; stop(): Promise<void> };
}

interface Queue {
  add(type: string, data: unknown, options?: { delay?: number }): unknown;
  addMany(type: string, data: unknown[], options?: { delay?: number }): unknown;
  close(): void;
}

interface BetterSqlite {
  default: new (file: string) => { pragma(text: string): unknown };
}

// Its default is a second. Below this it is a busy loop.
const pollMs = 5;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** See `ContestantModule`. */
export async function createContestant({ folder }: ContestantPlace): Promise<Contestant> {
  const { better, defineQueue, defineWorker } = await loadPeer<Plainjob>('plainjob');
  const { default: Database } = await loadPeer<BetterSqlite>('better-sqlite3');
  const database = new Database(`${folder}/plainjob.db`);
  const queue = defineQueue({ connection: better(database), logger: silent });
  database.pragma('synchronous = FULL');
  database.pragma('cache_size = -32000');
  let onRun: (n: number) => void = () => {};
  let onCompleted: () => void = () => {};
  // A new worker for every start: one that was stopped and is started again never sleeps, and starves the event loop.
  let stopWorker: (() => Promise<void>) | null = null;
  function start(): void {
    if (stopWorker !== null) return;
    const worker = defineWorker('bench', async ({ data }) => onRun((JSON.parse(data) as { n: number }).n), {
      queue,
      logger: silent,
      pollIntervall: pollMs,
      onCompleted: () => onCompleted(),
    });
    const running = worker.start();
    stopWorker = async () => {
      stopWorker = null;
      await worker.stop();
      await running;
    };
  }
  const receivedElapsed: number[] = [];

  return {
    async enqueueOneByOne(count) {
      const from = elapsed();
      for (let n = 0; n < count; n++) queue.add('bench', { n });
      return elapsed() - from;
    },
    // It is synchronous: calls in flight are calls one by one.
    async enqueueInFlight(count) {
      const from = elapsed();
      for (let n = 0; n < count; n++) queue.add('bench', { n });
      return elapsed() - from;
    },
    async enqueueBulk(count, size) {
      const from = elapsed();
      for (let n = 0; n < count; n += size) {
        queue.addMany(
          'bench',
          Array.from({ length: Math.min(size, count - n) }, (_, i) => ({ n: n + i })),
        );
      }
      return elapsed() - from;
    },
    async fill(count) {
      await stopWorker?.();
      queue.addMany(
        'bench',
        Array.from({ length: count }, (_, n) => ({ n })),
      );
    },
    async drain(count) {
      let left = count;
      const done = new Promise<void>((resolve) => {
        onCompleted = () => {
          if (--left === 0) resolve();
        };
      });
      const from = elapsed();
      start();
      await done;
      return elapsed() - from;
    },
    async latencyHere(count) {
      start();
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const done = new Promise<void>((resolve) => {
          onCompleted = resolve;
        });
        const from = elapsed();
        onRun = () => took.push(elapsed() - from);
        queue.add('bench', { n });
        await done;
        await pause(2);
      }
      return took;
    },
    async listen() {
      onRun = (n) => {
        receivedElapsed[n] = elapsed();
      };
      start();
    },
    async send(count, gapMs) {
      const sent: number[] = [];
      for (let n = 0; n < count; n++) {
        sent.push(elapsed());
        queue.add('bench', { n });
        await pause(gapMs);
      }
      return sent;
    },
    async received(count) {
      while (receivedElapsed.filter((one) => one !== undefined).length < count) await pause(5);
      return receivedElapsed.splice(0);
    },
    async precision(count, overMs) {
      start();
      const late: number[] = [];
      const dueAts: number[] = [];
      const done = new Promise<void>((resolve) => {
        onRun = (n) => {
          late.push(performance.timeOrigin + performance.now() - (dueAts[n] as number));
          if (late.length === count) resolve();
        };
      });
      const firstAt = Date.now() + leadMs(count);
      for (let n = 0; n < count; n++) {
        const now = Date.now();
        const delay = Math.max(0, firstAt + Math.floor((n * overMs) / count) - now);
        dueAts[n] = now + delay;
        queue.add('bench', { n }, { delay });
        if (n % 20 === 0) await pause(0);
      }
      await done;
      return late;
    },
    async idle(forMs) {
      start();
      await pause(1_000);
      const cpu = process.cpuUsage();
      const from = elapsed();
      await pause(forMs);
      const tookMs = elapsed() - from;
      const { user, system } = process.cpuUsage(cpu);
      return { callsPerSecond: null, cpuPercent: (user + system) / 10 / tookMs };
    },
    async close() {
      await stopWorker?.();
      queue.close();
    },
  };
}
