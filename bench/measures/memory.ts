import type { Measure } from '../rounds.ts';
import { openSession } from '../session.ts';
import { median } from '../statistics.ts';

/** How much memory a node takes, and that future jobs add none. */
export const memory: Measure = {
  name: 'memory',
  title: 'memory of a node',
  async run({ room, duly, progress, rounds, futureCount }) {
    const entrant = { ...duly, execArgv: [...(duly.execArgv ?? []), '--expose-gc'] };
    const full = await room.createPlace();
    try {
      progress.step(`making ${futureCount.toLocaleString('en-US')} future jobs`);
      const creator = await openSession(duly, full);
      await creator.ask('fillFuture', futureCount);
      await creator.close();
      const figures = { empty: [] as number[], full: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        for (const which of ['empty', 'full'] as const) {
          progress.step(`round ${round + 1} of ${rounds}, ${which}`);
          const place = which === 'empty' ? await room.createPlace() : full;
          const session = await openSession(entrant, place);
          figures[which].push((await session.ask('memory')) / 2 ** 20);
          await session.close();
          if (place !== full) await place.remove();
        }
      }
      const count = futureCount.toLocaleString('en-US');
      const line = { measure: 'memory', isMoreBetter: false, bare: null, ratio: null } as const;
      return [
        {
          ...line,
          title: 'memory of a node, empty store',
          unit: 'MB',
          duly: median(figures.empty),
          peers: [],
          target: null,
        },
        {
          ...line,
          title: `memory of a node, ${count} future jobs`,
          unit: 'MB',
          duly: median(figures.full),
          peers: [],
          target: null,
          details: figures,
        },
        {
          ...line,
          title: '  times that of an empty store',
          unit: '×',
          duly: median(figures.full.map((value, i) => value / (figures.empty[i] as number))),
          peers: [],
          // SQLite's page cache is allowed 32 MB and fills with whatever is read.
          target: {
            text: 'does not grow: ≤ 1.25 ×',
            of: 'value',
            atMost: 1.25,
            ...(futureCount < 1_000_000 ? { notJudged: 'at this size' } : {}),
          },
        },
      ];
    } finally {
      await full.remove();
    }
  },
};
