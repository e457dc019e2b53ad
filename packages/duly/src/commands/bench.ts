import { rmSync } from 'node:fs';
import { Duly, defaultStore, systemClock } from '@duly/core';
import { parseStoreAddress, withoutPassword } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount, usageError } from '../cli/usage.ts';
import { givenStore, refuseMemory, refuseUnmakable } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { loadProject } from '../project/load.ts';

interface BenchOptions extends CommonOptions {
  jobs?: string;
}

/** What was measured, by the name it has in JSON. */
interface Figures {
  created_per_second: number;
  created_in_bulk_per_second: number;
  run_per_second: number;
  durable_ms_p50: number;
  started_ms_p50: number;
  started_ms_p99: number;
}

const inFlightCount = 100;
const bulkCount = 1_000;
const singleCount = 50;

/** `duly bench`: how fast jobs are created, started and run on this machine and this store, in a place of its own beside it. */
export async function bench(context: CommandContext, options: BenchOptions): Promise<undefined> {
  const count = readCount(options.jobs, '--jobs') ?? 5_000;
  if (count < 100 || count > 1_000_000) {
    throw usageError(`Expected --jobs to be 100 to 1000000, got "${options.jobs}".`);
  }
  const project =
    givenStore(options.store) === undefined
      ? await loadProject({ config: options.config, withTasks: false })
      : null;
  const store = givenStore(options.store) ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  refuseMemory(store);
  refuseUnmakable(store);
  const place = placeBeside(store);
  let figures: Figures;
  try {
    figures = await measure(place.store, count);
  } finally {
    await place.remove();
  }
  if (context.json) {
    printJson(context.out, { store: withoutPassword(store), jobs: count, ...figures });
    return;
  }
  const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en-US')} a second`;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  printTable(
    context.out,
    [
      { title: 'WHAT', widthMin: 20 },
      { title: 'FIGURE', align: 'right' },
    ],
    [
      [`now(), ${inFlightCount} calls on their way`, perSecond(figures.created_per_second)],
      [`nowMany() of ${bulkCount.toLocaleString('en-US')}`, perSecond(figures.created_in_bulk_per_second)],
      ['jobs run, that do nothing, history stored', perSecond(figures.run_per_second)],
      ['a single now() until it is durable, median', ms(figures.durable_ms_p50)],
      ['from now() to its start in this process, median', ms(figures.started_ms_p50)],
      ['and of 99 in 100', ms(figures.started_ms_p99)],
    ],
  );
  context.err.line(
    'Other work on this machine and on the store counts too: measure twice, and compare only side by side.',
  );
}

/** A store like the given one, on the same disk or server, that nobody else uses. */
function placeBeside(store: string): { store: string; remove(): Promise<void> } {
  const address = parseStoreAddress(store);
  if (address.kind === 'sqlite') {
    const path = `${address.path}.bench-${process.pid}`;
    return {
      store: `sqlite:${path}`,
      async remove() {
        for (const end of ['', '-wal', '-shm', '-bell']) rmSync(`${path}${end}`, { force: true });
      },
    };
  }
  const schema = `duly_bench_${process.pid}`;
  const url = new URL(store);
  url.searchParams.set('schema', schema);
  return {
    store: url.href,
    async remove() {
      const { default: pg } = await import('pg');
      const client = new pg.Client({ connectionString: plainUrl(store) });
      await client.connect();
      try {
        await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      } finally {
        await client.end();
      }
    },
  };
}

/** Without what is Duly's own in it: the driver would pass it on to the server. */
function plainUrl(store: string): string {
  const url = new URL(store);
  url.searchParams.delete('schema');
  return url.href;
}

async function measure(store: string, count: number): Promise<Figures> {
  const duly = new Duly({ store, app: 'duly-bench', logger: false });
  const startedElapsed = new Map<string, number>();
  const task = duly.task({
    name: 'bench',
    run: ({ job }) => {
      startedElapsed.set(job.id, systemClock.elapsed());
    },
  });
  try {
    await duly.open();
    const durableMs: number[] = [];
    for (let i = 0; i < singleCount; i++) durableMs.push(await timed(() => task.now(null)));

    const half = Math.ceil(count / 2);
    let next = 0;
    const inFlight = async (): Promise<void> => {
      while (next < half) {
        next++;
        await task.now(null);
      }
    };
    const createdMs = await timed(() => Promise.all(Array.from({ length: inFlightCount }, inFlight)));
    const bulkMs = await timed(async () => {
      for (let created = 0; created < half; created += bulkCount) {
        await task.nowMany(Array.from({ length: Math.min(bulkCount, half - created) }, () => null));
      }
    });

    const total = singleCount + half * 2;
    let settledCount = 0;
    const { promise: drained, resolve } = Promise.withResolvers<void>();
    const off = duly.on('job.settled', () => {
      settledCount++;
      if (settledCount === total) resolve();
    });
    const runMs = await timed(async () => {
      await duly.start();
      await drained;
    });
    off();

    const startedMs: number[] = [];
    for (let i = 0; i < singleCount; i++) {
      const from = systemClock.elapsed();
      const job = await task.now(null);
      await job.wait({ timeout: '1m' });
      startedMs.push((startedElapsed.get(job.id) as number) - from);
    }
    return {
      created_per_second: (half / createdMs) * 1_000,
      created_in_bulk_per_second: (half / bulkMs) * 1_000,
      run_per_second: (total / runMs) * 1_000,
      durable_ms_p50: percentile(durableMs, 0.5),
      started_ms_p50: percentile(startedMs, 0.5),
      started_ms_p99: percentile(startedMs, 0.99),
    };
  } finally {
    await duly.stop();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = systemClock.elapsed();
  await work();
  return systemClock.elapsed() - from;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}
