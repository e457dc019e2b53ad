/** A soak: one node under a steady mixed load, measured again and again; what grows without end shows as a slope. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import { Duly, roles, systemClock } from '../../packages/core/src/index.ts';
import { type LoadCounts, startLoad } from './load.ts';
import { type LooseTolerance, type Sample, stepOf, type Tolerance, type Trend, trendOf } from './trend.ts';
import { startYardstick } from './yardstick.ts';

/** How to soak. */
export interface SoakOptions {
  minutes: number;
  seed: number;
  /** How long everything that is over is kept. Default 15 s. */
  retentionMs?: number;
  /** Something to be found, for the soak's own test: `prune`: nobody prunes; `heap`: every call keeps some memory. */
  leak?: Leak;
  /** Ends the run before its time: it is judged by what was sampled until then. */
  signal?: AbortSignal;
  /** Told every sample, for people. */
  say?(sample: SoakSample): void;
}

/** What a soak can be told to do wrong. */
export const leaks = ['prune', 'heap'] as const;

/** One of them. */
export type Leak = (typeof leaks)[number];

/** What is measured, in which unit, and what counts as flat. */
export const measures = {
  // The thread of an isolated task takes some 40 MB while it is there; smaller leaks show in the heap.
  rssMb: { title: 'memory of the process (RSS), MB', share: 0.1, amount: 40 },
  heapMb: { title: 'heap after a collection, MB', share: 0.1, amount: 2 },
  fileMb: { title: 'file and WAL, MB', share: 0.1, amount: 1 },
  storeMb: { title: 'pages of the file in use, MB', share: 0.15, amount: 0.3 },
  rows: { title: 'rows of all tables', share: 0.2, amount: 150 },
  // A thread of an isolated task that is there or not makes some of these.
  handles: { title: 'open handles', share: 0, amount: 3 },
  descriptors: { title: 'open files', share: 0, amount: 8 },
  latencyMs: { title: 'now() to start, middle, ms', times: 3, amount: 50 },
  liveJobs: { title: 'jobs that are not over', share: 0.2, amount: 30 },
} as const satisfies Record<string, (Tolerance | LooseTolerance) & { title: string }>;

/** The name of a measure. */
export type MeasureName = keyof typeof measures;

/** What was measured at one time. */
export type SoakSample = Record<MeasureName, number> & {
  /** Seconds since the run began. */
  s: number;
  /** The slowest write of the yardstick since the sample before. */
  machineMs: number;
};

/** What came of a soak. */
export interface SoakReport {
  seed: number;
  minutes: number;
  samples: SoakSample[];
  /** Samples that were judged: those that a busy machine did not disturb. */
  calmCount: number;
  trends: Record<MeasureName, Trend>;
  counts: LoadCounts;
  verdict: Verdict;
}

/**
 * Whether nothing grew and no call failed. Of a run with few samples, or on a machine that was busy for most of it, nothing can be said; nor of
 * one whose latencies the machine bent so much that what would count as flat means nothing.
 */
export type Verdict = 'flat' | 'not flat' | 'too short to tell' | 'too noisy to tell';

const names = Object.keys(measures) as MeasureName[];
// A slope needs points, and a collection before each costs time.
const sampleCountMax = 150;
const sampleMsMin = 1_000;
// A small durable write takes a few milliseconds; a machine that needs more than this is busy with something else.
const machineMsMax = 100;
// Fewer, and a slope through half of them is chance.
const sampleCountMin = 20;
const defaultRetentionMs = 15_000;
// Five megabytes a minute at 40 calls a second.
const leakedBytes = 2_000;

