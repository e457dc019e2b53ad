import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineRailway, type Train } from './railway-chart.ts';

async function openTrain() {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  const trains = new Map<string, Train>();
  const sent: { train: string; chart: Train['chart'] }[] = [];
  const railway = defineRailway(t, trains, async (train, chart) => void sent.push({ train, chart }));
  const train: Train = {
    id: '12951',
    departsAt: new Date('2027-01-15T17:00:00Z'),
    berths: 2,
    confirmed: [],
    waitlist: [],
    chart: null,
  };
  await railway.open(train);
  return { t, railway, train, sent };
}

test('a cancellation moves the waiting list up, and the chart is prepared four hours before departure', async () => {
  const { t, railway, train, sent } = await openTrain();
  assert.deepEqual(
    ['ada', 'bob', 'carol', 'dan'].map((one) => railway.book('12951', one)),
    ['confirmed', 'confirmed', 'waiting', 'waiting'],
  );
  assert.equal(await railway.cancel('12951', 'ada'), true);
  await t.runDue();
  assert.deepEqual([train.confirmed, train.waitlist], [['bob', 'carol'], ['dan']]);
  await t.advanceTo('2027-01-15T12:59:59Z');
  assert.deepEqual(sent, []);
  await t.advance('1s');
  const chart = [
    { berth: 1, passenger: 'bob' },
    { berth: 2, passenger: 'carol' },
  ];
  assert.deepEqual(sent, [{ train: '12951', chart }]);
  // It is locked now.
  assert.equal(railway.book('12951', 'eve'), 'closed');
  assert.equal(await railway.cancel('12951', 'bob'), false);
  // Running it twice changes nothing.
  await railway.prepareChart.now({ train: '12951' });
  await t.runDue();
  assert.deepEqual(train.chart, chart);
  await t.stop();
});

test('a train that is moved moves its chart', async () => {
  const { t, railway, train, sent } = await openTrain();
  railway.book('12951', 'ada');
  await railway.open({ ...train, departsAt: new Date('2027-01-15T20:00:00Z') });
  await t.advanceTo('2027-01-15T15:59:00Z');
  assert.deepEqual(sent, []);
  await t.advance('1m');
  assert.equal(sent.length, 1);
  await t.stop();
});

test('the staff is told once, though the first try fails, and a chart that nobody was there to prepare is prepared late', async () => {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  let tries = 0;
  const railway = defineRailway(t, new Map(), async () => {
    tries += 1;
    if (tries === 1) throw new Error('The printer is away.');
  });
  await railway.open({
    id: '1',
    departsAt: new Date('2027-01-15T17:00:00Z'),
    berths: 1,
    confirmed: ['ada'],
    waitlist: [],
    chart: null,
  });
  await t.outage('14h');
  await t.advance('10m');
  assert.equal(tries, 2);
  assert.equal(railway.book('1', 'bob'), 'closed');
  await t.stop();
});
