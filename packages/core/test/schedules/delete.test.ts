import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scene } from './setup.ts';

test('a deletion decides what had come, and why tells which schedule a slot was of', async (t) => {
  const { t: duly, every, ledger, reported } = scene(t);
  await every('0 * * * *', { exclude: '* 13 * * *' });
  await duly.advance('1h 30m');
  await duly.outage('2h 45m');
  await duly.schedules.delete('nightly', { note: 'no longer' });
  assert.deepEqual(await ledger(), [
    '01-15T11:00 completed',
    '01-15T12:00 missed (deleted)',
    '01-15T13:00 excluded (exclude)',
    '01-15T14:00 missed (deleted)',
  ]);
  const gone = await duly.why('nightly', '2027-01-15T12:00');
  assert.deepEqual([gone.status, gone.reason], ['missed', 'deleted']);
  assert.match(
    gone.sentence,
    /^It did not run: it had come and was not decided when the schedule was deleted .* The schedule was deleted since then: at 14:15 by .* \("no longer"\)\.$/,
  );
  await duly.advance('1h');
  assert.equal(reported.length, 1);

  await every('0 * * * *');
  await duly.advance('1h');
  const why = async (slot: string) => (await duly.why('nightly', `2027-01-15T${slot}:00Z`)).sentence;
  const earlier =
    /It was a slot of an earlier schedule of this name, which was deleted at 14:15 by .* \("no longer"\)\./;
  assert.match(await why('11:00'), /^It ran at 2027-01-15 11:00 \(UTC\), on time/);
  assert.match(await why('11:00'), earlier);
  assert.match(await why('12:00'), /when the schedule was deleted/);
  assert.match(await why('12:00'), earlier);
  assert.match(
    await why('15:00'),
    /created at 15:15, after this slot.* An earlier one of this name was deleted at 14:15 by .*, before this slot\.$/,
  );
  assert.match(await why('16:00'), /^It ran at 2027-01-15 16:00 \(UTC\), on time[^.]*\.$/);
  assert.deepEqual((await ledger()).slice(-2), ['01-15T14:00 missed (deleted)', '01-15T16:00 completed']);
});

test('a slot that an earlier schedule of the name could have had and did not is told so', async (t) => {
  const { t: duly, every } = scene(t);
  await every('30 * * * *');
  await duly.advance('2h');
  await duly.schedules.delete('nightly');
  await every('0 * * * *');
  const { sentence, status } = await duly.why('nightly', '2027-01-15T11:00:00Z');
  assert.equal(status, 'none');
  assert.match(
    sentence,
    /An earlier one of this name was there then, created at 10:00 and deleted at 12:00 by .*; the ledger has no decision of it about this instant\.$/,
  );
});

test('what a pause held is decided when the schedule is deleted', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 * * * *', { onResume: 'all' });
  await duly.schedules.pause('nightly');
  await duly.advance('2h 30m');
  await duly.schedules.delete('nightly');
  assert.deepEqual(await ledger(), ['01-15T11:00..01-15T12:00 ×2 missed (deleted)']);
});
