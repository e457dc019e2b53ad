import { pause } from '../contestant.ts';
import type { PeerFigure, Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import type { Load, LoadingCalls } from '../server/loading.ts';
import { openPart } from '../server/parts.ts';
import type { ReportingCalls } from '../server/reporting.ts';
import type { ServingCalls } from '../server/serving.ts';
import { median, percentile } from '../statistics.ts';

const inFlightMax = 100;
const inFlights = [1, 10, inFlightMax];
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
  /** Jobs that were made in one call of the store; null: none were. */
  togetherCount: number | null;
  latenciesMs: number[];
}

function perSecond({ tookMs, latenciesMs }: Load): number {
  return (latenciesMs.length / tookMs) * 1_000;
}

/** Who answers, and `now()` in the server's own process. */
// Of one process the first ten thousand requests take 1.6 times the processor of those after twenty thousand, and the longer way takes longer to be quick.
const warmCount = 20_000;

type Answering = 'post' | 'bare' | 'floor' | 'now';

/** What came of one number in flight: a figure for each round. */
interface Figures extends Record<Answering, number[]> {
  inFlight: number;
  processorMs: number[];
  bareProcessorMs: number[];
  /** Jobs to a call of the store, by POST and by `now()`. */
  together: number[];
  nowTogether: number[];
  latenciesMs: number[];
}

type State = Awaited<ReturnType<ServingCalls['state']>>;

function togetherCount(jobCount: number, before: State, after: State): number | null {
  const callCount = (after.byVerb.enqueue ?? 0) - (before.byVerb.enqueue ?? 0);
  return callCount === 0 ? null : jobCount / callCount;
}

async function requests(setup: Setup): Promise<Result[]> {
  const { room, rounds, isQuick, progress, profile } = setup;
  const count = isQuick ? 4_000 : 20_000;
  const place = await room.createPlace();
  const serving = await openPart<ServingCalls>('./serving.ts', place.url, { profile });
  const loading = await openPart<LoadingCalls>('./loading.ts', '');
  try {
    const address = await serving.ask('address');
    const ids = await serving.ask('create', 'bench', 1_000);
    const urls = { post: address.url, bare: address.bareUrl, floor: address.floorUrl };
    const post = async (url: string, requestCount: number, inFlight: number): Promise<Flood> => {
      const before = await serving.ask('state');
      const load = await loading.ask('post', { ...address, url }, requestCount, inFlight);
      const after = await serving.ask('state');
      return {
        perSecond: perSecond(load),
        processorMs: (after.processorMs - before.processorMs) / requestCount,
        togetherCount: togetherCount(requestCount, before, after),
        latenciesMs: load.latenciesMs,
      };
    };
    const now = async (callCount: number, inFlight: number) => {
      const before = await serving.ask('state');
      const tookMs = await serving.ask('now', callCount, inFlight);
      const after = await serving.ask('state');
      return {
        perSecond: (callCount / tookMs) * 1_000,
        togetherCount: togetherCount(callCount, before, after),
      };
    };
    await now(warmCount, inFlightMax);
    for (const url of Object.values(urls)) await post(url, warmCount, inFlightMax);
    const all = inFlights.map(
      (inFlight): Figures => ({
        ...{ inFlight, post: [], bare: [], floor: [], now: [] },
        ...{ processorMs: [], bareProcessorMs: [], together: [], nowTogether: [], latenciesMs: [] },
      }),
    );
    const get: number[] = [];
    const late: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const figures of all) {
        const { inFlight } = figures;
        progress.step(`round ${round + 1} of ${rounds}, requests, ${inFlight} in flight`);
        // With fewer in flight a commit carries fewer, so that fewer of them take as long.
        const requestCount = inFlight === inFlightMax ? count : inFlight === 1 ? count / 8 : count / 2;
        const turns: Answering[] = ['post', 'bare', 'floor', 'now'];
        // In an order that turns around, as the contestants of other measures.
        for (const who of round % 2 === 0 ? turns : turns.reverse()) {
          if (who === 'now') {
            const created = await now(requestCount, inFlight);
            figures.now.push(created.perSecond);
            figures.nowTogether.push(created.togetherCount ?? 0);
            continue;
          }
          const created = await post(urls[who], requestCount, inFlight);
          figures[who].push(created.perSecond);
          if (who === 'post') {
            figures.processorMs.push(created.processorMs);
            figures.together.push(created.togetherCount ?? 0);
            figures.latenciesMs.push(...created.latenciesMs);
          }
          if (who === 'bare') figures.bareProcessorMs.push(created.processorMs);
        }
      }
      get.push(perSecond(await loading.ask('get', address, ids, count, inFlightMax)));
      const steady = await loading.ask('getSteadily', address, ids, readsPerSecond, isQuick ? 2_000 : 10_000);
      late.push(percentile(steady.latenciesMs, 0.99));
    }
    const line = { measure: 'server', peers: [] as PeerFigure[], bare: null, ratio: null, target: null };
    return [
      ...all.flatMap(linesOf),
      {
        ...line,
        title: `GET /api/jobs/{id}, ${inFlightMax} in flight`,
        unit: 'per second',
        isMoreBetter: true,
        duly: median(get),
        details: { get },
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

/**
 * POST with so many in flight beside a server that does no more than make the job, and beside `now()` with as many; and, in a line of its own, what Node's
 * own server reaches of `now()` that does nothing at all: no server on it can be nearer.
 */
function linesOf({ latenciesMs, ...figures }: Figures): Result[] {
  const { inFlight, post, bare, floor, now, processorMs, bareProcessorMs, together, nowTogether } = figures;
  const ratio = (of: number[], to: number[]): number => median(of.map((one, i) => one / (to[i] as number)));
  const line = { measure: 'server', peers: [] as PeerFigure[], bare: null, ratio: null, target: null };
  const rate = { ...line, unit: 'per second' as const, isMoreBetter: true };
  return [
    {
      ...rate,
      title: `POST /api/jobs, ${inFlight} in flight`,
      duly: median(post),
      bare: median(bare),
      ratio: ratio(post, bare),
      target: inFlight === inFlightMax ? { text: '≥ 0.85 of bare', of: 'ratio', atLeast: 0.85 } : null,
      details: { ...figures, p99Ms: percentile(latenciesMs, 0.99) },
    },
    {
      ...rate,
      title: '  beside now() in process',
      duly: median(post),
      bare: median(now),
      ratio: ratio(post, now),
      // With more in flight the line below says what can be had.
      target: inFlight === 1 ? { text: '≥ 0.5 of now()', of: 'ratio', atLeast: 0.5 } : null,
    },
    {
      ...rate,
      title: '  node:http that does nothing, beside now()',
      duly: median(floor),
      bare: median(now),
      ratio: ratio(floor, now),
    },
    {
      ...line,
      title: '  jobs in one call of the store, beside now()',
      unit: 'jobs',
      isMoreBetter: true,
      duly: median(together),
      bare: median(nowTogether),
      ratio: ratio(together, nowTogether),
    },
    {
      ...line,
      title: '  processor time of the server for one',
      unit: 'ms',
      isMoreBetter: false,
      duly: median(processorMs),
      bare: median(bareProcessorMs),
      ratio: ratio(processorMs, bareProcessorMs),
    },
  ];
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
    const ids = await serving.ask('create', 'long', watcherCount);
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
        details: { p50Ms: percentile(lags, 0.5), maxMs: Math.max(...lags), notified: lags.length, reported },
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
