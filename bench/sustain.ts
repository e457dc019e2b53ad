// The load of the measure `sustained`: one node that creates jobs as fast as it finishes them, and tells what each window held.
import { Duly } from '@duly/core';
import { elapsed, pause } from './contestant.ts';

/** What to keep up, and for how long. */
export interface SustainOptions {
  forMs: number;
  /** Jobs in a second at a fixed rate; left out: as many as finish, with `queued` of them unfinished. */
  perSecond?: number;
}

/** What happened within five seconds. */
export interface SustainWindow {
  /** Outcomes recorded in a second. */
  perSecond: number;
  /** The slowest call of the store that ended in the window, and which verb that was. */
  slowestCallMs: number;
  slowestVerb: string;
  /** The most handlers that had returned and whose outcomes were not recorded. */
  unrecordedMax: number;
  /** From the call that created a job to the start of its handler, p99. */
  startMsP99: number;
}

const windowMs = 5_000;
const workers = 64;
const workMs = 1;
const queued = 4_000;
const batchSize = 128;
const inputBytes = 256;
/** Several calls at once, so that creating is never what is measured. */
const creators = 4;
const tickMs = 10;

/** Keeps up the load and answers a window for every five seconds. */
export async function sustain(
  url: string,
  { forMs, perSecond }: SustainOptions,
  onWindow: (window: SustainWindow) => void = () => {},
): Promise<SustainWindow[]> {
  const duly = new Duly({ store: url, logger: false, concurrency: workers });
  let createdCount = 0;
  let returnedCount = 0;
  let settledCount = 0;
  let startMs: number[] = [];
  const padding = 'x'.repeat(inputBytes - 40);
  const task = duly.task({
    name: 'sustained',
    run: async ({ input }) => {
      startMs.push(elapsed() - (input as { sentElapsed: number }).sentElapsed);
      await pause(workMs);
      returnedCount++;
      current.unrecordedMax = Math.max(current.unrecordedMax, returnedCount - settledCount);
    },
  });
  const empty = (): SustainWindow => ({
    ...{ perSecond: 0, slowestCallMs: 0, slowestVerb: '', unrecordedMax: 0, startMsP99: 0 },
  });
  let current = empty();
  duly.on('job.settled', () => {
    settledCount++;
  });
  duly.on('call', ({ verb, tookMs }) => {
    if (tookMs <= current.slowestCallMs) return;
    current.slowestCallMs = tookMs;
    current.slowestVerb = verb;
  });
  await duly.start();

  let isOver = false;
  const create = (count: number) => {
    createdCount += count;
    const sentElapsed = elapsed();
    return task.nowMany(Array.from({ length: count }, () => ({ sentElapsed, padding })));
  };
  const fromElapsed = elapsed();
  async function fillUp(): Promise<void> {
    while (!isOver) {
      const missing = Math.min(batchSize, queued - (createdCount - settledCount));
      if (missing > 0) await create(missing);
      else await pause(1);
    }
  }
  async function keepRate(rate: number): Promise<void> {
    // The instant at which each job is due to be created rules, so that a slow call delays nothing that comes after it.
    const pending: Promise<unknown>[] = [];
    while (!isOver) {
      const missing = Math.floor(((elapsed() - fromElapsed) * rate) / 1_000) - createdCount;
      for (let i = 0; i < missing; i++) pending.push(create(1));
      await pause(tickMs);
    }
    await Promise.all(pending);
  }
  const creating =
    perSecond === undefined ? Promise.all(Array.from({ length: creators }, fillUp)) : keepRate(perSecond);

  const windows: SustainWindow[] = [];
  while (windows.length * windowMs < forMs) {
    const before = settledCount;
    const since = elapsed();
    await pause(windowMs);
    const sorted = startMs.sort((a, b) => a - b);
    windows.push({
      ...current,
      perSecond: ((settledCount - before) / (elapsed() - since)) * 1_000,
      startMsP99: sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.POSITIVE_INFINITY,
    });
    onWindow(windows.at(-1) as SustainWindow);
    current = empty();
    startMs = [];
  }
  isOver = true;
  await creating;
  await duly.stop({ drain: 5_000 });
  return windows;
}
