import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineDigest } from './weekly-digest.ts';

function createDigests(start = '2027-03-19T00:00:00Z') {
  const t = createTestDuly({ start });
  const sent: { user: string; week: string; at: string }[] = [];
  const digests = defineDigest(
    t,
    async (user, week) => void sent.push({ user, week, at: t.now.toISOString() }),
  );
  return { t, sent, digests };
}

test('each user gets one digest a week, on Monday morning by the own clock, also when the clock changes', async () => {
  const { t, sent, digests } = createDigests();
  await digests.subscribe('ada', 'Europe/Rome');
  await digests.subscribe('kenji', 'Asia/Tokyo');
  await t.advanceTo('2027-03-30T00:00:00Z');
  const of = (user: string) => sent.filter((one) => one.user === user);
  assert.deepEqual(
    of('ada').map(({ week }) => week),
    ['2027-03-22', '2027-03-29'],
  );
  // Rome leaves winter time on the 28th: eight o'clock comes an hour earlier.
  assert.match(of('ada')[0]?.at ?? '', /T07:0/);
  assert.match(of('ada')[1]?.at ?? '', /T06:0/);
  assert.match(of('kenji')[0]?.at ?? '', /^2027-03-21T23:0/);
  await t.stop();
});

test('a user who moves is served by the new clock, and one who leaves no more', async () => {
  const { t, sent, digests } = createDigests();
  await digests.subscribe('ada', 'Europe/Rome');
  await digests.subscribe('ada', 'America/New_York');
  await t.advanceTo('2027-03-23T00:00:00Z');
  assert.equal(sent.length, 1);
  assert.match(sent[0]?.at ?? '', /^2027-03-22T12:0/);
  await digests.unsubscribe('ada');
  await t.advance('14 days');
  assert.equal(sent.length, 1);
  await t.stop();
});

test('a run that is repeated for the same week sends nothing', async () => {
  const { t, sent, digests } = createDigests();
  await digests.subscribe('ada', 'UTC');
  await t.advanceTo('2027-03-23T00:00:00Z');
  await t.schedules.backfill(
    { name: 'digest-ada' },
    { from: '2027-03-22T00:00:00Z', to: '2027-03-23T00:00:00Z' },
  );
  await t.runDue();
  assert.equal(sent.length, 1);
  await t.stop();
});
