import type { BurstNews, ContestantPlace } from '../contestant.ts';
import { elapsed, pause } from '../contestant.ts';
import type { Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import { openSession, type Session } from '../session.ts';
import { median } from '../statistics.ts';
import { storeInternalsOf } from '../store-internals.ts';

/** What a burst came to, in milliseconds from the due instant. */
export interface Burst {
  createdMs: number;
  startedMs: number;
  /** From the first decision to the last: what is left when waking up is taken away. */
  decidingMs: number;
  /** Share of the node that decided least and of the one that started least; 0.5 is even. */
  firedShare: number;
  startedShare: number;
}

const nodeCount = 2;
// So many of what is measured run before it, on the same nodes: a node that waits for midnight has run before, and so has bare.
const warmUpShare = 0.1;
const warmUpCountMax = 1_000;
// How long before the burst they fall due, at first.
const warmUpMsMin = 5_000;
// How much longer making them may take than the first ones took.
const firstSlack = 1.5;
const probeCount = 300;
const halfDayMs = 12 * 3_600_000;
// A burst that has not come to its end by then never will.
const burstMsMax = 120_000;

/** Nodes that wait for the instant at which all schedules are due. */
interface Ready {
  nodes: Session[];
  url: string;
  dueAt: number;
  dueElapsed: number;
}

/** Schedules that fall due before the others, so long before. */
interface WarmUp {
  count: number;
  beforeMs: number;
}

/** How nodes come to their burst. */
interface Beginning {
  /** A place to copy instead of an empty one. */
  from?: ContestantPlace | undefined;
  /** Whether they have just started, and run all of it for the first time. */
  isCold?: boolean;
}

/** Makes the schedules, starts the nodes, warms them up, and hands them over before the instant comes. */
async function beforeBurst<Value>(
  setup: Setup,
  count: number,
  play: (ready: Ready) => Promise<Value>,
  beginning: Beginning,
): Promise<Value> {
  for (let slack = firstSlack; ; slack *= 2) {
    const played = await tryBurst(setup, count, play, { ...beginning, slack });
    if (played !== null) return played.value;
  }
}

/** Null: making the schedules took too long, and the instant is too near. */
async function tryBurst<Value>(
  { room, duly, progress }: Setup,
  count: number,
  play: (ready: Ready) => Promise<Value>,
  { from, isCold = false, slack }: Beginning & { slack: number },
): Promise<{ value: Value } | null> {
  const warmUp: WarmUp = {
    count: isCold ? 0 : Math.min(warmUpCountMax, Math.ceil(count * warmUpShare)),
    beforeMs: isCold ? 0 : (warmUpMsMin * slack) / firstSlack,
  };
  const place = from === undefined ? await room.createPlace() : await room.copyPlace(from);
  const nodes: Session[] = [];
  try {
    // Their processes are there before, so that only the start itself stands between the making and the instant.
    for (let i = 0; i < nodeCount; i++) nodes.push(await openSession(duly, place));
    progress.step(`making ${count.toLocaleString('en-US')} schedules`);
    const creator = await openSession(duly, place);
    const { dueAt, dueElapsed } = await createSchedules(creator, count, { slack, warmUp });
    await creator.close();
    const firstElapsed = dueElapsed - warmUp.beforeMs;
    if (elapsed() > firstElapsed - 2_000) return null;
    await Promise.all(nodes.map((node) => node.ask('awaitBurst')));
    if (warmUp.count > 0) {
      progress.step('the nodes warm up');
      await untilStarted(nodes, warmUp.count, firstElapsed);
      if (elapsed() > dueElapsed - 200) return null;
      // From here on they count anew.
      await Promise.all(nodes.map((node) => node.ask('awaitBurst')));
    }
    if (elapsed() > dueElapsed - 200) throw new Error('The schedules fell due before the nodes had started.');
    progress.step(`${count.toLocaleString('en-US')} schedules fall due`);
    return { value: await play({ nodes, url: place.url, dueAt, dueElapsed }) };
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    await place.remove();
  }
}

/** So many schedules fall due at once, in an empty store or in a copy of another, on nodes that have run some before. */
export function playBurst(setup: Setup, count: number, beginning: Beginning = {}): Promise<Burst> {
  return beforeBurst(
    setup,
    count,
    async ({ nodes, dueElapsed }) => toBurst(await untilStarted(nodes, count, dueElapsed), count, dueElapsed),
    beginning,
  );
}

/**
 * One node dies with schedules in its hands, after it decided some; answers how long after that the last schedule was decided. What it
 * held is free again when its lease ends.
 */
function playDeath(setup: Setup, count: number): Promise<number> {
  const play = async ({ nodes, url, dueAt, dueElapsed }: Ready) => {
    const [victim] = nodes as [Session];
    await victim.ask('dieInBurst');
    const limit = setTimeout(() => void victim.close(), Math.max(0, dueElapsed - elapsed()) + burstMsMax);
    await victim.ended;
    clearTimeout(limit);
    const diedAt = dueAt + (elapsed() - dueElapsed);
    const { readLedger } = await storeInternalsOf(url);
    for (;;) {
      const { count: decided, lastDecidedAt } = await readLedger(url);
      if (decided >= count) return (lastDecidedAt as number) - diedAt;
      if (elapsed() > dueElapsed + burstMsMax) throw new Error(`${decided} of ${count} were decided.`);
      await pause(100);
    }
  };
  // All decisions in the ledger are of the burst.
  return beforeBurst(setup, count, play, { isCold: true });
}

/** Makes them for an instant that leaves time to make them and to start the nodes, as far as the first ones can tell. */
async function createSchedules(
  creator: Session,
  count: number,
  { slack, warmUp }: { slack: number; warmUp: WarmUp },
): Promise<Pick<Ready, 'dueAt' | 'dueElapsed'>> {
  const since = elapsed();
  const farAt = (await creator.ask('storeTime', since)) + halfDayMs;
  // These stay out of the burst.
  await creator.ask('createSchedules', probeCount, farAt, count);
  const msEach = (elapsed() - since) / probeCount;
  const leadMs = (count + warmUp.count) * msEach * slack + 3_000 + warmUp.beforeMs;
  const dueAt = Math.ceil(((await creator.ask('storeTime', elapsed())) + leadMs) / 1_000) * 1_000;
  await creator.ask('createSchedules', count, dueAt);
  if (warmUp.count > 0) {
    await creator.ask('createSchedules', warmUp.count, dueAt - warmUp.beforeMs, count + probeCount);
  }
  const now = elapsed();
  return { dueAt, dueElapsed: now + dueAt - (await creator.ask('storeTime', now)) };
}

async function untilStarted(nodes: Session[], count: number, dueElapsed: number): Promise<BurstNews[]> {
  await pause(Math.max(0, dueElapsed - elapsed() + 100));
  for (;;) {
    const news = await Promise.all(nodes.map((node) => node.ask('burstNews')));
    const started = news.reduce((sum, one) => sum + one.startedCount, 0);
    if (started >= count) return news;
    if (elapsed() > dueElapsed + burstMsMax) {
      throw new Error(`${started} of ${count} had started after ${burstMsMax / 1_000} s.`);
    }
    await pause(250);
  }
}

function toBurst(news: BurstNews[], count: number, dueElapsed: number): Burst {
  const fired = news.map(({ firedCount }) => firedCount);
  const firedCount = fired.reduce((sum, one) => sum + one, 0);
  if (firedCount !== count) throw new Error(`${firedCount} of ${count} schedules were told as fired.`);
  const last = (of: (one: BurstNews) => number | null) => Math.max(...news.map((one) => of(one) ?? 0));
  const first = Math.min(...news.map((one) => one.firstFiredElapsed ?? Number.POSITIVE_INFINITY));
  return {
    createdMs: last((one) => one.lastFiredElapsed) - dueElapsed,
    startedMs: last((one) => one.lastStartedElapsed) - dueElapsed,
    decidingMs: last((one) => one.lastFiredElapsed) - first,
    firedShare: Math.min(...fired) / count,
    startedShare: Math.min(...news.map(({ startedCount }) => startedCount)) / count,
  };
}

/** How long bare took. */
interface BareBurst {
  writtenMs: number;
  /** Until all their jobs had run. */
  drainedMs: number;
}

/** Bare: the rows of as many decisions, written in bulk, and then their jobs drained. */
async function bareBurst({ room, progress }: Setup, count: number): Promise<BareBurst> {
  const place = await room.createPlace();
  const session = await openSession(room.bare, place);
  try {
    progress.step(`bare writes the rows of ${count.toLocaleString('en-US')} decisions`);
    await session.ask('writeBurst', Math.ceil(count / 10));
    await session.ask('drain', Math.ceil(count / 10));
    const writtenMs = await session.ask('writeBurst', count);
    return { writtenMs, drainedMs: writtenMs + (await session.ask('drain', count)) };
  } finally {
    await session.close();
    await place.remove();
  }
}

async function linesOf(setup: Setup, count: number, rounds: number): Promise<Result[]> {
  const bursts: Burst[] = [];
  const bare: BareBurst[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(await bareBurst(setup, count));
    bursts.push(await playBurst(setup, count));
  }
  const cold = count > 10_000 ? null : await playBurst(setup, count, { isCold: true });
  const middle = (of: (burst: Burst) => number) => median(bursts.map(of));
  const perSecond = (ms: number) => (count / ms) * 1_000;
  const of = `${count.toLocaleString('en-US')} schedules due at once, two nodes`;
  const rest = { measure: 'schedules', bare: null, ratio: null, peers: [], isMoreBetter: false } as const;
  return [
    {
      ...rest,
      peers: [],
      title: `${of}: until the last job is made`,
      unit: 's',
      duly: middle(({ createdMs }) => createdMs) / 1_000,
      target: null,
      details: { bursts },
    },
    {
      ...rest,
      peers: [],
      title: `${of}: until the last has started`,
      unit: 's',
      duly: middle(({ startedMs }) => startedMs) / 1_000,
      bare: median(bare.map(({ drainedMs }) => drainedMs)) / 1_000,
      ratio: median(bursts.map(({ startedMs }, round) => startedMs / (bare[round] as BareBurst).drainedMs)),
      target: count === 10_000 ? setup.room.targets.burstStarted : null,
    },
    ...(cold === null
      ? []
      : [
          {
            ...rest,
            peers: [],
            title: `${of} that have just started: until the last has started`,
            unit: 's' as const,
            duly: cold.startedMs / 1_000,
            target: null,
            details: { bursts: [cold] },
          },
        ]),
    {
      ...rest,
      peers: [],
      title: `${of}: decided, recorded, made`,
      unit: 'per second',
      isMoreBetter: true,
      duly: perSecond(middle(({ createdMs }) => createdMs)),
      bare: perSecond(median(bare.map(({ writtenMs }) => writtenMs))),
      ratio: median(bursts.map(({ createdMs }, round) => (bare[round] as BareBurst).writtenMs / createdMs)),
      // Of a burst that is long enough to tell.
      target: count === 100_000 ? { text: '≥ 0.5 of bare bulk writes', of: 'ratio', atLeast: 0.5 } : null,
    },
    {
      ...rest,
      peers: [],
      title: `${of}: share decided by the lesser node`,
      unit: '%',
      isMoreBetter: true,
      duly: middle(({ firedShare }) => firedShare) * 100,
      target: { text: 'even: ≥ 35 %', of: 'value', atLeast: 35 },
    },
    {
      ...rest,
      peers: [],
      title: `${of}: share started by the lesser node`,
      unit: '%',
      isMoreBetter: true,
      duly: middle(({ startedShare }) => startedShare) * 100,
      target: null,
    },
  ];
}

async function deathLine(setup: Setup, count: number, rounds: number): Promise<Result> {
  const tookMs: number[] = [];
  for (let round = 0; round < rounds; round++) tookMs.push(await playDeath(setup, count));
  return {
    measure: 'schedules',
    title: `${count.toLocaleString('en-US')} schedules due at once, one of two nodes dies: until the last is decided`,
    unit: 's',
    isMoreBetter: false,
    // The worst of the rounds: it is a bound.
    duly: Math.max(...tookMs) / 1_000,
    bare: null,
    ratio: null,
    peers: [],
    target: { text: '≤ 4 s after the death', of: 'value', atMost: 4 },
    details: { tookMs },
  };
}

/** Many schedules that fall due in the same second, on two nodes. */
export const schedules: Measure = {
  name: 'schedules',
  title: 'schedules due in the same second',
  async run(setup) {
    if (setup.isQuick) return [...(await linesOf(setup, 1_000, 1)), await deathLine(setup, 2_500, 1)];
    return [
      ...(await linesOf(setup, 10_000, Math.min(3, setup.rounds))),
      await deathLine(setup, 10_000, Math.min(3, setup.rounds)),
      // Making 100,000 of them takes minutes; the burst itself is long enough to even out.
      ...(await linesOf(setup, 100_000, 1)),
    ];
  },
};
