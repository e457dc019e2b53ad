import { pause } from '../contestant.ts';
import type { Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import { openSession, type Session } from '../session.ts';
import { median } from '../statistics.ts';
import type { SustainOptions, SustainWindow } from '../sustain.ts';

const sampleMs = 5_000;
const pressureRate = 800;
const readerCount = 4;
// The first windows fill the queue and warm up the code.
const warmUpWindows = 2;

/** What a load showed. */
interface Load {
  windows: SustainWindow[];
  /** Of the hot tables, in MB, sampled every five seconds. */
  hotMb: number[];
}

/** Keeps up a load on a store with its default settings. */
async function load({ room, duly }: Setup, options: SustainOptions, isPressed: boolean): Promise<Load> {
  const place = await (room.createDefaultPlace ?? room.createPlace)();
  try {
    const session: Session = await openSession(duly, place);
    const ends: (() => Promise<void>)[] = [];
    const hotMb: number[] = [];
    let isOver = false;
    try {
      if (isPressed) {
        for (const end of [await room.holdSnapshot?.(place), await room.readAlong?.(place, readerCount)]) {
          if (end !== undefined) ends.push(end);
        }
      }
      const sampling = (async () => {
        while (!isOver && room.hotBytes !== undefined) {
          hotMb.push((await room.hotBytes(place)) / 2 ** 20);
          await pause(sampleMs);
        }
      })();
      const windows = await session.ask('sustain', options);
      isOver = true;
      await sampling;
      return { windows, hotMb };
    } finally {
      isOver = true;
      for (const end of ends) await end();
      await session.close();
    }
  } finally {
    await place.remove();
  }
}

/** Growth of the second half over the first, by the largest size of each. */
function growthOf(sizes: readonly number[]): number {
  const half = Math.ceil(sizes.length / 2);
  return Math.max(...sizes.slice(half)) / Math.max(...sizes.slice(0, half));
}

/**
 * 64 workers, 1 ms of work for each job and a queue of 4,000, on a store with the settings it comes with: whether throughput, the slowest call,
 * table sizes and unrecorded outcomes stay as they are. Then 800 jobs a second beside an open transaction and readers.
 */
export const sustained: Measure = {
  name: 'sustained',
  title: 'sustained load',
  async run(setup) {
    const { room, minutes, progress } = setup;
    const forMs = minutes * 60_000;
    progress.step(`64 workers, a queue of 4,000, ${minutes} min`);
    const full = await load(setup, { forMs }, false);
    const steady = full.windows.slice(warmUpWindows);
    const rates = steady.map(({ perSecond }) => perSecond);
    const [lowest, highest] = [Math.min(...rates), Math.max(...rates)];
    const line = { measure: 'sustained', bare: null, ratio: null, peers: [] } as const;
    const results: Result[] = [
      {
        ...{
          ...line,
          peers: [],
          title: `sustained load, ${minutes} min: jobs recorded, median window`,
          unit: 'per second',
        },
        ...{ isMoreBetter: true, duly: median(rates), target: null, details: { ...full } },
      },
      {
        ...{ ...line, peers: [], title: '  the lowest 5-second window, of the highest', unit: '×' },
        ...{ isMoreBetter: true, duly: lowest / highest },
        target: { text: '≥ 0.8', of: 'value', atLeast: 0.8 },
      },
      {
        ...{ ...line, peers: [], title: '  the slowest call of the store', unit: 'ms' },
        ...{ isMoreBetter: false, duly: Math.max(...full.windows.map(({ slowestCallMs }) => slowestCallMs)) },
        target: { text: '≤ 1 s', of: 'value', atMost: 1_000 },
      },
      {
        ...{ ...line, peers: [], title: '  outcomes waiting to be recorded, the most', unit: 'jobs' },
        ...{ isMoreBetter: false, duly: Math.max(...full.windows.map(({ unrecordedMax }) => unrecordedMax)) },
        target: { text: '≤ 8,000', of: 'value', atMost: 8_000 },
      },
    ];
    if (room.hotBytes !== undefined) {
      results.push({
        ...{ ...line, peers: [], title: '  hot tables, second half of the first', unit: '×' },
        ...{ isMoreBetter: false, duly: growthOf(full.hotMb) },
        target: { text: '≤ 1.3', of: 'value', atMost: 1.3 },
      });
    }
    progress.step(
      `${pressureRate} jobs a second beside an open transaction and ${readerCount} readers, ${minutes} min`,
    );
    const pressed = await load(setup, { forMs, perSecond: pressureRate }, true);
    const p99 = pressed.windows.slice(warmUpWindows).map(({ startMsP99 }) => startMsP99);
    const beside = room.holdSnapshot === undefined ? '' : ' beside an open transaction and readers';
    results.push({
      ...{
        ...line,
        peers: [],
        title: `${pressureRate} jobs a second${beside}: now() to start, p99 of the worst window`,
        unit: 'ms',
      },
      ...{ isMoreBetter: false, duly: Math.max(...p99) },
      target: { text: '≤ 25 ms', of: 'value', atMost: 25 },
      details: { ...pressed },
    });
    return results;
  },
};
