/** A steady mixed load: everything that Duly does, a little of each, again and again. */

import type { Random } from '../../packages/core/src/base/random.ts';
import { type Duly, type JobHandle, type Role, systemClock } from '../../packages/core/src/index.ts';
import { runIsolated } from './isolated-task.ts';

/** What the load has done so far. */
export interface LoadCounts {
  /** By kind of call. */
  calls: Record<string, number>;
  /** Calls that failed, by code. */
  failures: Record<string, number>;
}

/** A load that runs. */
export interface Load {
  counts: LoadCounts;
  /** Milliseconds from `now()` to the handler's first line, of those since it was last asked. */
  takeLatencies(): number[];
  stop(): Promise<void>;
}

/** What a load is made of. */
export interface LoadOptions {
  random: Random;
  /** How long what is over is kept: short, so that a soak of minutes sees it go. */
  retentionMs: number;
  /** What the node does; without maintenance nobody prunes. */
  roles: readonly Role[];
}

// As many calls a second as leave a small machine mostly idle: it is the hours that count, not the speed.
const callsPerSecond = 40;
const flyingMax = 50;

/** Defines the tasks and schedules, starts the node and the load. */
export async function startLoad(duly: Duly, { random, retentionMs, roles }: LoadOptions): Promise<Load> {
  const counts: LoadCounts = { calls: {}, failures: {} };
  let latencies: number[] = [];
  const upTo = (count: number) => Math.floor(random.next() * count);
  const kept = { retention: retentionMs, deadRetention: retentionMs };
  const count = (kind: string) => {
    counts.calls[kind] = (counts.calls[kind] ?? 0) + 1;
  };

  const plain = duly.task({
    name: 'plain',
    ...kept,
    run: ({ input }) => {
      const { askedElapsed } = input as { askedElapsed?: number };
      if (askedElapsed !== undefined) latencies.push(systemClock.elapsed() - askedElapsed);
    },
  });
  const failing = duly.task({
    name: 'failing',
    ...kept,
    retry: { attempts: 2, delay: 100 },
    run: () => {
      throw new Error('It fails on purpose.');
    },
  });
  const reporting = duly.task({
    name: 'reporting',
    ...kept,
    run: async ({ progress, log, once }) => {
      for (const percent of [20, 60, 90]) {
        await progress(percent, `At ${percent} %`, { step: 1, of: 3 });
        log(`At ${percent} %`);
      }
      await once('step', () => 1);
    },
  });
  const isolated = duly.task({
    name: 'isolated',
    ...kept,
    isolate: { file: new URL('./isolated-task.ts', import.meta.url) },
    run: runIsolated,
  });
  duly.task({
    name: 'ticking',
    ...kept,
    every: [
      { name: 'tick', rate: '1s', overlap: 'allow' },
      { name: 'tick-after', delay: '2s' },
      { name: 'tick-all', cron: '*/2 * * * * *', missed: 'all' },
    ],
    run: () => count('slot ran'),
  });
  // With a retention of its own: a clean-up that is a mere handler is kept for the seven days of every task.
  const cleaned = duly.task({ name: 'cleaned', ...kept, run: () => count('value cleaned up') });
  const values = duly.expiring('token', { cleanup: cleaned });
  await duly.start({ roles });

  const fail = (error: unknown) => {
    const code = (error as { code?: string }).code ?? String(error);
    counts.failures[code] = (counts.failures[code] ?? 0) + 1;
  };
  const kinds: [weight: number, kind: string, call: () => Promise<unknown>][] = [
    [24, 'now', () => plain.now({ askedElapsed: systemClock.elapsed(), filling: 'x'.repeat(upTo(500)) })],
    [4, 'now, many', () => plain.nowMany(Array.from({ length: 10 }, () => ({})))],
    [6, 'in', () => plain.in(upTo(5_000), {})],
    [3, 'at', () => plain.at(systemClock.now() + upTo(5_000), {})],
    [3, 'failing', () => failing.now()],
    [4, 'progress', () => reporting.now()],
    [4, 'serial', () => plain.now({}, { serial: `key-${upTo(4)}` })],
    [3, 'dedupe', () => plain.in('1s', {}, { dedupe: { key: `key-${upTo(10)}` } })],
    [2, 'cancel', () => plain.in('1 day', {}).then((job: JobHandle) => job.cancel())],
    [3, 'lock', () => duly.lock(`lock-${upTo(5)}`, { ttl: '5s' }, () => systemClock.sleep(10))],
    [2, 'once', () => duly.once(`once-${upTo(1e9)}`, { for: retentionMs }, () => 1)],
    [3, 'expiring', () => values.put(`key-${upTo(1e9)}`, { a: 1 }, { for: 1_000 + upTo(3_000) })],
    [2, 'why', () => plain.now({}).then((job: JobHandle) => job.why())],
    [1, 'isolate', () => isolated.now()],
  ];
  const total = kinds.reduce((sum, [weight]) => sum + weight, 0);
  const choose = () => {
    let left = upTo(total);
    for (const one of kinds) {
      left -= one[0];
      if (left < 0) return one;
    }
    return kinds[0] as (typeof kinds)[number];
  };

  const stopping = new AbortController();
  const flying = new Set<Promise<unknown>>();
  const running = (async () => {
    const sinceElapsed = systemClock.elapsed();
    for (let createdCount = 1; !stopping.signal.aborted; createdCount++) {
      const [, kind, call] = choose();
      count(kind);
      const one: Promise<unknown> = call()
        .catch(fail)
        .finally(() => flying.delete(one));
      flying.add(one);
      if (flying.size >= flyingMax) await Promise.race(flying);
      // By the clock and not by a pause each, so that the load is the same on a slow machine.
      const dueMs = sinceElapsed + (createdCount * 1000) / callsPerSecond - systemClock.elapsed();
      if (dueMs > 0) await systemClock.sleep(dueMs, stopping.signal);
    }
    await Promise.all(flying);
  })();

  return {
    counts,
    takeLatencies() {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
