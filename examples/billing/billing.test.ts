import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineBilling } from './billing.ts';

test('every month is billed once, also those of an outage', async () => {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  const charges: string[] = [];
  defineBilling(
    t,
    async () => ['ada', 'bob'],
    async (customer, month) => void charges.push(`${month} ${customer}`),
  );
  await t.advanceTo('2027-02-02T00:00:00Z');
  assert.deepEqual(charges.sort(), ['2027-02 ada', '2027-02 bob']);
  await t.outage('100 days');
  await t.advance('1h');
  assert.deepEqual(
    [...new Set(charges)].sort(),
    ['02', '03', '04', '05'].flatMap((month) => [`2027-${month} ada`, `2027-${month} bob`]),
  );
  assert.equal(charges.length, 8, 'nobody was charged twice');
  await t.stop();
});

test('a charge that failed is not tried again: a person looks', async () => {
  const t = createTestDuly({ start: '2027-01-31T00:00:00Z' });
  let tries = 0;
  defineBilling(
    t,
    async () => ['ada'],
    async () => {
      tries += 1;
      throw new Error('The bank hung up.');
    },
  );
  await t.advance('3 days');
  assert.equal(tries, 1);
  const dead = [];
  for await (const job of t.dead.list()) dead.push(`${job.type}: ${job.error?.message}`);
  assert.deepEqual(dead, ['charge: The bank hung up.']);
  await t.stop();
});
