/**
 * Faults at the edge of time, on real processes: wall clocks that are stepped while nodes run, that disagree, that cross a change to or
 * from summer time, and a machine that slept for a day (on Linux the monotonic clock does not count sleep, so that a day's sleep is a day's
 * step of the wall clock between two instructions). A step is followed once it has been stable for 10 s, so each of these takes that long
 * and they run side by side.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type ScheduleDefinition, systemClock } from '../../packages/core/src/index.ts';
import { freeze } from '../../packages/core/test/processes/freeze.ts';
import { fakeTimeLibrary } from './faked-time.ts';
import { createTimedCluster, type TimedCluster, type TimedNode } from './timed-cluster.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const hasLibrary = fakeTimeLibrary() !== null;
const skip = hasLibrary
  ? false
  : 'libfaketime is neither there nor to be installed; the same steps on an injected clock: store-clock.test.ts';

/** The same rule under each way to treat what was missed. */
const each = (rule: Omit<ScheduleDefinition, 'type'>): ScheduleDefinition[] =>
  (['skip', 'latest', 'all'] as const).map((missed) => ({ ...rule, type: 'work', name: missed, missed }));

/** The slots of a schedule that ran, in order. */
async function ranSlots({ client, began }: TimedCluster, name: string): Promise<string[]> {
  const ids = new Set<string>();
  for await (const { id, schedule } of client.jobs()) if (schedule === name) ids.add(id);
  return began()
    .filter(({ id }) => ids.has(id))
    .map(({ slotAt }) => new Date(slotAt as number).toISOString().slice(5, 16))
    .sort();
}

/** A decision in a word, and the sentence that explains it. */
async function why({ client }: TimedCluster, name: string, slot: string) {
  const { decision, reason, sentence, runs } = await client.why(name, slot);
  return { decision, reason, sentence, runCount: runs.length };
}

/** A job in the middle of a step: its lease must not move with the clock. */
async function startLong(cluster: TimedCluster) {
  const job = await cluster.long.now();
  await cluster.until((reported) => reported.some((news) => news.kind === 'began' && news.id === job.id));
  return job;
}

async function endsUnharmed(job: Awaited<ReturnType<typeof startLong>>): Promise<void> {
  const { status, losses, attemptList } = await job.wait();
  assert.deepEqual(
    { status, losses, attemptCount: attemptList.length },
    { status: 'COMPLETED', losses: 0, attemptCount: 1 },
  );
}

/** Nothing ran twice, and nothing before its time. */
function assertOnceAndNotEarly(cluster: TimedCluster): void {
  const began = cluster.began();
  assert.equal(new Set(began.map(({ id }) => id)).size, began.length, 'no job began twice');
  for (const { lateness, id } of began) assert.ok(lateness >= 0, `${id} is ${lateness} ms late`);
}

/** The schedule that has a slot every second made one run for each, from the first to the last. */
async function assertEverySecondOnce(cluster: TimedCluster): Promise<void> {
  const slots = cluster
    .began()
    .flatMap(({ slotAt }) => (slotAt === null ? [] : [slotAt]))
    .sort((one, other) => one - other);
  const first = slots[0] as number;
  assert.deepEqual(
    slots,
    slots.map((_, i) => first + i * 1_000),
  );
}

const followed = (cluster: TimedCluster) =>
  cluster.untilStored((db) => db.prepare('SELECT 1 FROM clock_steps').get() !== undefined);

function about(actual: number, expected: number, withinMs: number): void {
  assert.ok(Math.abs(actual - expected) <= withinMs, `${actual} is not within ${withinMs} ms of ${expected}`);
}

/** Steps a node's wall clock from where it is. */
function step(node: TimedNode, byMs: number): void {
  node.time.setOffset(node.time.offsetMs() + byMs);
}

// Far beyond what they take; one that waits in vain is to say what for.
const timeout = 300_000;

