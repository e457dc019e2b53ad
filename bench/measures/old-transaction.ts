import type { ContestantPlace } from '../contestant.ts';
import type { Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import { type Entrant, openSession } from '../session.ts';
import { median, percentile } from '../statistics.ts';

/** A point of the curve. */
interface Point {
  /** Jobs that have run since the transaction was opened: each leaves dead versions behind that nobody may remove. */
  ranCount: number;
  latencyMs: number;
  /** Processor time for each job of the load, the store's included. */
  processorMs: number;
}

const sampleCount = 40;

/** Runs jobs in portions, and after each tells how soon a lone one starts. */
async function curveOf(
  { room, progress }: Setup,
  entrant: Entrant,
  { isHeld, portion, portions }: { isHeld: boolean; portion: number; portions: number },
): Promise<Point[]> {
  const place: ContestantPlace & { remove(): Promise<void> } = await room.createPlace();
  const session = await openSession(entrant, place);
  try {
    await session.ask('fill', portion);
    await session.ask('drain', portion);
    await session.ask('latencyHere', sampleCount);
    const release = isHeld ? await room.holdSnapshot?.(place) : undefined;
    const processorMs = async () => (await session.ask('processorMs')) + ((await room.processorMs?.()) ?? 0);
    const points: Point[] = [];
    for (let i = 1; i <= portions; i++) {
      progress.step(`${entrant.name}, ${isHeld ? 'with' : 'without'} it, portion ${i} of ${portions}`);
      await session.ask('fill', portion);
      const beforeMs = await processorMs();
      await session.ask('drain', portion);
      const usedMs = (await processorMs()) - beforeMs;
      const took = await session.ask('latencyHere', sampleCount);
      points.push({
        ranCount: i * portion,
        latencyMs: percentile(took, 0.25),
        processorMs: usedMs / portion,
      });
    }
    await release?.();
    return points;
  } finally {
    await session.close();
    await place.remove();
  }
}

/**
 * What a transaction that somebody leaves open does to claims. Nothing that ended after it began may be removed from the tables, so claims
 * walk over what is long gone.
 */
export const oldTransaction: Measure = {
  name: 'old-transaction',
  title: 'an old transaction is left open',
  async run(setup) {
    const { room, duly, isQuick } = setup;
    if (room.holdSnapshot === undefined) return [];
    const portion = isQuick ? 5_000 : 25_000;
    const portions = isQuick ? 6 : 8;
    const results: Result[] = [];
    const curves: Record<string, Point[]> = {};
    for (const entrant of [duly, room.bare]) {
      for (const isHeld of [false, true]) {
        curves[`${entrant.name}${isHeld ? ', held' : ''}`] = await curveOf(setup, entrant, {
          ...{ isHeld, portion, portions },
        });
      }
    }
    const of = (name: string, figure: (point: Point) => number) => (curves[name] as Point[]).map(figure);
    const slowdown = (name: string, figure: (point: Point) => number) => {
      const held = of(`${name}, held`, figure).slice(-2);
      return median(held) / median(of(name, figure));
    };
    const line = { measure: 'old-transaction', isMoreBetter: false, unit: '×', peers: [] } as const;
    const title = `after ${(portion * portions).toLocaleString('en-US')} jobs under an open transaction`;
    for (const [what, figure] of [
      ['now() to start', ({ latencyMs }: Point) => latencyMs],
      ['processor time of a drain', ({ processorMs }: Point) => processorMs],
    ] as const) {
      const [ours, bare] = [slowdown(duly.name, figure), slowdown(room.bare.name, figure)];
      results.push({
        ...line,
        peers: [],
        title: `${what} ${title}, times that without it`,
        duly: ours,
        bare,
        ratio: ours / bare,
        target: null,
        details: { curves },
      });
    }
    return results;
  },
};
