import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EveryOptions, isDulyError, preview, type RuleInput } from '../../src/index.ts';
import { toScheduleJson } from '../../src/internal.ts';
import { createTestDuly } from '../../src/testing/index.ts';
import { scene } from './setup.ts';

const wrong: [
  what: string,
  rule: string | RuleInput,
  options: EveryOptions,
  code: string,
  field: string | null,
][] = [
  ['a cron of four fields', '* * * *', {}, 'invalid_cron', null],
  ['a cron with an hour 25', '0 25 * * *', {}, 'invalid_cron', null],
  ['a cron with a word', '0 0 * * FUNDAY', {}, 'invalid_cron', null],
  ['a cron that can never fire', '0 0 31 4 *', {}, 'invalid_cron', null],
  ['a cron of past years', '0 0 1 1 * 2020', {}, 'invalid_cron', null],
  ['an empty cron', '', {}, 'invalid_cron', null],
  ['a zone that does not exist', '0 0 * * *', { timezone: 'Mars/Olympus' }, 'invalid_timezone', 'timezone'],
  ['a rate of 0', { rate: 0 }, {}, 'invalid_rule', 'rate'],
  ['a rate of 1 ms', { rate: 1 }, {}, 'invalid_rule', 'rate'],
  ['a rate that is none', { rate: 'often' }, {}, 'invalid_duration', 'rate'],
  ['a delay of 0', { delay: '0s' }, {}, 'invalid_rule', 'delay'],
  ['two rules in one', { cron: '0 0 * * *', rate: '1h' } as RuleInput, {}, 'invalid_rule', 'rate'],
  ['no rule', {} as RuleInput, {}, 'invalid_rule', 'cron'],
  ['jitter longer than the period', { rate: '10m' }, { jitter: '11m' }, 'policy_conflict', null],
  [
    'an exclude that excludes everything',
    '0 12 * * *',
    { exclude: [{ cron: '* * * * *' }] },
    'everything_excluded',
    'exclude',
  ],
  [
    'endAt before startAt',
    '0 0 * * *',
    { startAt: '2027-03-01T00:00:00Z', endAt: '2027-02-01T00:00:00Z' },
    'invalid_rule',
    'endAt',
  ],
  ['a bad dst', '0 0 * * *', { dst: { gap: 'sometimes' as never } }, 'invalid_option', 'dst.gap'],
  ['missed all with overlap skip', '0 0 * * *', { missed: 'all', overlap: 'skip' }, 'policy_conflict', null],
  ['overlap with a delay', { delay: '1m' }, { overlap: 'allow' }, 'policy_conflict', null],
  ['an anchor with a cron', { cron: '0 0 * * *', anchor: 'epoch' }, {}, 'invalid_rule', 'anchor'],
  ['a policy of another system', '0 0 * * *', { overlap: 'Forbid' as never }, 'invalid_option', 'overlap'],
  ['an unknown option', '0 0 * * *', { misfire: 'all' } as EveryOptions, 'invalid_option', 'misfire'],
  ['a dedupe key', '0 0 * * *', { dedupe: { key: 'a' } } as EveryOptions, 'invalid_option', 'dedupe'],
  ['maxRuns of 0', '0 0 * * *', { maxRuns: 0 }, 'invalid_option', 'maxRuns'],
  ['a name of blanks', '0 0 * * *', { name: ' ' }, 'invalid_option', 'name'],
  ['a priority beyond its bounds', '0 0 * * *', { priority: 5_000 }, 'invalid_option', 'priority'],
  ['an RRULE that is none', { rrule: 'EVERY DAY' }, {}, 'invalid_rrule', null],
  [
    'an RRULE that never fires',
    { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', startAt: '2027-01-01T00:00:00Z' },
    {},
    'rule_never_fires',
    null,
  ],
];

for (const [what, rule, options, code, field] of wrong) {
  test(`refused: ${what}`, async (t) => {
    const { t: duly, every } = scene(t);
    await assert.rejects(
      every(rule, options),
      (error: { code: string; details: { field?: string }; message: string }) => {
        assert.equal(error.code, code, error.message);
        if (field !== null) assert.equal(error.details.field, field, error.message);
        return true;
      },
    );
    assert.deepEqual((await duly.schedules.list()).schedules, [], 'nothing was created');
    // Whether a declaration whose years are over is a new one only the store knows: it is refused when it is applied.
    if (what === 'a cron of past years') return;
    // The same in a definition, at once.
    assert.throws(
      () =>
        duly.task({
          name: 'declared',
          every: { ...(typeof rule === 'string' ? { cron: rule } : rule), ...options },
          run: () => {},
        }),
      (error: { code: string }) => error.code === code || code === 'invalid_option',
    );
  });
}

test('a field that stands in the rule and in the options is refused', async (t) => {
  const { every } = scene(t);
  const rule = { cron: '0 0 * * *', timezone: 'UTC' };
  await assert.rejects(every(rule, { timezone: 'UTC' }), { code: 'invalid_option' });
  await assert.rejects(every(rule, { rate: '1h' } as EveryOptions), { code: 'invalid_rule' });
});

test('two rules under one name from one process', async (t) => {
  const { t: duly, every, task } = scene(t);
  await every('0 1 * * *');
  await every('0 1 * * *');
  await assert.rejects(every('0 2 * * *'), { code: 'schedule_conflict' });
  assert.equal((await duly.schedules.get('nightly')).rule.cron, '0 1 * * *', 'the first one stands');
  await task.every('0 2 * * *', undefined, { name: 'nightly', tenant: 'acme' });
  await duly.schedules.edit({ name: 'nightly', tenant: null }, { cron: '0 3 * * *' });
  await every('0 3 * * *');
  duly.task({ name: 'a', every: { rate: '1h', name: 'same' }, run: () => {} });
  assert.throws(() => duly.task({ name: 'b', every: { rate: '2h', name: 'same' }, run: () => {} }), {
    code: 'schedule_conflict',
  });
});

test('a name that several schedules have, and one that none has', async (t) => {
  const { t: duly, every, task } = scene(t);
  const { id } = await every('0 1 * * *');
  await task.every('0 2 * * *', undefined, { name: 'nightly', tenant: 'acme' });
  await assert.rejects(duly.schedules.get('nightly'), { code: 'schedule_ambiguous' });
  assert.equal((await duly.schedules.get({ name: 'nightly', tenant: 'acme' })).tenant, 'acme');
  assert.equal((await duly.schedules.get({ name: 'nightly', tenant: null })).id, id);
  assert.equal((await duly.schedules.get(id)).id, id);
  await assert.rejects(duly.schedules.pause('nightlyy'), (error: { code: string; hint: string }) => {
    assert.equal(error.code, 'schedule_not_found');
    assert.equal(error.hint, 'Did you mean "nightly"?');
    return true;
  });
  await assert.rejects(duly.schedules.get({ nam: 'x' } as never), { code: 'invalid_option' });
});

test('operations check what they are given', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 1 * * *');
  const { schedules } = duly;
  await assert.rejects(schedules.edit('nightly', { cron: 'x' }), { code: 'invalid_cron' });
  await assert.rejects(schedules.edit('nightly', { missed: 'all', overlap: 'skip' }), {
    code: 'policy_conflict',
  });
  await assert.rejects(schedules.edit('nightly', { name: 'other' } as never), { code: 'invalid_option' });
  await assert.rejects(schedules.backfill('nightly', {} as never), { code: 'invalid_option' });
  await assert.rejects(schedules.backfill('nightly', { from: 'monday' }), { code: 'invalid_instant' });
  await assert.rejects(schedules.backfill('nightly', { from: '2027-01-02', to: '2027-01-01' }), {
    code: 'invalid_option',
  });
  await assert.rejects(schedules.backfill('nightly', { from: '2027-01-02', order: 'random' as never }), {
    code: 'invalid_option',
  });
  await assert.rejects(schedules.preview('nightly', { count: 0 }), { code: 'invalid_option' });
  await assert.rejects(schedules.slots('nightly', { limit: 0 }), { code: 'invalid_option' });
  await assert.rejects(schedules.trigger('nightly', { allow: 'yes' as never }), { code: 'invalid_option' });
  await assert.rejects(schedules.pause('nightly', { note: 7 as never }), { code: 'invalid_option' });
  await assert.rejects(schedules.list({ status: 'dead' as never }), { code: 'invalid_option' });
  await assert.rejects(duly.why('nightly', 'yesterday'), { code: 'invalid_instant' });
  assert.equal((await schedules.get('nightly')).rule.cron, '0 1 * * *');
  await schedules.put({ type: 'report', name: 'delay', delay: '1h' });
  await assert.rejects(schedules.backfill('delay', { from: '2027-01-01' }), { code: 'policy_conflict' });
  await schedules.put({ type: 'report', name: 'second', rate: '1s' });
  await duly.outage('1 day');
  await assert.rejects(schedules.backfill('second', { from: '2027-01-15' }), { code: 'backfill_too_large' });
});

