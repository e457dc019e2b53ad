// `node bench/engines/sqlite/choices.ts`: measures two choices of how SQLite's tables are laid out, for
// docs/decisions/0003-one-lane-per-type-version-queue.md and docs/decisions/0005-changes-as-one-row-per-call.md.
import { DatabaseSync } from 'node:sqlite';
import { Duly } from '@duly/core';
import { type Engine, openEngine } from '@duly/core/internal';
import { elapsed } from '../../contestant.ts';
import { drainOnce } from '../../measures/drain.ts';
import { openSession } from '../../session.ts';
import { median, percentile } from '../../statistics.ts';
import { room } from './room.ts';

const rounds = 3;
const shown = (value: number) => value.toLocaleString('en-US', { maximumSignificantDigits: 3 });

// Lanes: a claim of one job and of a hundred, with so many lanes that have jobs. All hold the same number of jobs together.
const laneCounts = [1, 10, 100, 1_000];
const readyCount = 20_000;
const unhandledCount = 100_000;
const claimCount = 60;

/** Fills the lanes, one task each, and answers an engine on the file. */
async function fillLanes(url: string, laneCount: number, unhandled: number): Promise<Engine> {
  const duly = new Duly({ store: url, logger: false });
  const create = async (name: string, count: number) => {
    const task = duly.task({ name, run: () => {} });
    for (let created = 0; created < count; created += 5_000) {
      await task.nowMany(Array.from({ length: Math.min(5_000, count - created) }, (_, n) => ({ n })));
    }
  };
  for (let lane = 0; lane < laneCount; lane++) await create(`lane-${lane}`, readyCount / laneCount);
  if (unhandled > 0) await create('unhandled', unhandled);
  await duly.stop();
  return openEngine(`${url}?inline=1`);
}

/** The middle time of a claim, in milliseconds, its commit included. */
async function timeClaims(engine: Engine, laneCount: number, limit: number): Promise<number> {
  const tasks = Array.from({ length: laneCount }, (_, lane) => ({ type: `lane-${lane}`, version: 1, limit }));
  const took: number[] = [];
  for (let n = 0; n < claimCount; n++) {
    const from = elapsed();
    const { claimed } = await engine.exchange({
      settle: [],
      claim: {
        token: `${limit}-${n}`,
        node: 'bench',
        tasks,
        queues: null,
        limit,
        leaseMs: 600_000,
        idle: false,
      },
    });
    took.push(elapsed() - from);
    if (claimed.length !== limit) throw new Error(`Expected ${limit} jobs, got ${claimed.length}.`);
  }
  return percentile(took, 0.25);
}

console.log('a claim on SQLite, ms (lower quartile of 60, commit included; middle of 3 rounds)');
const cases = [
  ...laneCounts.map((laneCount) => ({ laneCount, unhandled: 0 })),
  { laneCount: 1, unhandled: unhandledCount },
];
const claims = new Map<string, number[][]>();
for (let round = 0; round < rounds; round++) {
  for (const { laneCount, unhandled } of cases) {
    const place = await room.createPlace();
    const engine = await fillLanes(place.url, laneCount, unhandled);
    const figures = [await timeClaims(engine, laneCount, 1), await timeClaims(engine, laneCount, 100)];
    await engine.close();
    await place.remove();
    const title = `${laneCount} lanes${unhandled > 0 ? `, beside ${shown(unhandled)} ready jobs that nobody handles` : ''}`;
    claims.set(title, [...(claims.get(title) ?? []), figures]);
  }
}
for (const [title, figures] of claims) {
  const [one, many] = [0, 1].map((i) => shown(median(figures.map((figure) => figure[i] as number))));
  console.log(`  ${title}: one job ${one}, a hundred ${many}`);
}

// The feed: triggers change what a row of it costs, without touching the product. Off: the row is not written (it is still put together).
// One row per change: the list is unpacked by SQLite itself, which is the cheapest way there is.
const feeds = {
  'one row per call': '',
  off: 'CREATE TRIGGER off BEFORE INSERT ON changes BEGIN SELECT RAISE(IGNORE); END',
  'one row per change': `CREATE TABLE each_change (position INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, entry TEXT NOT NULL) STRICT;
    CREATE TRIGGER each BEFORE INSERT ON changes BEGIN
      INSERT INTO each_change (at, entry) SELECT new.at, value FROM json_each(new.entries); SELECT RAISE(IGNORE); END`,
};
const drained = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) {
  const turns = Object.entries(feeds);
  if (round % 2 === 1) turns.reverse();
  for (const [feed, sql] of turns) {
    const place = await room.createPlace();
    await (await openEngine(place.url)).close();
    const db = new DatabaseSync(place.url.slice('sqlite:'.length));
    db.exec(sql);
    db.close();
    const session = await openSession(
      { name: 'duly', module: new URL('../../duly.ts', import.meta.url) },
      place,
    );
    const figure = await drainOnce(session, { room, count: 20_000 });
    await session.close();
    await place.remove();
    drained.set(feed, [...(drained.get(feed) ?? []), figure?.perSecond ?? Number.NaN]);
  }
}
console.log(
  'drain of 20,000 no-ops by what the feed writes (jobs a second; ratio to one row per call, middle of 3 rounds)',
);
const perCall = drained.get('one row per call') as number[];
for (const [feed, figures] of drained) {
  const ratio = median(figures.map((value, round) => value / (perCall[round] as number)));
  console.log(`  ${feed}: ${shown(median(figures))}/s, ${ratio.toFixed(2)}`);
}
