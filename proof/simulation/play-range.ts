/** Plays a range of seeds on several processes. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import type { SeedReport } from './seed-process.ts';
import type { SimulatedEngine } from './seeds.ts';

/** Which seeds to play and when to stop. */
export interface RangeOptions {
  from: number;
  /** The number of seeds; `Number.POSITIVE_INFINITY` plays until a seed fails or the signal is aborted. */
  count: number;
  /** The number of processes. */
  jobs: number;
  /** Default `sqlite`. */
  engine?: SimulatedEngine;
  /** Plays all seeds, even if some of them fail. */
  keepGoing?: boolean;
  /** The file that each process runs; tests replace it. */
  program?: string;
  /** Stops early. */
  signal?: AbortSignal;
  /** Called for every seed, in no order. */
  onSeed?(report: SeedReport): void;
  /** Called for every failing seed as soon as it is found, in no order. */
  onFailure?(report: SeedReport): void;
}

/** What a range of seeds gave. */
export interface RangeResult {
  /** Failing seeds by number. Without `keepGoing`, the first is the lowest failing seed of the range. */
  failures: SeedReport[];
  playedCount: number;
  elapsedMs: number;
  /** CPU time of all processes. */
  cpuMs: number;
}

// Few enough that all processes end at the same time, and that a failure is not waited for.
const chunkSize = 4;
// TurboFan compiles longer than its code saves within some thousand seeds: 7 % of the CPU time.
const execArgv = ['--disable-warning=ExperimentalWarning', '--no-turbofan'];
const processPath = fileURLToPath(new URL('./seed-process.ts', import.meta.url));

/** Plays seeds in order, some at a time in each process. After a failure it finishes only the seeds below it. */
export async function playRange(options: RangeOptions): Promise<RangeResult> {
  const { from, count, engine = 'sqlite', keepGoing = false, program = processPath, signal } = options;
  const startedAt = systemClock.elapsed();
  const failures: SeedReport[] = [];
  const cpuMs = new Map<ChildProcess, number>();
  const endSeed = from + count;
  let nextSeed = from;
  let playedCount = 0;
  let lowestFailing = Number.POSITIVE_INFINITY;
  const stops = new Set<() => void>();
  const isUseful = (seed: number): boolean =>
    seed < endSeed && signal?.aborted !== true && (keepGoing || seed < lowestFailing);

  const runProcess = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(program, [engine], { execArgv });
      let lastSeed = nextSeed;
      let isEnded = false;
      const end = (error?: Error): void => {
        if (isEnded) return;
        isEnded = true;
        stops.delete(stop);
        signal?.removeEventListener('abort', stop);
        // It may be in the middle of a seed that is of no use any more.
        child.kill('SIGKILL');
        if (error === undefined) resolve();
        else reject(error);
      };
      const stop = (): void => end();
      const give = (): void => {
        if (!isUseful(nextSeed)) {
          end();
          return;
        }
        const chunk = { from: nextSeed, count: Math.min(chunkSize, endSeed - nextSeed) };
        nextSeed += chunk.count;
        lastSeed = nextSeed - 1;
        child.send(chunk);
      };
      stops.add(stop);
      signal?.addEventListener('abort', stop);
      child.on('message', (message) => {
        if (isEnded) return;
        const report = message as SeedReport;
        playedCount++;
        cpuMs.set(child, report.cpuMs);
        options.onSeed?.(report);
        if (report.broken.length > 0) {
          failures.push(report);
          lowestFailing = Math.min(lowestFailing, report.seed);
          options.onFailure?.(report);
        }
        if (report.seed === lastSeed) give();
        else if (!isUseful(report.seed + 1)) end();
      });
      child.on('error', end);
      child.on('exit', (code, killedBy) =>
        end(new Error(`A process that plays seeds ended with ${killedBy ?? `exit code ${code}`}.`)),
      );
      give();
    });

  try {
    await Promise.all(Array.from({ length: options.jobs }, runProcess));
  } finally {
    for (const stop of stops) stop();
  }
  failures.sort((one, other) => one.seed - other.seed);
  const sum = [...cpuMs.values()].reduce((total, ms) => total + ms, 0);
  return { failures, playedCount, elapsedMs: systemClock.elapsed() - startedAt, cpuMs: sum };
}