test('an input that does not fit the schema is refused when the schedule is created', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'string' ? { value } : { issues: [{ message: 'Expected a text.' }] },
    },
  };
  const task = duly.task({ name: 'typed', input: schema, run: () => {} });
  await assert.rejects(task.every('0 0 * * *', 7 as never), { code: 'invalid_input' });
  await task.every('0 0 * * *', 'x');
  await assert.rejects(duly.schedules.trigger('typed', { input: 7 }), { code: 'invalid_input' });
  await assert.rejects(duly.schedules.edit('typed', { input: 7 }), { code: 'invalid_input' });
});

test('dst is refused where no clock names the slots, and a definition that is shown can be given again', async (t) => {
  const { t: duly, every } = scene(t);
  const refused = (error: unknown): boolean =>
    isDulyError(error, 'policy_conflict') && (error.details.fields as string[])[0] === 'dst';
  const dst = { gap: 'skip' } as const;
  await assert.rejects(every({ rate: '1h', dst }), refused);
  await assert.rejects(every({ delay: '1h', dst }), refused);
  assert.throws(() => preview({ rate: '1h', dst }), refused);
  await every({ cron: '0 2 * * *', dst });
  assert.equal((await duly.schedules.edit('nightly', { rate: '1h' })).rule.dst, undefined);
  await assert.rejects(duly.schedules.edit('nightly', { dst }), refused);
  const { definition, updatedAt } = await duly.schedules.get('nightly');
  assert.deepEqual((await duly.schedules.put(definition)).updatedAt, updatedAt);
});

