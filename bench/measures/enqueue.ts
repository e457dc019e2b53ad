import { lineOf, type Measure, runRounds } from '../rounds.ts';

/** How fast jobs are made: one after the other, with 100 calls in flight, in groups of 1,000. */
export const enqueue: Measure = {
  name: 'enqueue',
  title: 'enqueue',
  async run(setup) {
    const { isQuick } = setup;
    const counts = isQuick
      ? { one: 300, inFlight: 5_000, bulk: 10_000 }
      : { one: 2_000, inFlight: 30_000, bulk: 60_000 };
    const own = new Set([setup.duly.name, setup.room.bare.name]);
    const rounds = await runRounds(setup, async (session, _, entrant) => {
      // A peer that commits every job by itself takes long for what group commit does at once.
      const share = own.has(entrant.name) || entrant.isFast === true ? 1 : 0.1;
      const rate = (count: number, tookMs: number) => (count / tookMs) * 1_000;
      const figures: { one?: number; inFlight?: number; notifying?: number; bulk?: number } = {};
      if (session.has('enqueueOneByOne')) {
        const count = Math.ceil(counts.one * (share === 1 ? 1 : 0.5));
        await session.ask('enqueueOneByOne', Math.ceil(count / 10));
        figures.one = rate(count, await session.ask('enqueueOneByOne', count));
      }
      if (session.has('enqueueInFlight')) {
        const count = counts.inFlight * share;
        await session.ask('enqueueInFlight', Math.ceil(count / 10), 100);
        figures.inFlight = rate(count, await session.ask('enqueueInFlight', count, 100));
      }
      if (session.has('enqueueNotifying')) {
        const count = counts.inFlight / 4;
        await session.ask('enqueueNotifying', Math.ceil(count / 10), 100);
        figures.notifying = rate(count, await session.ask('enqueueNotifying', count, 100));
      } else if (figures.inFlight !== undefined) figures.notifying = figures.inFlight;
      if (session.has('enqueueBulk')) {
        const count = Math.max(1_000, counts.bulk * share);
        await session.ask('enqueueBulk', Math.ceil(count / 10), 1_000);
        figures.bulk = rate(count, await session.ask('enqueueBulk', count, 1_000));
      }
      return Object.keys(figures).length === 0 ? null : (figures as Record<string, number>);
    });
    const { inFlight = null, inFlightNotifying, bulk = null } = setup.room.targets;
    const line = { measure: 'enqueue', unit: 'per second', isMoreBetter: true, target: null } as const;
    const notifying = lineOf(setup, rounds, 'notifying', {
      ...line,
      title: '  beside bare with NOTIFY on each insert',
      target: inFlightNotifying ?? null,
    });
    return [
      lineOf(setup, rounds, 'one', { ...line, title: 'enqueue one by one' }),
      lineOf(setup, rounds, 'inFlight', { ...line, title: 'enqueue, 100 in flight', target: inFlight }),
      ...(inFlightNotifying === undefined ? [] : [{ ...notifying, peers: [] }]),
      lineOf(setup, rounds, 'bulk', { ...line, title: 'enqueue in groups of 1,000', target: bulk }),
    ];
  },
};
