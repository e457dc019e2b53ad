import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monthStarts } from '../../src/maintenance/prune.ts';
import { line, scene } from './setup.ts';

test('a node keeps the ledger for as long as it was told', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-20T10:00:00Z', retention: { ledger: '5 days' } });
  await every('0 12 * * *');
  await duly.advance('12 days');
  const [newest, ...older] = await duly.schedules.slots('nightly', { limit: 100 });
  assert.ok(newest?.status !== 'compacted', 'what is not that old has its own line');
  assert.equal(older.at(-1)?.compacted?.month, '2027-01');
});

test('past its retention the ledger is kept by month, and why and slots say so', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-20T10:00:00Z' });
  await every('0 12 * * *', { timezone: 'Europe/Rome', missed: 'skip' });
  await duly.advance('20 days');
  await duly.outage('3 days');
  await duly.advance('417 days');
  const lines = (await duly.schedules.slots('nightly', { limit: 1_000 })).reverse();
  assert.deepEqual(lines.slice(0, 2).map(line), [
    '01-20T11:00..01-31T11:00 ×12 compacted',
    '02-01T11:00..02-28T11:00 ×28 compacted',
  ]);
  assert.deepEqual(lines[0]?.compacted, {
    month: '2027-01',
    counts: [{ decision: 'fired', count: 12, atLeast: false }],
  });
  assert.deepEqual(lines[1]?.compacted?.counts, [
    { decision: 'fired', count: 25, atLeast: false },
    { decision: 'missed', count: 3, atLeast: false },
  ]);
  assert.equal(lines[2]?.decision, 'fired', 'what is not that old has its own line');
  assert.equal(
    lines.reduce(
      (sum, { count, decision, status }) => sum + (decision || status === 'compacted' ? (count ?? 0) : 0),
      0,
    ),
    441,
    'no slot is lost and none is told twice',
  );

  const mixed = await duly.why('nightly', '2027-02-11T12:00');
  assert.deepEqual([mixed.status, mixed.decision, mixed.compacted?.month], ['compacted', null, '2027-02']);
  assert.equal(
    mixed.sentence,
    'It was decided, and the ledger keeps slots of that age by month: in February 2027 (UTC): 25 fired, 3 missed.',
  );
  const sure = await duly.why('nightly', '2027-01-25T12:00');
  assert.deepEqual([sure.status, sure.decision], ['compacted', 'fired']);
  assert.match(sure.sentence, /in January 2027 \(UTC\): 12 fired\.$/);
  assert.match((await duly.why('nightly', '2027-02-11T12:01')).sentence, /is no slot of the schedule/);
  assert.match(
    (await duly.why('nightly', '2027-01-19T12:00')).sentence,
    /was created at .*, after this slot/,
  );

  // Which three of them were missed is no longer known, so none is run again unless all are.
  const range = { from: '2027-02-01', to: '2027-02-28T13:00', dryRun: true };
  const backfill = await duly.schedules.backfill('nightly', range);
  assert.deepEqual([backfill.slots.length, backfill.completedCount, backfill.compactedCount], [0, 0, 28]);
  const all = await duly.schedules.backfill('nightly', { ...range, reprocess: true, dryRun: false });
  assert.equal(all.slots.length, 28);
  await duly.advance('1m');
  const again = await duly.why('nightly', '2027-02-11T12:00');
  assert.deepEqual(
    again.runs.map(({ origin, status }) => [origin, status]),
    [['backfill', 'COMPLETED']],
  );
  assert.match(again.sentence, /25 fired, 3 missed\. A backfill created another run: it ran at /);
});

test('months begin in UTC, for long before and a while after', () => {
  const starts = monthStarts(Date.parse('2027-03-14T02:30:00Z')).map((at) => new Date(at).toISOString());
  assert.ok(starts.every((at) => at.endsWith('-01T00:00:00.000Z')));
  assert.deepEqual(
    [starts[0], starts.at(-1), starts.length],
    ['1997-01-01T00:00:00.000Z', '2028-12-01T00:00:00.000Z', 384],
  );
});

test('the backfills of a slot stand beside its decision', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ rate: '1m' });
  await duly.advance('30m');
  await duly.schedules.backfill('nightly', {
    from: '2027-01-15T10:05:00Z',
    to: '2027-01-15T10:07:00Z',
    reprocess: true,
  });
  await duly.advance('30m');
  const why = await duly.why('nightly', '2027-01-15T10:06:00Z');
  assert.deepEqual(
    why.runs.map(({ origin }) => origin),
    ['schedule', 'backfill'],
  );
  const ledger = await duly.schedules.slots('nightly', {
    from: '2027-01-15T10:04:00Z',
    to: '2027-01-15T10:09:00Z',
  });
  assert.deepEqual(
    ledger.map(({ runs }) => runs.length),
    [1, 2, 2, 2, 1],
  );
});

test('the months of a schedule that was deleted and created again are told as those of the earlier one', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-20T10:00:00Z' });
  await every('0 12 * * *');
  await duly.advance('20 days');
  await duly.schedules.delete('nightly', { note: 'moved' });
  await every('0 12 * * *');
  await duly.advance('395 days');
  const why = async (slot: string) => (await duly.why('nightly', slot)).sentence;
  // The audit still tells who deleted it.
  assert.match(
    await why('2027-01-21T12:00'),
    /keeps slots of that age by month: .* It was a slot of an earlier schedule of this name, which was deleted at 2027-02-09 .* \("moved"\)\.$/,
  );
  await duly.advance('30 days');
  assert.match(
    await why('2027-01-21T12:00'),
    /keeps slots of that age by month: .* It was a slot of an earlier schedule of this name, which was deleted\.$/,
  );
  assert.match(await why('2027-02-12T12:00'), /in February 2027 \(UTC\): \d+ fired\.$/);
});
