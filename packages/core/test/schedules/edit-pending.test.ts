import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScheduleChanges } from '../../src/index.ts';
import { scene } from './setup.ts';

// By its jitter the slot of 11:00 falls due some minutes later; the edits come between.
const jittered = { jitter: '30m', jitterMode: 'perFire', onEdit: 'all' } as const;
const edits: Record<string, ScheduleChanges> = {
  'the rule': { cron: '59 * * * *' },
  'the zone': { timezone: 'Asia/Kathmandu', jitter: 0 },
  'to a rate': { rate: '1h' },
  'to a fixed delay': { delay: '1h', overlap: null, onEdit: null },
  'the jitter': { jitter: 0, missed: 'skip', startDeadline: '1m' },
  startAt: { startAt: '2027-01-15T11:58:00Z' },
};

for (const [what, changes] of Object.entries(edits)) {
  test(`an edit between a slot and its due instant (${what}) leaves both as they are`, async (t) => {
    const { t: duly, every, ledger, reported } = scene(t);
    const { nextRunAt } = await every('0 * * * *', jittered);
    assert.ok(nextRunAt !== null && nextRunAt.getTime() > Date.parse('2027-01-15T11:01:00Z'));
    await duly.advance('1h30s');
    const edited = await duly.schedules.edit('nightly', changes);
    assert.deepEqual(
      [edited.nextSlot?.toISOString(), edited.nextRunAt],
      ['2027-01-15T11:00:00.000Z', nextRunAt],
    );
    const before = await duly.why('nightly', new Date('2027-01-15T11:00:00Z'));
    assert.deepEqual([before.status, before.dueAt], ['pending', nextRunAt]);
    assert.deepEqual(reported, []);
    await duly.advance(nextRunAt.getTime() - duly.now.getTime());
    assert.deepEqual(
      reported.map(({ slot, isCatchUp, lateness, previous }) => [slot, isCatchUp, lateness, previous]),
      [
        [
          '2027-01-15T11:00:00.000Z',
          false,
          0,
          what === 'to a fixed delay' ? null : '2027-01-15T10:00:00.000Z',
        ],
      ],
    );
    const after = await duly.why('nightly', new Date('2027-01-15T11:00:00Z'));
    assert.deepEqual(
      [after.status, after.decision, after.reason, after.dueAt],
      ['completed', 'fired', null, nextRunAt],
    );
    assert.match(after.sentence, /on time/);
    assert.equal((await ledger()).filter((line) => line.includes('11:00')).length, 1);
  });
}

test('a slot that an edit left is noticed late like any other', async (t) => {
  const { t: duly, every } = scene(t);
  const { nextRunAt } = await every('0 * * * *', { ...jittered, missed: 'skip' });
  await duly.advance('1h30s');
  await duly.schedules.edit('nightly', { cron: '59 * * * *', jitter: 0 });
  await duly.outage('2h');
  await duly.advance('1s');
  const why = await duly.why('nightly', new Date('2027-01-15T11:00:00Z'));
  assert.deepEqual([why.decision, why.reason, why.dueAt], ['missed', 'late', nextRunAt]);
  assert.match(why.sentence, /noticed (at most )?1 h \d+ min after it fell due/);
});
