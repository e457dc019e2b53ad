import { pause } from '../contestant.ts';
import type { PeerFigure, Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import type { Load, LoadingCalls } from '../server/loading.ts';
import { openPart } from '../server/parts.ts';
import type { ReportingCalls } from '../server/reporting.ts';
import type { ServingCalls } from '../server/serving.ts';
import { median, percentile } from '../statistics.ts';

const inFlight = 100;
const watcherCount = 1_000;
const reportsPerSecond = 200;
const readsPerSecond = 500;

/** The HTTP API under load on loopback: requests, and a thousand watchers of jobs that report progress. */
export const server: Measure = {
  name: 'server',
  title: 'server',
  async run(setup) {
    return [...(await requests(setup)), ...(await streams(setup))];
  },
};

/** What a flood of requests came to. */
interface Flood {
  perSecond: number;
  /** Of the server, all threads together, for each request. */
  processorMs: number;
  latenciesMs: number[];
}

function perSecond({ tookMs, latenciesMs }: Load): number {
  return (latenciesMs.length / tookMs) * 1_000;
}

async function requests(setup: Setup): Promise<Result[]> {
  const { room, rounds, isQuick, progress, profile } = setup;
  const count = isQuick ? 4_000 : 20_000;
  const place = await room.createPlace();
  const serving = await openPart<ServingCalls>('./serving.ts', place.url, { profile });
  const loading = await openPart<LoadingCalls>('./loading.ts', '');
  try {
    const address = await serving.ask('address');
    const ids = await serving.ask('make', 'bench', 1_000);
    const post = async (url: string): Promise<Flood> => {
      const before = await serving.ask('state');
      const load = await loading.ask('post', { ...address, url }, count, inFlight);
      const after = await serving.ask('state');
      return {
        perSecond: perSecond(load),
        processorMs: (after.processorMs - before.processorMs) / count,
        latenciesMs: load.latenciesMs,
      };
    };
    const now = async (): Promise<number> => (count / (await serving.ask('now', count, inFlight))) * 1_000;
    await serving.ask('now', count / 4, inFlight);
    for (const url of [address.url, address.bareUrl, address.floorUrl]) {
      await loading.ask('post', { ...address, url }, count / 4, inFlight);
    }
    const figures = {
      post: [] as number[],
      bare: [] as number[],
      floor: [] as number[],
      now: [] as number[],
      get: [] as number[],
      processorMs: [] as number[],
      bareProcessorMs: [] as number[],
    };
    const late: number[] = [];
    const postMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      progress.step(`round ${round + 1} of ${rounds}, requests`);
      const turns = [
        async () => {
          const made = await post(address.url);
          figures.post.push(made.perSecond);
          figures.processorMs.push(made.processorMs);
          postMs.push(...made.latenciesMs);
        },
        async () => {
          const made = await post(address.bareUrl);
          figures.bare.push(made.perSecond);
          figures.bareProcessorMs.push(made.processorMs);
        },
        async () => figures.floor.push((await post(address.floorUrl)).perSecond),
        async () => figures.now.push(await now()),
      ];
      // In an order that turns around, as the contestants of other measures.
      for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
      figures.get.push(perSecond(await loading.ask('get', address, ids, count, inFlight)));
      const steady = await loading.ask('getSteadily', address, ids, readsPerSecond, isQuick ? 2_000 : 10_000);
      late.push(percentile(steady.latenciesMs, 0.99));
    }
    const ratio = (of: number[], to: number[]): number => median(of.map((one, i) => one / (to[i] as number)));
    const line = { measure: 'server', peers: [] as PeerFigure[], bare: null, ratio: null, target: null };
    const rate = { ...line, unit: 'per second' as const, isMoreBetter: true };
    return [
      {
        ...rate,
        title: `POST /api/jobs, ${inFlight} in flight`,
        duly: median(figures.post),
        bare: median(figures.bare),
        ratio: ratio(figures.post, figures.bare),
        target: { text: '≥ 0.85 of bare', of: 'ratio', atLeast: 0.85 },
        details: { ...figures, p99Ms: percentile(postMs, 0.99) },
      },
      {
        ...line,
        title: '  processor time of the server for one',
        unit: 'ms',
        isMoreBetter: false,
        duly: median(figures.processorMs),
        bare: median(figures.bareProcessorMs),
        ratio: ratio(figures.processorMs, figures.bareProcessorMs),
      },
      {
        ...rate,
        title: '  beside now() in process',
        duly: median(figures.post),
        bare: median(figures.now),
        ratio: ratio(figures.post, figures.now),
      },
      {
        ...rate,
        title: '  beside a node:http server that does nothing',
        duly: median(figures.post),
        bare: median(figures.floor),
        ratio: ratio(figures.post, figures.floor),
      },
      {
        ...rate,
        title: '  that one beside now() in process',
        duly: median(figures.floor),
        bare: median(figures.now),
        ratio: ratio(figures.floor, figures.now),
      },
      {
        ...rate,
        title: `GET /api/jobs/{id}, ${inFlight} in flight`,
        duly: median(figures.get),
        details: { get: figures.get },
      },
      {
        ...line,
        title: `GET p99 at ${readsPerSecond} a second`,
        unit: 'ms',
        isMoreBetter: false,
        duly: median(late),
        target: { text: '≤ 10 ms', of: 'value', atMost: 10 },
        details: { p99Ms: late },
      },
    ];
  } finally {
    await loading.close();
    await serving.close();
    await place.remove();
  }
}

