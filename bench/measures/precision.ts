import { lineOf, type Measure, runRounds } from '../rounds.ts';
import { percentile } from '../statistics.ts';

/** How late delayed jobs start, and that none starts early. */
export const precision: Measure = {
  name: 'precision',
  title: 'lateness of delayed jobs',
  async run(setup) {
    const [count, overMs] = setup.isQuick ? [200, 1_000] : [2_000, 10_000];
    const rounds = await runRounds(setup, async (session) => {
      if (!session.has('precision')) return null;
      const late = await session.ask('precision', count, overMs);
      return {
        p50: percentile(late, 0.5),
        p99: percentile(late, 0.99),
        max: percentile(late, 1),
        early: late.filter((ms) => ms < 0).length,
      };
    });
    const line = { measure: 'precision', isMoreBetter: false } as const;
    const of = `${count.toLocaleString('en-US')} delayed jobs over ${overMs / 1_000} s`;
    const early = lineOf(setup, rounds, 'early', {
      ...line,
      title: `started early, of ${of}`,
      unit: 'jobs',
      target: { text: 'none', of: 'value', atMost: 0 },
    });
    return [
      lineOf(setup, rounds, 'p50', { ...line, title: `lateness of ${of}, p50`, unit: 'ms', target: null }),
      lineOf(setup, rounds, 'p99', {
        ...line,
        title: `lateness of ${of}, p99`,
        unit: 'ms',
        target: { text: '≤ 10 ms', of: 'value', atMost: 10 },
      }),
      lineOf(setup, rounds, 'max', { ...line, title: `lateness of ${of}, max`, unit: 'ms', target: null }),
      // The most of any round, and no ratio: none is the only good number.
      { ...early, duly: Math.max(...rounds.of(setup.duly.name).map((one) => one.early)), ratio: null },
    ];
  },
};