for (const rule of [
  { rate: '1h' },
  { delay: '10m' },
  { cron: '0 2 * * *', timezone: 'Europe/Rome', exclude: '2027-02-01' },
  { cron: '0 2-4 * * *', dst: { gap: 'skip' } },
  { rrule: 'FREQ=DAILY', startAt: '2027-01-15T00:00:00Z' },
  { rrule: 'FREQ=HOURLY', startAt: '2027-01-15T00:00:00Z', dst: { repeat: 'last' } },
] as const) {
  test(`a rule that is shown can be given again: ${JSON.stringify(rule)}`, async (t) => {
    const { t: duly, task, every } = scene(t);
    const { rule: shown, updatedAt, nextSlot } = await every(rule);
    assert.equal('dst' in toScheduleJson(await duly.schedules.get('nightly')), 'dst' in shown);
    assert.equal('dst' in shown, !('rate' in rule || 'delay' in rule));
    assert.equal(preview(shown, { count: 1 }).length, 1);
    assert.deepEqual((await every(shown)).updatedAt, updatedAt);
    assert.deepEqual((await task.every(shown, null, { name: 'second' })).nextSlot, nextSlot);
  });
}

test('the window of "all" is shown', async (t) => {
  const { every } = scene(t);
  assert.equal((await every('0 2 * * *')).policies.catchUpWindowMs, null);
  assert.equal((await every('0 2 * * *', { missed: 'all' })).policies.catchUpWindowMs, 86_400_000);
  assert.equal(
    (await every('0 2 * * *', { missed: 'all', catchUpWindow: '1h' })).policies.catchUpWindowMs,
    3_600_000,
  );
});