async function streams(setup: Setup): Promise<Result[]> {
  const { room, isQuick, progress, profile } = setup;
  const forMs = isQuick ? 6_000 : 30_000;
  const place = await room.createPlace();
  const serving = await openPart<ServingCalls>('./serving.ts', place.url, { profile });
  const reporting = await openPart<ReportingCalls>('./reporting.ts', place.url);
  const loading = await openPart<LoadingCalls>('./loading.ts', '');
  try {
    const address = await serving.ask('address');
    progress.step(`${watcherCount} watchers`);
    const ids = await serving.ask('make', 'long', watcherCount);
    await reporting.ask('start', watcherCount);
    await loading.ask('watch', address, ids);
    // Once round, so that what is made at the first of everything is there before the first look at the memory.
    await reporting.ask('report', reportsPerSecond * 2, (watcherCount / reportsPerSecond / 2) * 1_000);
    await pause(1_000);
    await loading.ask('lags');
    const before = await serving.ask('state');
    const reported = await reporting.ask('report', reportsPerSecond, forMs);
    await pause(1_000);
    const after = await serving.ask('state');
    const lags = await loading.ask('lags');
    const seconds = forMs / 1_000 + 1;
    const grownMb = (after.heapBytes - before.heapBytes) / 2 ** 20;
    const line = {
      measure: 'server',
      peers: [] as PeerFigure[],
      bare: null,
      ratio: null,
      isMoreBetter: false,
    };
    return [
      {
        ...line,
        title: `SSE lag p99, ${watcherCount.toLocaleString('en-US')} watchers, ${reportsPerSecond} reports a second`,
        unit: 'ms',
        duly: percentile(lags, 0.99),
        target: { text: '≤ 250 ms', of: 'value', atMost: 250 },
        details: { p50Ms: percentile(lags, 0.5), maxMs: Math.max(...lags), told: lags.length, reported },
      },
      {
        ...line,
        title: '  reports that did not arrive',
        unit: 'jobs',
        duly: reported - lags.length,
        target: { text: 'none', of: 'value', atMost: 0 },
      },
      {
        ...line,
        title: '  calls of the store a second by the server',
        unit: 'per second',
        duly: (after.calls - before.calls) / seconds,
        target: { text: '≤ 150/s', of: 'value', atMost: 150 },
      },
      {
        ...line,
        title: `  growth of the server's memory in ${forMs / 1_000} s`,
        unit: 'MB',
        duly: grownMb,
        target: { text: '≤ 2 MB', of: 'value', atMost: 2 },
        details: { before, after },
      },
    ];
  } finally {
    await loading.close();
    await reporting.close();
    await serving.close();
    await place.remove();
  }
}
