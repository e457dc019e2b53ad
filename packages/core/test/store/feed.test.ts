import assert from 'node:assert/strict';
import { test } from 'node:test';
import { day, jobSpec } from '@duly/conformance/builders';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ChangesInput, Engine, Notification } from '../../src/contract/engine.ts';
import { bufferedMax, createFeed, type FeedFollower, type FeedPage } from '../../src/store/feed.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** A feed over a store in memory, with the reads it made. */
async function setup(t: { after(fn: () => Promise<void>): void }, faults: Partial<Engine> = {}) {
  const engine = await openEngine('sqlite::memory:');
  t.after(() => engine.close());
  const clock = createManualClock();
  const reads: ChangesInput[] = [];
  const feed = createFeed(
    {
      changes(input) {
        reads.push(input);
        return (faults.changes ?? engine.changes)(input);
      },
      subscribe: faults.subscribe ?? (() => () => {}),
    },
    clock,
  );
  const create = async (count = 1): Promise<string[]> => {
    const jobs = Array.from({ length: count }, () => jobSpec({ due: { inMs: day } }));
    await engine.enqueue({ groups: [{ jobs }] });
    return jobs.map(({ id }) => id);
  };
  return { engine, clock, feed, reads, create };
}

/** The ids of the changes that a follower is given while time passes. */
function collect(follower: FeedFollower) {
  const pages: FeedPage[] = [];
  const done = (async () => {
    for (let page = await follower.next(); page !== null; page = await follower.next()) pages.push(page);
  })();
  return { pages, done, ids: () => pages.flatMap(({ changes }) => changes.map(({ id }) => id)) };
}

test('a follower is told its place at once, and then what changes, once and in order', async (t) => {
  const { clock, feed, create } = await setup(t);
  await create();
  const follower = feed.follow(null);
  const first = await follower.next();
  assert.deepEqual([first?.changes, first?.gap], [[], false]);
  const seen = collect(follower);
  const created = [...(await create(2)), ...(await create(3))];
  await clock.advance(1_000);
  assert.deepEqual(seen.ids(), created);
  follower.close();
  await seen.done;
  assert.equal(clock.pendingCount(), 0, 'nothing is asked while nobody follows');
});

test('a thousand followers cost the store what one costs, and what happens at once is one read', async (t) => {
  const counts: number[] = [];
  for (const followerCount of [1, 1_000]) {
    const { clock, feed, reads, create } = await setup(t);
    const followers = Array.from({ length: followerCount }, () => feed.follow(null));
    const seen = followers.map(collect);
    await clock.settle();
    for (let i = 0; i < 20; i++) {
      await create(5);
      await clock.advance(50);
    }
    for (const one of seen) assert.equal(one.ids().length, 100);
    counts.push(reads.length);
    feed.close(null);
  }
  assert.equal(counts[0], counts[1]);
  assert.ok((counts[0] as number) <= 20 * 3 + 2, `${counts[0]} reads in a second`);
});

test('a quiet feed is read five times a second, and soon again after a nudge', async (t) => {
  const { clock, feed, reads, create } = await setup(t);
  const seen = collect(feed.follow(null));
  await clock.advance(10_000);
  reads.length = 0;
  await clock.advance(10_000);
  assert.ok(reads.length <= 51, `${reads.length} reads in ten seconds`);
  const [id] = await create();
  feed.nudge();
  await clock.advance(20);
  assert.deepEqual(seen.ids(), [id]);
  reads.length = 0;
  for (let i = 0; i < 1_000; i++) {
    feed.nudge();
    await clock.advance(1);
  }
  assert.ok(reads.length <= 51, `${reads.length} reads in a second of nudges`);
  feed.close(null);
});

test('notifications of the store wake the tail', async (t) => {
  let notify: (notification: Notification) => void = () => {};
  const { clock, feed, create } = await setup(t, {
    subscribe: (listener) => {
      notify = listener;
      return () => {};
    },
  });
  const seen = collect(feed.follow(null));
  await clock.advance(10_000);
  const [id] = await create();
  notify({ kind: 'jobs' });
  await clock.advance(20);
  assert.deepEqual(seen.ids(), [id]);
  feed.close(null);
});

test('one that comes back after a restart is given what it missed, page by page, and then what is new', async (t) => {
  const { engine, clock, feed, create } = await setup(t);
  const { position } = await engine.changes({ after: null, limit: 1 });
  const missed: string[] = [];
  for (let i = 0; i < 25; i++) missed.push(...(await create(100)));
  const seen = collect(feed.follow(position));
  await clock.advance(100);
  assert.deepEqual(seen.ids(), missed);
  const later = await create(3);
  await clock.advance(500);
  assert.deepEqual(seen.ids(), [...missed, ...later]);
  feed.close(null);
});

