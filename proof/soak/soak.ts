/** A soak: one node under a steady mixed load, measured again and again; what grows without end shows as a slope. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duly, openEngine, systemClock } from '../../packages/core/src/index.ts';
import { seededRandom } from '../../packages/core/src/random.ts';
import { type LoadCounts, retentionMs, startLoad } from './load.ts';
import { type Sample, type Tolerance, type Trend, trendOf } from './trend.ts';

/** How to soak. */
export interface SoakOptions {
  minutes: number;
  seed: number;
  /** Told every sample, for people. */
  say?(sample: Record<MeasureName, number> & { s: number }): void;
}

/** What is measured, in which unit, and what counts as flat. */
export const measures = {
  rssMb: { title: 'memory of the process (RSS), MB', share: 0.1, amount: 10 },
  heapMb: { title: 'heap after a collection, MB', share: 0.1, amount: 2 },
  fileMb: { title: 'file and WAL, MB', share: 0.1, amount: 1 },
  handles: { title: 'open handles', share: 0, amount: 2 },
  descriptors: { title: 'open files', share: 0, amount: 2 },
  latencyMs: { title: 'now() to start, middle, ms', share: 0.25, amount: 3 },
  latencyP95Ms: { title: 'now() to start, 95 of 100, ms', share: 0.5, amount: 15 },
  liveJobs: { title: 'jobs that are not over', share: 0.2, amount: 30 },
} as const satisfies Record<string, Tolerance & { title: string }>;

/** The name of a measure. */
export type MeasureName = keyof typeof measures;

/** What came of a soak. */
export interface SoakReport {
  seed: number;
  minutes: number;
  samples: (Record<MeasureName, number> & { s: number })[];
  trends: Record<MeasureName, Trend>;
  counts: LoadCounts;
  isFlat: boolean;
}

const names = Object.keys(measures) as MeasureName[];
// A slope needs points, and a collection before each costs time.
const sampleCountMax = 150;
const sampleMsMin = 1_000;
// The node prunes jobs by its tasks' retention by itself, every minute. Feed, audit and ledger are kept for days and months, which no
// soak sees the end of; so that they too come to rest here, they are pruned as if their retention were short.
const pruneEveryMs = 5_000;

/** Soaks. Needs `node --expose-gc` to measure the heap without what could be collected. */
export async function soak({ minutes, seed, say = () => {} }: SoakOptions): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-soak-'));
  const path = join(folder, 'duly.db');
  const duly = new Duly({ store: `sqlite:${path}`, app: 'soak' });
  const samples: SoakReport['samples'] = [];
  try {
    const load = await startLoad(duly, seededRandom(seed));
    const keeper = keepShort(path);
    const sinceElapsed = systemClock.elapsed();
    const sampleMs = Math.max(sampleMsMin, (minutes * 60_000) / sampleCountMax);
    for (let i = 1; systemClock.elapsed() - sinceElapsed < minutes * 60_000; i++) {
      await systemClock.sleep(sinceElapsed + i * sampleMs - systemClock.elapsed());
      const sample = {
        s: (systemClock.elapsed() - sinceElapsed) / 1000,
        ...(await measure(duly, path, load)),
      };
      samples.push(sample);
      say(sample);
    }
    await load.stop();
    await keeper.stop();
    const trends = Object.fromEntries(
      names.map((name) => [name, trendOf(seriesOf(samples, name), measures[name])]),
    ) as SoakReport['trends'];
    const hasFailed = Object.keys(load.counts.failures).length > 0;
    const isFlat = names.every((name) => trends[name].isFlat) && !hasFailed;
    return { seed, minutes, samples, trends, counts: load.counts, isFlat };
  } finally {
    await duly.stop({ drain: '5s' });
    rmSync(folder, { recursive: true, force: true });
  }
}

function seriesOf(samples: SoakReport['samples'], name: MeasureName): Sample[] {
  return samples.map((sample) => ({ s: sample.s, value: sample[name] }));
}

function keepShort(path: string): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    const engine = await openEngine(`sqlite:${path}?inline=1`);
    while (!stopping.signal.aborted) {
      const short = { ledgerMs: retentionMs, auditMs: retentionMs, changesMs: retentionMs };
      while ((await engine.prune({ limit: 500, ...short })).more) await systemClock.sleep(20);
      await systemClock.sleep(pruneEveryMs, stopping.signal);
    }
    await engine.close();
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function measure(
  duly: Duly,
  path: string,
  load: { takeLatencies(): number[] },
): Promise<Record<MeasureName, number>> {
  const { status } = await duly.counts();
  const latencies = load.takeLatencies().sort((one, other) => one - other);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rssMb: rss / 1e6,
    heapMb: heapUsed / 1e6,
    fileMb: (sizeOf(path) + sizeOf(`${path}-wal`)) / 1e6,
    handles: countHandles(),
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0,
    latencyMs: at(0.5),
    latencyP95Ms: at(0.95),
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

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
