import type { ContestantPlace } from '../contestant.ts';
import type { Result, Target } from '../result.ts';
import { type Measure, runRounds, type Setup } from '../rounds.ts';
import { openSession } from '../session.ts';
import { median } from '../statistics.ts';
import { drainOnce } from './drain.ts';
import { latencyHere, latencyThere } from './latency.ts';
import { type Burst, playBurst } from './schedules.ts';

interface Figures extends Record<string, number> {
  drain: number;
  here: number;
  there: number;
}

/** The same work on a store that holds many future jobs, beside an empty one: nothing may depend on them. */
export const future: Measure = {
  name: 'future',
  title: 'with many future jobs in the store',
  async run(setup) {
    const { room, duly, progress, futureCount } = setup;
    const full = await room.createPlace();
    try {
      progress.step(`making ${futureCount.toLocaleString('en-US')} future jobs`);
      const creator = await openSession(duly, full);
      await creator.ask('fillFuture', futureCount);
      await creator.close();

      const turn = async (...[session, place, entrant]: Parameters<Parameters<typeof runRounds>[1]>) => {
        const there = await latencyThere(session, place, entrant, {
          count: setup.isQuick ? 20 : 150,
          gapMs: 15,
        });
        const here = await latencyHere(session, { count: setup.isQuick ? 20 : 150 });
        const drained = await drainOnce(session, { room, count: setup.isQuick ? 4_000 : 20_000 });
        return { drain: drained?.perSecond, here: here?.p50, there: there?.p50 } as Figures;
      };
      // In turns, one round at a time: the full store and the empty one meet the same noise.
      const onFull: { duly: Figures; bare: Figures }[] = [];
      const onEmpty: { duly: Figures; bare: Figures }[] = [];
      const once = { ...setup, rounds: 1, peers: [] };
      for (let round = 0; round < setup.rounds; round++) {
        for (const [from, into] of [
          [undefined, onEmpty],
          [full, onFull],
        ] as const) {
          const rounds = await runRounds(once, turn, from === undefined ? {} : { from });
          into.push({
            duly: rounds.of(duly.name)[0] as Figures,
            bare: rounds.of(room.bare.name)[0] as Figures,
          });
        }
      }
      return [
        ...linesOf(setup, { onFull, onEmpty }, 'drain', 'drain'),
        ...linesOf(setup, { onFull, onEmpty }, 'here', 'now() to start, same process, p50'),
        ...linesOf(setup, { onFull, onEmpty }, 'there', 'now() to start, another process, p50'),
        ...(setup.isQuick ? [] : await burstLines(setup, full)),
      ];
    } finally {
      await full.remove();
    }
  },
};

// As many as the target of the empty store is about. Making them takes most of a minute each time.
const burstCount = 10_000;
const burstRoundsMax = 3;

/** Schedules that fall due at once, beside many future jobs and without them, in turns. */
async function burstLines(setup: Setup, full: ContestantPlace): Promise<Result[]> {
  const bursts: { onEmpty: Burst; onFull: Burst }[] = [];
  for (let round = 0; round < Math.min(burstRoundsMax, setup.rounds); round++) {
    const onEmpty = await playBurst(setup, burstCount);
    bursts.push({ onEmpty, onFull: await playBurst(setup, burstCount, { from: full }) });
  }
  const line = { measure: 'future', isMoreBetter: false, bare: null, ratio: null, peers: [] } as const;
  return [
    {
      ...line,
      peers: [],
      title: `${format(burstCount)} schedules due at once until the last has started, ${format(setup.futureCount)} future jobs`,
      unit: 's',
      duly: median(bursts.map(({ onFull }) => onFull.startedMs)) / 1_000,
      target: null,
      details: { bursts },
    },
    {
      ...line,
      peers: [],
      title: '  times slower than on an empty store',
      unit: '×',
      duly: median(bursts.map(({ onFull, onEmpty }) => onFull.startedMs / onEmpty.startedMs)),
      target: targetOf(setup),
    },
  ];
}

const format = (count: number) => count.toLocaleString('en-US');

// From a million on, a cost that grows with their number shows. Some thousand fit into any cache and show nothing.
const futureCountMin = 1_000_000;

function targetOf({ futureCount }: Setup): Target {
  return {
    text: '≤ 1.3 ×',
    of: 'value',
    atMost: 1.3,
    ...(futureCount < futureCountMin ? { notJudged: 'at this size' } : {}),
  };
}

type Both = { duly: Figures; bare: Figures }[];

/** Two lines: beside bare on the same full store, and beside Duly on an empty one. */
function linesOf(
  setup: Setup,
  { onFull, onEmpty }: { onFull: Both; onEmpty: Both },
  figure: keyof Figures & string,
  title: string,
): Result[] {
  const isRate = figure === 'drain';
  const of = (rounds: Both, who: 'duly' | 'bare') => rounds.map((one) => one[who][figure] as number);
  const ratio = (over: number[], under: number[]) =>
    median(over.map((value, i) => value / (under[i] as number)));
  const count = format(setup.futureCount);
  const slowdown = isRate
    ? ratio(of(onEmpty, 'duly'), of(onFull, 'duly'))
    : ratio(of(onFull, 'duly'), of(onEmpty, 'duly'));
  const bareSlowdown = isRate
    ? ratio(of(onEmpty, 'bare'), of(onFull, 'bare'))
    : ratio(of(onFull, 'bare'), of(onEmpty, 'bare'));
  return [
    {
      measure: 'future',
      title: `${title}, ${count} future jobs`,
      unit: isRate ? 'per second' : 'ms',
      isMoreBetter: isRate,
      duly: median(of(onFull, 'duly')),
      bare: median(of(onFull, 'bare')),
      ratio: ratio(of(onFull, 'duly'), of(onFull, 'bare')),
      peers: [],
      target: null,
      details: { onFull, onEmpty },
    },
    {
      measure: 'future',
      title: '  times slower than on an empty store',
      unit: '×',
      isMoreBetter: false,
      duly: slowdown,
      bare: bareSlowdown,
      ratio: slowdown / bareSlowdown,
      peers: [],
      target: targetOf(setup),
    },
  ];
}
