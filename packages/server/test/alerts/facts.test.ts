import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '@duly/core/testing';
import { type AlertRule, defaultAlertRules } from '../../src/alerts/alert-rule.ts';
import { evaluateRule } from '../../src/alerts/evaluate.ts';
import { createFactReader } from '../../src/alerts/facts.ts';

test('between two readings of the list only those schedules are asked for that something may be found about', async (t) => {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'report', run: () => {} });
  for (let n = 0; n < 30; n++)
    await task.every('0 * * * *', undefined, { name: `hourly-${n}`, finishDeadline: '10m' });
  await task.every('0 12 * * *', undefined, { name: 'daily', finishDeadline: '10m' });
  let elapsed = 0;
  let listMs = 3_000;
  // Twice it is looked at when the list is read: at the beginning and at the end.
  const facts = createFactReader(duly, { elapsed: () => (elapsed += listMs) });
  const deadline = defaultAlertRules.find(({ id }) => id === 'schedule-deadline') as AlertRule;
  const look = async () => {
    const before = { ...duly.calls() };
    const overdueCount = evaluateRule(deadline, await facts.read(defaultAlertRules)).length;
    const count = (verb: 'schedules' | 'slots') => (duly.calls()?.[verb] ?? 0) - (before[verb] ?? 0);
    return { calls: count('schedules'), ledgers: count('slots'), overdueCount };
  };

  // Of one that is overdue the ledger is read too. Schedules that are read at the same time are read together.
  assert.deepEqual(await look(), { calls: 1, ledgers: 0, overdueCount: 0 }, 'the list, which takes 3 s');
  await duly.outage('30s');
  assert.deepEqual(
    await look(),
    { calls: 0, ledgers: 0, overdueCount: 0 },
    'nothing can be overdue before 11:10',
  );
  await duly.outage('69m');
  assert.deepEqual(await look(), { calls: 1, ledgers: 0, overdueCount: 0 });
  await duly.outage('40s');
  assert.deepEqual(await look(), { calls: 4, ledgers: 30, overdueCount: 30 }, 'the daily one is left alone');
  // Whoever was told has to hear that it is over.
  await duly.outage('10s');
  assert.deepEqual(await look(), { calls: 4, ledgers: 30, overdueCount: 30 });

  listMs = 6_000;
  await duly.outage('1m');
  assert.deepEqual(await look(), { calls: 3, ledgers: 30, overdueCount: 30 });
  await duly.outage('100s');
  assert.deepEqual(
    await look(),
    { calls: 4, ledgers: 30, overdueCount: 30 },
    'a list that takes 6 s is read every 2 minutes',
  );
  await duly.outage('30s');
  assert.deepEqual(await look(), { calls: 3, ledgers: 30, overdueCount: 30 });

  listMs = 1;
  await duly.outage('2m');
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(
      await look(),
      { calls: 3, ledgers: 30, overdueCount: 30 },
      'one that takes no time is read with every look',
    );
    await duly.outage('1s');
  }
});

test('a schedule that fails again and again is found among others of its task, until it succeeds', async (t) => {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  t.after(() => duly.stop());
  let isBroken = true;
  const task = duly.task({
    name: 'command',
    retry: 1,
    run: ({ input }) => {
      if (input === 'fails' && isBroken) throw new Error('no');
    },
  });
  await task.every('0 * * * *', 'fails', { name: 'bad', tenant: 'acme' });
  await task.every('30 * * * *', 'works', { name: 'good' });
  const facts = createFactReader(duly, { elapsed: () => 0 });
  const failing = async () =>
    evaluateRule(rule, await facts.read([rule])).map(({ subject, message }) => `${subject}: ${message}`);
  const rule = { ...(defaultAlertRules.find(({ id }) => id === 'failures-in-row') as AlertRule) };
  rule.condition = { kind: 'failures_in_row', count: 3 };

  await duly.advance('2h 45m');
  assert.deepEqual(await failing(), []);
  await duly.advance('1h');
  const reported = ['schedule:bad (acme): The last 3 runs of schedule "bad (acme)" all failed.'];
  assert.deepEqual(await failing(), reported);
  await duly.advance('3h');
  assert.deepEqual(await failing(), reported);
  isBroken = false;
  await duly.advance('1h');
  assert.deepEqual(await failing(), []);
});

test('in a new store no rule of any kind finds anything', async (t) => {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  t.after(() => duly.stop());
  const facts = await createFactReader(duly, { elapsed: () => 0 }).read(defaultAlertRules);
  assert.equal(facts.byKind.size, defaultAlertRules.length);
  for (const rule of defaultAlertRules) assert.deepEqual(evaluateRule(rule, facts), []);
});