describe('the edge of time', { concurrency: true, skip, timeout }, () => {
  test('forward by an hour while it runs: the hour is decided by policy, and why says so', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const startAt = Date.UTC(2027, 5, 1, 10, 33);
    const node = await cluster.start(startAt, each({ cron: '*/10 * * * *' }));
    const inHour = await cluster.work.in('20m');
    const later = await cluster.work.in('3h');
    const long = await startLong(cluster);
    step(node, hourMs);
    await followed(cluster);
    about(cluster.steps()[0] as number, hourMs, 500);
    about(await cluster.now(), node.time.now(), 500);
    assert.equal((await inHour.wait()).status, 'COMPLETED');
    assert.equal((await later.get()).status, 'SCHEDULED');
    await cluster.until(() => cluster.began().filter(({ isCatchUp }) => isCatchUp).length >= 7);
    node.child.send('end');
    await endsUnharmed(long);
    assert.deepEqual(await ranSlots(cluster, 'skip'), []);
    assert.deepEqual(await ranSlots(cluster, 'latest'), ['06-01T11:30']);
    assert.deepEqual(
      await ranSlots(cluster, 'all'),
      ['10:40', '10:50', '11:00', '11:10', '11:20', '11:30'].map((at) => `06-01T${at}`),
    );
    assertOnceAndNotEarly(cluster);
    const skipped = await why(cluster, 'skip', '2027-06-01T10:40:00Z');
    assert.equal(skipped.decision, 'missed');
    assert.match(skipped.sentence, /It was missed: .* 5\d min .* after it fell due, and missed is "skip"/);
    const passed = await why(cluster, 'latest', '2027-06-01T10:40:00Z');
    assert.equal(passed.decision, 'missed');
    assert.match(passed.sentence, /a later slot was missed too/);
    for (const [name, slot] of [
      ['latest', '2027-06-01T11:30:00Z'],
      ['all', '2027-06-01T10:40:00Z'],
    ] as const) {
      const caughtUp = await why(cluster, name, slot);
      assert.deepEqual([caughtUp.decision, caughtUp.runCount], ['fired', 1]);
      assert.match(caughtUp.sentence, /It was missed and caught up on, decided .* after it fell due/);
    }
  });

  test('back by an hour while it runs: now does not go back, no slot is decided twice, and nothing is early', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const node = await cluster.start(Date.UTC(2027, 5, 1, 10, 33), [
      { type: 'work', name: 'tick', rate: '1s', anchor: 'epoch', overlap: 'allow' },
    ]);
    const long = await startLong(cluster);
    const beforeAt = await cluster.now();
    step(node, -hourMs);
    await followed(cluster);
    about(cluster.steps()[0] as number, -hourMs, 500);
    const followedAt = await cluster.now();
    assert.ok(followedAt > beforeAt + 9_000, 'it went on while the step was watched');
    const sinceElapsed = systemClock.elapsed();
    const soon = await cluster.work.in('2s');
    assert.equal((await soon.wait()).status, 'COMPLETED');
    // The store waits for the wall clock at half speed, so two of its seconds take four.
    assert.ok(systemClock.elapsed() - sinceElapsed >= 3_500);
    assert.ok((await cluster.now()) >= followedAt + 1_900);
    node.child.send('end');
    await endsUnharmed(long);
    assertOnceAndNotEarly(cluster);
    await assertEverySecondOnce(cluster);
  });

  test('through the hour that does not exist, while it runs: its slot runs once, at the first instant after', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    // Some seconds before two o'clock in New York, when it becomes three; some, for a process needs a moment to start.
    await cluster.start(Date.UTC(2027, 2, 14, 6, 59, 40), [
      { type: 'work', name: 'gap', cron: '30 2 * * *', timezone: 'America/New_York' },
      { type: 'work', name: 'hourly', cron: '0 * * * *', timezone: 'America/New_York' },
    ]);
    await cluster.until(() => cluster.began().length >= 2);
    assert.deepEqual(await ranSlots(cluster, 'gap'), ['03-14T07:00']);
    assert.deepEqual(await ranSlots(cluster, 'hourly'), ['03-14T07:00']);
    assertOnceAndNotEarly(cluster);
    const { decision, sentence } = await why(cluster, 'gap', '2027-03-14T02:30');
    assert.equal(decision, 'fired');
    assert.match(sentence, /02:30 did not exist on 14 March 2027 in America\/New_York/);
    assert.deepEqual(cluster.steps(), [], 'the clock of the machine does not change with the zone');
  });

  test('stepped over the hour that does not exist: its slot was missed, and is caught up on once', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const rule = { cron: '30 2 * * *', timezone: 'America/New_York' };
    const node = await cluster.start(Date.UTC(2027, 2, 14, 6, 33), each(rule));
    step(node, hourMs);
    await cluster.until(() => cluster.began().length >= 2);
    assert.deepEqual(await ranSlots(cluster, 'skip'), []);
    for (const name of ['latest', 'all']) {
      assert.deepEqual(await ranSlots(cluster, name), ['03-14T07:00']);
      const { sentence } = await why(cluster, name, '2027-03-14T02:30');
      assert.match(sentence, /02:30 did not exist on 14 March 2027 .* caught up on/s);
    }
    const { decision, sentence } = await why(cluster, 'skip', '2027-03-14T02:30');
    assert.equal(decision, 'missed');
    assert.match(sentence, /02:30 did not exist on 14 March 2027 .* missed is "skip"/s);
    assertOnceAndNotEarly(cluster);
  });

  test('stepped to and over the hour that happens twice: a time in it runs once', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const rule = { cron: '30 1 * * *', timezone: 'America/New_York' };
    const node = await cluster.start(Date.UTC(2027, 10, 7, 5, 10), [
      { type: 'work', name: 'once', ...rule },
      { type: 'work', name: 'both', ...rule, dst: { repeat: 'both' } },
    ]);
    // Past half past one in New York, and then past the next one.
    step(node, hourMs / 3);
    await cluster.until(() => cluster.began().length >= 2);
    step(node, hourMs);
    await cluster.until(() => cluster.began().length >= 3);
    assert.deepEqual(await ranSlots(cluster, 'once'), ['11-07T05:30']);
    assert.deepEqual(await ranSlots(cluster, 'both'), ['11-07T05:30', '11-07T06:30']);
    assertOnceAndNotEarly(cluster);
    const { decision, sentence } = await why(cluster, 'once', '2027-11-07T01:30');
    assert.equal(decision, 'fired');
    assert.match(
      sentence,
      /01:30 came twice on 7 November 2027 in America\/New_York; this is the first of them/,
    );
  });

  test('asleep for a day: what fell into it is decided by policy, deadlines hold, and leases do not', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const node = await cluster.start(Date.UTC(2027, 5, 1, 10, 33), each({ cron: '0 */6 * * *' }));
    const inNight = await cluster.work.in('12h');
    const perishable = await cluster.work.in('2h', undefined, { startDeadline: '1h' });
    const long = await startLong(cluster);
    freeze(node.child, cluster.file);
    step(node, dayMs);
    node.child.kill('SIGCONT');
    assert.equal((await inNight.wait()).status, 'COMPLETED');
    assert.equal((await perishable.wait()).status, 'EXPIRED');
    await cluster.until(() => cluster.began().filter(({ isCatchUp }) => isCatchUp).length >= 5);
    node.child.send('end');
    await endsUnharmed(long);
    assert.deepEqual(await ranSlots(cluster, 'skip'), []);
    assert.deepEqual(await ranSlots(cluster, 'latest'), ['06-02T06:00']);
    const all = ['06-01T12:00', '06-01T18:00', '06-02T00:00', '06-02T06:00'];
    assert.deepEqual(await ranSlots(cluster, 'all'), all);
    assertOnceAndNotEarly(cluster);
    const missed = await why(cluster, 'skip', '2027-06-01T12:00:00Z');
    assert.match(missed.sentence, /noticed 22 h .* after it fell due, and missed is "skip"/);
  });

  test('two processes whose clocks are an hour apart: the file has one time, nothing is early, double or lost', async (t: TestContext) => {
    const cluster = createTimedCluster(t);
    const startAt = Date.UTC(2027, 5, 1, 10, 33);
    const tick = { type: 'work', name: 'tick', rate: '1s', anchor: 'epoch', overlap: 'allow' } as const;
    const right = await cluster.start(startAt, [tick]);
    const ahead = await cluster.start(right.time.now() + hourMs, [tick]);
    assert.deepEqual(right.warnings, []);
    assert.match(ahead.warnings.join(), /3600\.\d s ahead of the store's/);
    const sinceElapsed = systemClock.elapsed();
    const jobs = await cluster.work.inMany(
      '2s',
      Array.from({ length: 40 }, (_, i) => i),
    );
    for (const job of jobs) assert.equal((await job.wait()).status, 'COMPLETED');
    assert.ok(systemClock.elapsed() - sinceElapsed >= 2_000);
    // Longer than a step must be stable to be followed; the one that is right keeps it from that.
    await cluster.until(() => cluster.began().filter(({ slotAt }) => slotAt !== null).length >= 13);
    about(await cluster.now(), right.time.now(), 500);
    assert.deepEqual(cluster.steps(), []);
    assertOnceAndNotEarly(cluster);
    await assertEverySecondOnce(cluster);
  });
});
