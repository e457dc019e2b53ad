import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scene } from './setup.ts';

/** Runs that take 25 minutes, every 10 minutes, for nearly an hour. */
async function play(
  t: Parameters<typeof scene>[0],
  overlap: Parameters<ReturnType<typeof scene>['every']>[1],
) {
  const one = scene(t, {
    run: async ({ signal }, on) => {
      await on.clock.sleep(25 * 60_000, signal);
      signal.throwIfAborted();
    },
  });
  await one.every({ rate: '10m' }, overlap);
  await one.t.advance('58m');
  return one;
}

test("overlap 'skip': a slot is skipped while the previous run goes on", async (t) => {
  const { ledger } = await play(t, { overlap: 'skip' });
  assert.deepEqual(await ledger(), [
    '01-15T10:10 completed',
    '01-15T10:20..01-15T10:30 ×2 skipped (overlap)',
    '01-15T10:40 enqueued',
    '01-15T10:50 skipped (overlap)',
  ]);
});

test("overlap 'allow': runs go side by side", async (t) => {
  const { reported, ledger } = await play(t, { overlap: 'allow' });
  assert.equal(reported.length, 5);
  assert.equal((await ledger()).filter((row) => row.endsWith('enqueued')).length, 2);
});

test("overlap 'bufferOne': one run waits, and learns what was merged into it", async (t) => {
  const { reported, ledger } = await play(t, { overlap: 'bufferOne' });
  assert.deepEqual(await ledger(), [
    '01-15T10:10 completed',
    '01-15T10:20 enqueued',
    '01-15T10:30 merged (overlap)',
    '01-15T10:40 enqueued',
    '01-15T10:50 merged (overlap)',
  ]);
  assert.deepEqual(
    reported.map(({ slot, covers }) => [slot?.slice(11, 16), covers?.count ?? 0]),
    [
      ['10:10', 0],
      ['10:20', 1],
    ],
  );
  assert.deepEqual(reported[1]?.covers, {
    from: '2027-01-15T10:30:00.000Z',
    to: '2027-01-15T10:30:00.000Z',
    count: 1,
  });
});

test("overlap 'bufferAll': every slot runs, one after the other, up to the limit", async (t) => {
  const { t: duly, reported, ledger } = await play(t, { overlap: 'bufferAll', bufferLimit: 2 });
  assert.ok((await ledger()).includes('01-15T10:50 skipped (buffer full)'), (await ledger()).join('\n'));
  await duly.schedules.pause('nightly');
  await duly.advance('3h');
  const slots = reported.map(({ slot }) => slot as string);
  assert.deepEqual(slots, [...slots].sort());
  assert.equal(new Set(slots).size, slots.length);
});

test("overlap 'bufferAll': cancelling a run in the middle of the line does not let two start", async (t) => {
  let running = 0;
  let most = 0;
  const {
    t: duly,
    every,
    ledger,
  } = scene(t, {
    run: async ({ signal }, on) => {
      most = Math.max(most, ++running);
      await on.clock.sleep(60 * 60_000, signal);
      running--;
    },
  });
  await every({ rate: '10m' }, { overlap: 'bufferAll' });
  await duly.advance('45m');
  const slots = await duly.schedules.slots('nightly', { to: duly.now });
  assert.equal((await ledger()).length, 4);
  await duly.cancel({ id: slots[1]?.runs[0]?.id ?? '' });
  await duly.advance('4h');
  assert.equal(most, 1);
});

test("overlap 'cancelOther': the other run is asked, and the new one starts when it has ended", async (t) => {
  const { reported, ledger } = await play(t, { overlap: 'cancelOther' });
  assert.deepEqual((await ledger()).slice(0, 2), ['01-15T10:10 fired', '01-15T10:20 fired']);
  assert.equal(reported.length, 5);
});

test("overlap 'terminateOther': the other run is CANCELLED at once", async (t) => {
  const { t: duly, reported } = await play(t, { overlap: 'terminateOther' });
  assert.equal(reported.length, 5);
  const slots = await duly.schedules.slots('nightly', { to: duly.now });
  assert.deepEqual(slots.map(({ runs }) => runs[0]?.status).reverse(), [
    'CANCELLED',
    'CANCELLED',
    'CANCELLED',
    'CANCELLED',
    'RUNNING',
  ]);
});

/** A schedule with so many runs side by side, which end when they are asked to, edited to another policy. */
async function crowd(
  t: Parameters<typeof scene>[0],
  overlap: 'cancelOther' | 'terminateOther' | 'bufferOne' | 'bufferAll',
) {
  const ended: string[] = [];
  let number = 0;
  const one = scene(t, {
    concurrency: 100,
    run: async ({ signal }, on) => {
      const own = ++number;
      // Whoever is asked to end does so after a while, the newest last.
      await on.clock.sleep(10 * 3_600_000, signal).catch(() => {});
      await on.clock.sleep(own * 1_000);
      ended.push(`${own}`);
      signal.throwIfAborted();
    },
  });
  await one.every({ rate: '1m' }, { overlap: 'allow', pauseAfterFailures: 3 });
  await one.t.advance('25m');
  assert.equal(one.reported.length, 25);
  await one.t.schedules.edit('nightly', { overlap });
  const statuses = async () => {
    const slots = await one.t.schedules.slots('nightly', { limit: 1_000, to: one.t.now.getTime() + 1 });
    return slots.reverse().map(({ runs }) => runs[0]?.status ?? null);
  };
  return { ...one, ended, statuses };
}

test("overlap 'terminateOther' ends all of them, also when there are 25", async (t) => {
  const { t: duly, reported, statuses } = await crowd(t, 'terminateOther');
  await duly.advance('1m');
  assert.deepEqual(await statuses(), [...Array.from({ length: 25 }, () => 'CANCELLED'), 'RUNNING']);
  assert.equal(reported.length, 26);
});

test("overlap 'cancelOther' asks all of them, also when there are 25, and waits for the last", async (t) => {
  const { t: duly, reported, statuses } = await crowd(t, 'cancelOther');
  await duly.advance('84s');
  assert.deepEqual(await statuses(), [
    ...Array.from({ length: 24 }, () => 'CANCELLED'),
    'RUNNING',
    'BLOCKED',
  ]);
  await duly.advance('2s');
  assert.equal(reported.length, 26);
});

for (const overlap of ['bufferOne', 'bufferAll'] as const) {
  test(`overlap '${overlap}': a run waits for all that run, also for 25`, async (t) => {
    const { t: duly, reported, statuses } = await crowd(t, overlap);
    await duly.advance('1m');
    const [waiting, ...running] = await duly.schedules.slots('nightly', { to: duly.now.getTime() + 1 });
    assert.deepEqual([waiting?.runs[0]?.status, running.length], ['BLOCKED', 25]);
    await duly.schedules.pause('nightly');
    // Neither one of the ten oldest nor the newest.
    const [last] = running.splice(7, 1);
    for (const { runs } of running) await duly.cancel({ id: runs[0]?.id ?? '' });
    await duly.advance('2m');
    assert.equal((await statuses()).filter((one) => one === 'CANCELLED').length, 24);
    assert.equal(reported.length, 25, 'one of them still runs');
    await duly.cancel({ id: last?.runs[0]?.id ?? '' });
    await duly.advance('1m');
    assert.equal(reported.length, 26);
  });
}
