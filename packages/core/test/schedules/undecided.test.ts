import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scene, short } from './setup.ts';

/** What `slots` and `why` each say of slots that no node has decided. */
async function reported(
  duly: ReturnType<typeof scene>['t'],
  slots: readonly string[],
): Promise<{ lines: string[]; whys: string[] }> {
  const lines = (await duly.schedules.slots('nightly', { limit: 20 }))
    .filter(({ decision }) => decision === null)
    .map(({ slot, to, count, status, runs }) => {
      const range = count === 1 ? short(slot) : `${short(slot)}..${short(to)} ×${count}`;
      return `${range} ${status}${runs.length === 0 ? '' : ` with ${runs.length}`}`;
    });
  const whys = [];
  for (const slot of slots) whys.push((await duly.why('nightly', `2027-01-15T${slot}`)).status);
  return { lines, whys };
}

test('a pause whose end has passed holds nothing, whether or not a node has noted it', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.schedules.pause('nightly', { until: '2027-01-15T12:30:00Z' });
  await duly.outage('4h 30m');
  assert.deepEqual(await reported(duly, ['11:00', '14:00', '15:00']), {
    lines: ['01-15T15:00 pending', '01-15T11:00..01-15T14:00 ×4 late'],
    whys: ['late', 'late', 'pending'],
  });
  const { sentence } = await duly.why('nightly', '2027-01-15T11:00');
  assert.match(
    sentence,
    /^It fell in a pause that ended at 12:30\. It is due since .* decided by onResume: "skip"\.$/,
  );
  assert.doesNotMatch((await duly.why('nightly', '2027-01-15T14:00')).sentence, /pause/);
  const { status, paused } = await duly.schedules.get('nightly');
  assert.deepEqual([status, paused], ['active', null]);
  const { schedules } = await duly.schedules.list({ status: 'paused' });
  assert.equal(schedules.length, 0);
});

test('what fell due before a pause and was not noticed is late, and not held', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.outage('2h 30m');
  await duly.schedules.pause('nightly');
  await duly.outage('1h');
  assert.deepEqual(await reported(duly, ['12:00', '13:00', '14:00']), {
    lines: ['01-15T14:00 pending', '01-15T13:00 held', '01-15T11:00..01-15T12:00 ×2 late'],
    whys: ['late', 'held', 'pending'],
  });
});

test('what nobody decides is late in any zone', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ cron: '0 * * * *', timezone: 'America/New_York' }, { jitter: '5m' });
  await duly.outage('2h 30m');
  assert.deepEqual((await reported(duly, [])).lines, [
    '01-15T13:00 pending',
    '01-15T11:00..01-15T12:00 ×2 late',
  ]);
});

test('what lies after the end is neither held nor pending', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { endAt: '2027-01-15T12:00:00Z' });
  await duly.schedules.pause('nightly');
  await duly.outage('5h');
  assert.deepEqual(await reported(duly, ['11:00', '13:00', '16:00']), {
    lines: ['01-15T11:00..01-15T12:00 ×2 held'],
    whys: ['held', 'ended', 'ended'],
  });
});

test('a slot of a fixed delay is held when it is due, and late when nobody looks', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ delay: '10m' }, { jitter: '5m' });
  await duly.schedules.pause('nightly');
  assert.deepEqual((await reported(duly, ['10:00'])).lines, ['01-15T10:00 pending']);
  await duly.outage('6m');
  assert.deepEqual(await reported(duly, ['10:00']), { lines: ['01-15T10:00 held'], whys: ['held'] });
  await duly.schedules.delete('nightly');
  await every({ delay: '10m' });
  await duly.outage('6m');
  assert.deepEqual(await reported(duly, ['10:06']), { lines: ['01-15T10:06 late'], whys: ['late'] });
});

test('a slot that is held stays so when it is backfilled, and has that run', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { onResume: 'latest' });
  await duly.schedules.pause('nightly');
  await duly.advance('1h');
  await duly.schedules.backfill('nightly', { from: '2027-01-15T11:00' });
  await duly.runDue();
  assert.deepEqual(await reported(duly, ['11:00']), {
    lines: ['01-15T12:00 pending', '01-15T11:00 held with 1'],
    whys: ['held'],
  });
  assert.match(
    (await duly.why('nightly', '2027-01-15T11:00')).sentence,
    /the slot is held.*It was backfilled: it ran at/,
  );
});

test('the first slot of a fixed delay that an edit to a rate kept is told as it is', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ delay: '10m' }, { jitter: '5m' });
  await duly.schedules.edit('nightly', { rate: '10m', jitterMode: null });
  assert.deepEqual(await reported(duly, ['10:00']), { lines: ['01-15T10:00 pending'], whys: ['pending'] });
});

test('a backfill of an earlier schedule of the name stays with that one', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.schedules.backfill('nightly', { from: '2027-01-15T08:00', to: '2027-01-15T09:00' });
  await duly.runDue();
  await duly.advance('5m');
  await duly.schedules.delete('nightly');
  assert.match(
    (await duly.why('nightly', '2027-01-15T08:00')).sentence,
    /^The schedule "nightly" was created at 10:00, after this slot, and decided nothing before that\. It was backfilled/,
  );
  await duly.advance('5m');
  await every('0 * * * *');
  await duly.schedules.backfill('nightly', { from: '2027-01-15T07:00', to: '2027-01-15T07:00' });
  await duly.runDue();
  const lines = await duly.schedules.slots('nightly');
  assert.deepEqual(
    lines.map(({ slot, generation }) => `${short(slot)} of ${generation}`),
    ['01-15T11:00 of 2', '01-15T07:00 of 2', '01-15T09:00 of 1', '01-15T08:00 of 1'],
  );
});

test('a schedule that is created again in the instant of a slot is told by what it is, and not by what it was', async (t) => {
  const { t: duly, every } = scene(t, {
    run: async (_, { clock }) => {
      await clock.sleep(30 * 60_000);
    },
  });
  await every('0 * * * *', { overlap: 'bufferAll' });
  await duly.advance('1h');
  await duly.schedules.delete('nightly');
  await every({ delay: '2h' });
  assert.equal((await duly.why('nightly', '2027-01-15T11:00')).status, 'pending');
  await duly.advance('1h');
  const { decision, sentence } = await duly.why('nightly', '2027-01-15T11:00');
  assert.equal(decision, 'skipped');
  assert.match(sentence, /an earlier run was not finished, and overlap is "skip"/);
});
