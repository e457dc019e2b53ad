// Months that were missed are made up for, and a charge that may have happened is not repeated: `npm run example -- billing`
import { createTestDuly } from 'duly/testing';
import { defineBilling } from './billing.ts';

const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
let hangsUp = false;
defineBilling(
  t,
  async () => ['ada', 'bob'],
  async (customer, month) => {
    if (hangsUp && customer === 'bob') throw new Error('The bank hung up.');
    say(`${customer} pays for ${month}`);
  },
);
await t.advanceTo('2027-02-02T00:00:00Z');
console.log('… every process is down for two months …');
await t.outage('60 days');
await t.advance('1h');
hangsUp = true;
await t.advanceTo('2027-05-02T00:00:00Z');
for await (const job of t.dead.list())
  say(`a person looks at ${JSON.stringify(job.input)}: ${job.error?.message}`);
await t.stop();