/** Soaks. Needs `node --expose-gc` to measure the heap without what could be collected. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { minutes, seed, retentionMs = defaultRetentionMs, leak, signal, say = () => {} } = options;
  const folder = mkdtempSync(join(tmpdir(), 'duly-soak-'));
  const path = join(folder, 'duly.db');
  const duly = new Duly({
    store: `sqlite:${path}`,
    app: 'soak',
    retention: { changes: retentionMs, audit: retentionMs, ledger: retentionMs },
  });
  const leaked: unknown[] = [];
  if (leak === 'heap')
    duly.on('call', () => leaked.push(Array.from({ length: leakedBytes / 8 }, () => ({}))));
  const samples: SoakSample[] = [];
  const yardstick = startYardstick(join(folder, 'yardstick'));
  try {
    const load = await startLoad(duly, {
      random: seededRandom(seed),
      retentionMs,
      roles: leak === 'prune' ? roles.filter((role) => role !== 'maintenance') : roles,
    });
    const sinceElapsed = systemClock.elapsed();
    const sampleMs = Math.max(sampleMsMin, (minutes * 60_000) / sampleCountMax);
    for (let i = 1; systemClock.elapsed() - sinceElapsed < minutes * 60_000; i++) {
      await systemClock.sleep(sinceElapsed + i * sampleMs - systemClock.elapsed(), signal);
      if (signal?.aborted) break;
      const sample = {
        s: (systemClock.elapsed() - sinceElapsed) / 1000,
        ...(await measure(duly, path, load)),
        machineMs: yardstick.takeSlowestMs(),
      };
      samples.push(sample);
      say(sample);
    }
    await load.stop();
    const calm = samples.filter(({ machineMs }) => machineMs <= machineMsMax);
    const trends = Object.fromEntries(
      names.map((name) => [name, judge(seriesOf(calm, name), measures[name])]),
    ) as SoakReport['trends'];
    const hasFailed = Object.keys(load.counts.failures).length > 0;
    const isFlat = names.every((name) => trends[name].isFlat);
    const verdict =
      hasFailed || (!isFlat && calm.length >= sampleCountMin)
        ? 'not flat'
        : calm.length < sampleCountMin
          ? 'too short to tell'
          : names.some((name) => trends[name].isTooNoisy)
            ? 'too noisy to tell'
            : 'flat';
    return { seed, minutes, samples, calmCount: calm.length, trends, counts: load.counts, verdict };
  } finally {
    await duly.stop({ drain: '5s' });
    await yardstick.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function seriesOf(samples: readonly SoakSample[], name: MeasureName): Sample[] {
  return samples.map((sample) => ({ s: sample.s, value: sample[name] }));
}

function judge(samples: readonly Sample[], tolerance: Tolerance | LooseTolerance): Trend {
  return 'times' in tolerance ? stepOf(samples, tolerance) : trendOf(samples, tolerance);
}

async function measure(
  duly: Duly,
  path: string,
  load: { takeLatencies(): number[] },
): Promise<Omit<SoakSample, 's' | 'machineMs'>> {
  const { status } = await duly.counts();
  const latencies = load.takeLatencies().sort((one, other) => one - other);
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rssMb: rss / 1e6,
    heapMb: heapUsed / 1e6,
    fileMb: (sizeOf(path) + sizeOf(`${path}-wal`)) / 1e6,
    ...readStore(path),
    handles: countHandles(),
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0,
    latencyMs: latencies[latencies.length >> 1] ?? 0,
    liveJobs:
      status.PENDING.count +
      status.SCHEDULED.count +
      status.RUNNING.count +
      status.RETRYING.count +
      status.BLOCKED.count,
  };
}

/** What keeps a process alive, but for timers: those come and go with the load. */
function countHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'Immediate').length;
}

/** What the store holds, read beside the product: a file keeps the pages that were freed, so its size tells of a leak only late. */
function readStore(path: string): { storeMb: number; rows: number } {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const read = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0] as number;
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return {
      storeMb: ((read('PRAGMA page_count') - read('PRAGMA freelist_count')) * read('PRAGMA page_size')) / 1e6,
      rows: tables.reduce((sum, { name }) => sum + read(`SELECT count(*) FROM "${name}"`), 0),
    };
  } finally {
    database.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
