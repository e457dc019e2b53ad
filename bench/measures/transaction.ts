import { type LineOf, lineOf, type Measure, runRounds } from '../rounds.ts';
import { latencyThere } from './latency.ts';

const line: Omit<LineOf, 'title' | 'target'> = { measure: 'transaction', unit: 'ms', isMoreBetter: false };

/** How soon a job starts that was made in a transaction of the program's own, from the call of COMMIT. */
export const transaction: Measure = {
  name: 'transaction',
  title: "COMMIT of a user's transaction to handler start",
  async run(setup) {
    const count = setup.isQuick ? 40 : 300;
    const rounds = await runRounds(setup, (session, place, entrant) =>
      latencyThere(session, place, entrant, { count, gapMs: 15, by: 'sendInTransaction' }),
    );
    // A store that has no transactions of one's own, or whose room does not offer them.
    if (rounds.of(setup.duly.name).length === 0) return [];
    return [
      lineOf(setup, rounds, 'p50', {
        ...line,
        title: 'COMMIT to start, another process, p50',
        target: { text: '≤ 2 × bare', of: 'ratio', atMost: 2 },
      }),
      lineOf(setup, rounds, 'p10', { ...line, title: 'COMMIT to start, another process, p10', target: null }),
      lineOf(setup, rounds, 'p99', { ...line, title: 'COMMIT to start, another process, p99', target: null }),
    ];
  },
};
