// A train from booking to chart, played on virtual time: `npm run example -- railway-chart`
import { createTestDuly } from 'duly/testing';
import { defineRailway } from './railway-chart.ts';

const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
const trains = new Map();
const railway = defineRailway(t, trains, async (train, chart) =>
  say(
    `the staff of ${train} gets its chart: ${chart?.map(({ berth, passenger }) => `${berth} ${passenger}`).join(', ')}`,
  ),
);

const departsAt = new Date('2027-01-15T17:00:00Z');
await railway.open({ id: '12951', departsAt, berths: 2, confirmed: [], waitlist: [], chart: null });
for (const passenger of ['ada', 'bob', 'carol']) say(`${passenger}: ${railway.book('12951', passenger)}`);
await t.advance('6h');
await railway.cancel('12951', 'ada');
say('ada cancels');
await t.runDue();
say(`confirmed are ${trains.get('12951').confirmed.join(' and ')}`);
await t.advanceTo(departsAt);
say(`eve comes to book: ${railway.book('12951', 'eve')}`);
await t.stop();
