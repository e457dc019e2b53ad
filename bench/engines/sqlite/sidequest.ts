// sidequest as a contestant: jobs inline in the process (no thread to start), WAL, its fastest poll, no limit on concurrency that binds.
import { type Contestant, type ContestantPlace, elapsed, leadMs, pause } from '../../contestant.ts';
import { loadPeer } from '../../peer-module.ts';
import type { SidequestHooks } from './sidequest-job.ts';

/** The slice of its API that is used. */
interface SidequestEngine {
  configure(config: object): Promise<object>;
  start(config: object): Promise<void>;
  build(job: unknown): Builder;
  getBackend(): { countJobs(): Promise<{ completed: number }> } | undefined;
  close(): Promise<void>;
}

interface Builder {
  queue(name: string): Builder;
  availableAt(date: Date): Builder;
  enqueue(...args: unknown[]): Promise<unknown>;
}

interface Connection {
  pragma(text: string): unknown;
}

const concurrency = 100;
// Its default is 100 ms.
const pollMs = 5;

/** See `ContestantModule`. */
export async function createContestant({ folder }: ContestantPlace): Promise<Contestant> {
  const { Engine } = await loadPeer<{ Engine: new () => SidequestEngine }>('@sidequest/engine');
  const { BenchJob } = await import('./sidequest-job.ts');
  const hooks = globalThis as SidequestHooks;
  let engine = new Engine();
  const config = {
    backend: {
      driver: '@sidequest/sqlite-backend',
      config: {
        connection: { filename: `${folder}/sidequest.db` },
        pool: {
          min: 1,
          max: 1,
          afterCreate(connection: Connection, done: (error: null, connection: Connection) => void) {
            connection.pragma('journal_mode = WAL');
            connection.pragma('synchronous = FULL');
            connection.pragma('busy_timeout = 5000');
            connection.pragma('cache_size = -32000');
            done(null, connection);
          },
        },
      },
    },
    queues: [{ name: 'bench', concurrency, state: 'active' }],
    maxConcurrentJobs: concurrency,
    logger: { level: 'error' },
    fork: false,
    runner: 'inline',
    gracefulShutdown: false,
    jobPollingInterval: pollMs,
  };
  await engine.configure(config);
  let isStarted = false;
  async function start(): Promise<void> {
    if (isStarted) return;
    isStarted = true;
    await engine.start(config);
  }
  const create = (n: number) => engine.build(BenchJob).queue('bench').enqueue(n);
  const completedCount = async () => (await engine.getBackend()?.countJobs())?.completed ?? 0;
  const receivedElapsed: number[] = [];

  return {
    async enqueueOneByOne(count) {
      const from = elapsed();
      for (let n = 0; n < count; n++) await create(n);
      return elapsed() - from;
    },
    async enqueueInFlight(count, inFlight) {
      let n = 0;
      const caller = async () => {
        while (n < count) await create(n++);
      };
      const from = elapsed();
      await Promise.all(Array.from({ length: inFlight }, caller));
      return elapsed() - from;
    },
    async fill(count) {
      // An engine that was never started makes jobs and runs none.
      await engine.close();
      engine = new Engine();
      await engine.configure(config);
      isStarted = false;
      for (let n = 0; n < count; n += 50) {
        await Promise.all(Array.from({ length: Math.min(50, count - n) }, (_, i) => create(n + i)));
      }
    },
    async drain(count) {
      const before = await completedCount();
      const from = elapsed();
      await start();
      while ((await completedCount()) < before + count) await pause(20);
      return elapsed() - from;
    },
    async latencyHere(count) {
      await start();
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const ran = new Promise<void>((resolve) => {
          hooks.benchSidequestRun = () => {
            took.push(elapsed() - from);
            resolve();
          };
        });
        const from = elapsed();
        await create(n);
        await ran;
        await pause(5);
      }
      return took;
    },
    async listen() {
      hooks.benchSidequestRun = (n) => {
        receivedElapsed[n] = elapsed();
      };
      await start();
    },
    async send(count, gapMs) {
      const sent: number[] = [];
      for (let n = 0; n < count; n++) {
        sent.push(elapsed());
        await create(n);
        await pause(gapMs);
      }
      return sent;
    },
    async received(count) {
      while (receivedElapsed.filter((one) => one !== undefined).length < count) await pause(5);
      return receivedElapsed.splice(0);
    },
    async precision(count, overMs) {
      await start();
      const late: number[] = [];
      const firstAt = Date.now() + leadMs(count);
      const dueAt = (n: number) => firstAt + Math.floor((n * overMs) / count);
      const done = new Promise<void>((resolve) => {
        hooks.benchSidequestRun = (n) => {
          late.push(performance.timeOrigin + performance.now() - dueAt(n));
          if (late.length === count) resolve();
        };
      });
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          engine
            .build(BenchJob)
            .queue('bench')
            .availableAt(new Date(dueAt(n)))
            .enqueue(n),
        ),
      );
      await done;
      return late;
    },
    async idle(forMs) {
      await start();
      await pause(1_000);
      const cpu = process.cpuUsage();
      const from = elapsed();
      await pause(forMs);
      const tookMs = elapsed() - from;
      const { user, system } = process.cpuUsage(cpu);
      return { callsPerSecond: null, cpuPercent: (user + system) / 10 / tookMs };
    },
    async close() {
      await engine.close();
    },
  };
}