test('a thousand that come back together, from different places, cost what the one that is furthest behind costs', async (t) => {
  const random = seededRandom(7);
  const { engine, clock, feed, reads, create } = await setup(t);
  const places: { position: number; seen: number }[] = [];
  const all: string[] = [];
  for (let i = 0; i < 60; i++) {
    const { position } = await engine.changes({ after: null, limit: 1 });
    places.push({ position, seen: all.length });
    all.push(...(await create(50)));
  }
  const back = Array.from({ length: 1_000 }, () => {
    const place = places[Math.floor(random.next() * places.length)] as (typeof places)[number];
    return { place, seen: collect(feed.follow(place.position)) };
  });
  await clock.advance(1_000);
  const readCount = reads.length;
  all.push(...(await create(2)));
  await clock.advance(1_000);
  for (const { place, seen } of back) assert.deepEqual(seen.ids(), all.slice(place.seen));
  assert.ok(readCount < 60, `${readCount} reads`);
  feed.close(null);
});

test('one that takes nothing for long keeps no more than its bound in memory, and misses nothing', async (t) => {
  const { clock, feed, create } = await setup(t);
  const slow = feed.follow(null);
  await slow.next();
  const fast = collect(feed.follow(null));
  await clock.advance(100);
  const all: string[] = [];
  for (let i = 0; i < 30; i++) {
    all.push(...(await create(1_000)));
    await clock.advance(50);
  }
  await clock.advance(1_000);
  assert.equal(fast.ids().length, 30_000);
  assert.ok(bufferedMax < 30_000);
  const seen = collect(slow);
  await clock.advance(1_000);
  all.push(...(await create(1)));
  await clock.advance(1_000);
  assert.deepEqual(seen.ids(), all);
  feed.close(null);
});

test('one that was away for longer than the feed is kept is told of the gap and goes on', async (t) => {
  const { engine, clock, feed, create } = await setup(t);
  const { position } = await engine.changes({ after: null, limit: 1 });
  await create();
  const now = clock.now() + 20 * 365 * day;
  await engine.prune({ now, limit: 100, ledgerMs: day, auditMs: day, changesMs: day });
  const seen = collect(feed.follow(position));
  await clock.advance(100);
  assert.deepEqual(
    seen.pages.map(({ changes, gap }) => [changes.length, gap]),
    [[0, true]],
  );
  const [id] = await create();
  await clock.advance(500);
  assert.deepEqual(seen.ids(), [id]);
  feed.close(null);
});

test('a place that the store has not reached is a gap: it is of another store', async (t) => {
  const { clock, feed, create } = await setup(t);
  const seen = collect(feed.follow(2 ** 50));
  await clock.advance(100);
  assert.deepEqual(
    seen.pages.map(({ gap }) => gap),
    [true],
  );
  const [id] = await create();
  await clock.advance(500);
  assert.deepEqual(seen.ids(), [id]);
  feed.close(null);
});

test('a place just ahead of the tail is no gap: another process was told of it first', async (t) => {
  const { engine, clock, feed, create } = await setup(t);
  const first = collect(feed.follow(null));
  await clock.advance(10_000);
  await create();
  const { position } = await engine.changes({ after: null, limit: 1 });
  const ahead = collect(feed.follow(position));
  const [id] = await create();
  await clock.advance(1_000);
  assert.deepEqual(ahead.ids(), [id]);
  assert.ok(ahead.pages.every(({ gap }) => !gap));
  assert.equal(first.ids().length, 2);
  feed.close(null);
});

test('a store that is away for a moment costs no change', async (t) => {
  let failures = 0;
  const { clock, feed, create, engine } = await setup(t, {
    changes: (input) =>
      failures-- > 0
        ? Promise.reject(dulyError('store_unavailable', { message: 'It is away.' }))
        : engine.changes(input),
  });
  const seen = collect(feed.follow(null));
  await clock.advance(100);
  failures = 3;
  const created = await create(2);
  await clock.advance(2_000);
  assert.deepEqual(seen.ids(), created);
  feed.close(null);
});

test('a store that is closed ends its followers with the error, and a closed feed without one', async (t) => {
  const closed = dulyError('store_closed', { message: 'It was closed.' });
  const { feed } = await setup(t, { changes: () => Promise.reject(closed) });
  await assert.rejects(feed.follow(null).next(), { code: 'store_closed' });
  feed.close(null);
  assert.equal(await feed.follow(null).next(), null);
});

test('a quiet store is asked as often as the least patient follower wants, and notifications cut every wait short', async (t) => {
  let notify: (notification: Notification) => void = () => {};
  const { clock, feed, reads, create } = await setup(t, {
    subscribe(listener) {
      notify = listener;
      return () => {};
    },
  });
  let idleMs = 5_000;
  const patient = feed.follow(null, () => idleMs);
  await patient.next();
  const seen = collect(patient);
  const readsOf = async (ms: number): Promise<number> => {
    const before = reads.length;
    await clock.advance(ms);
    return reads.length - before;
  };
  await clock.advance(60_000);
  assert.equal(await readsOf(50_000), 10);
  const [id] = await create();
  notify({ kind: 'jobs' });
  await clock.advance(30);
  assert.deepEqual(seen.ids(), [id]);
  idleMs = 1_000;
  await clock.advance(60_000);
  assert.equal(await readsOf(50_000), 50);
  const eager = feed.follow(null);
  await eager.next();
  const received = collect(eager);
  await clock.advance(10_000);
  assert.equal(await readsOf(10_000), 50);
  eager.close();
  patient.close();
  await Promise.all([seen.done, received.done]);
});
