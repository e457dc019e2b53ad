import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { isRule, resolveRule } from '../../../src/schedules/calendar/rule.ts';
import { type RuleInput, ruleFields } from '../../../src/schedules/calendar/rule-input.ts';

const now = Date.UTC(2026, 10, 15);
const at = (text: string): number => Date.parse(text);

function refusalOf(rule: unknown): { code: string; message: string; hint: string; field: unknown } {
  try {
    resolveRule(rule as RuleInput, { now });
  } catch (error) {
    if (!isDulyError(error)) throw error;
    return { code: error.code, message: error.message, hint: error.hint ?? '', field: error.details.field };
  }
  return assert.fail(`${JSON.stringify(rule)} was not refused`);
}

function slots(rule: ReturnType<typeof resolveRule>, after: string, count: number): string[] {
  const found: string[] = [];
  for (let next = rule.next(at(after)); next !== null && found.length < count; next = rule.next(next)) {
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

test('a text is a cron, in UTC', () => {
  const rule = resolveRule('30 2 * * *');
  assert.deepEqual([rule.kind, rule.timezone], ['cron', 'UTC']);
  assert.deepEqual(slots(rule, '2027-01-01T00:00:00Z', 2), ['2027-01-01T02:30:00Z', '2027-01-02T02:30:00Z']);
});

test('a rate counts from its start and never drifts', () => {
  const rule = resolveRule({ rate: '10m', startAt: '2027-01-01T00:03:00Z' });
  assert.deepEqual(slots(rule, '2026-01-01T00:00:00Z', 2), ['2027-01-01T00:03:00Z', '2027-01-01T00:13:00Z']);
  assert.deepEqual(slots(rule, '2027-06-01T12:00:00Z', 1), ['2027-06-01T12:03:00Z']);
  assert.equal(rule.previous(at('2027-01-01T00:03:00Z')), null);
  assert.equal(rule.previous(at('2027-01-01T00:03:00.001Z')), at('2027-01-01T00:03:00Z'));
});

test('a rate without a start counts from when its schedule was created, or from the epoch', () => {
  const created = resolveRule({ rate: '10m' }, { anchorAt: at('2027-01-01T00:07:00Z') });
  assert.deepEqual(slots(created, '2027-01-01T00:07:00Z', 1), ['2027-01-01T00:17:00Z']);
  const epoch = resolveRule({ rate: '7h', anchor: 'epoch', startAt: '2027-01-01T00:03:00Z' });
  assert.equal((epoch.next(0) as number) % (7 * 3_600_000), 0);
  assert.ok((epoch.next(0) as number) >= at('2027-01-01T00:03:00Z'));
});

test('a rate follows real time over a change of the clock', () => {
  const rule = resolveRule({ rate: '1h', timezone: 'America/New_York', startAt: '2027-03-14T05:30:00Z' });
  assert.deepEqual(slots(rule, '2027-03-14T05:30:00Z', 3), [
    '2027-03-14T06:30:00Z',
    '2027-03-14T07:30:00Z',
    '2027-03-14T08:30:00Z',
  ]);
});

test('counting slots takes the same time for a minute and for a century', () => {
  const second = resolveRule('* * * * * *');
  assert.equal(second.countBetween(at('2027-01-01T00:00:00Z'), at('2027-01-31T23:59:59Z')), 31 * 86_400);
  const rate = resolveRule({ rate: '1s', anchor: 'epoch' });
  assert.equal(rate.countBetween(0, at('2070-01-01T00:00:00Z')), at('2070-01-01T00:00:00Z') / 1_000 + 1);
  const real = resolveRule({ cron: '* * * * * *', timezone: 'Europe/Rome' });
  assert.equal(real.countBetween(at('2020-01-01T00:00:00Z'), at('2029-12-31T23:59:59Z')), 3_653 * 86_400);
  const nights = resolveRule({
    cron: '30 2 * * *',
    timezone: 'Europe/Rome',
    dst: { gap: 'skip', repeat: 'both' },
  });
  assert.equal(nights.countBetween(at('2027-01-01T00:00:00Z'), at('2027-12-31T23:59:59Z')), 365);
});

test('a delay counts from the end of a run, and begins at its start', () => {
  const rule = resolveRule({ delay: '10m', startAt: '2027-01-01T00:00:00Z' });
  assert.equal(rule.delayMs, 600_000);
  assert.deepEqual(slots(rule, '2026-12-31T00:00:00Z', 2), ['2027-01-01T00:00:00Z', '2027-01-01T00:10:00Z']);
  assert.equal(rule.next(at('2027-01-01T00:05:00.500Z')), at('2027-01-01T00:15:00.500Z'));
  assert.equal(rule.previous(at('2028-01-01T00:00:00Z')), null);
  assert.equal(rule.countBetween(0, now), 0);
  assert.equal(rule.countBetween(0, at('2028-01-01T00:00:00Z')), null);
});

test('slots lie from startAt to endAt, both included', () => {
  const rule = resolveRule({
    cron: '0 * * * *',
    startAt: '2027-01-01T02:00:00Z',
    endAt: '2027-01-01T04:00:00Z',
  });
  assert.deepEqual(slots(rule, '2020-01-01T00:00:00Z', 9), [
    '2027-01-01T02:00:00Z',
    '2027-01-01T03:00:00Z',
    '2027-01-01T04:00:00Z',
  ]);
  assert.equal(rule.previous(at('2027-01-01T02:00:00Z')), null);
  assert.equal(rule.previous(at('2030-01-01T00:00:00Z')), at('2027-01-01T04:00:00Z'));
  assert.equal(rule.countBetween(0, at('2030-01-01T00:00:00Z')), 3);
  const odd = resolveRule({
    cron: '0 * * * *',
    startAt: '2027-01-01T02:00:00.001Z',
    endAt: '2027-01-01T03:59:59.999Z',
  });
  assert.deepEqual(slots(odd, '2020-01-01T00:00:00Z', 9), ['2027-01-01T03:00:00Z']);
});

test('all its slots are known without endAt and exclude, and the open ones without endAt', () => {
  const rule = resolveRule({
    cron: '0 12 * * *',
    exclude: '2027-01-02',
    startAt: '2027-01-01T00:00:00Z',
    endAt: '2027-01-03T23:00:00Z',
  });
  const end = at('2027-01-05T23:00:00Z');
  assert.deepEqual(
    [rule.all, rule.open, rule].map((one) => one.countBetween(0, end)),
    [5, 4, 2],
  );
  assert.equal(rule.isExcluded(at('2027-01-02T12:00:00Z')), true);
  assert.equal(
    rule.isExcluded(at('2027-01-02T13:00:00Z')),
    true,
    'no slot, but it may have been one before an edit',
  );
  assert.equal(rule.isExcluded(at('2027-01-03T13:00:00Z')), false, 'nor this');
  assert.equal(rule.isExcluded(at('2027-01-03T12:00:00Z')), false);
  const free = resolveRule('0 12 * * *');
  assert.equal(free.all, free.open);
});

test('the spec of a rule makes the same rule again, and survives JSON', () => {
  const inputs: RuleInput[] = [
    {
      cron: '30 2 * * mon',
      timezone: 'europe/rome',
      dst: { repeat: 'last' },
      exclude: ['2027-12-24/2027-12-26', '* * 1 1 *'],
    },
    { rate: '90s', startAt: '2027-01-01T00:00:00Z', endAt: new Date('2028-01-01T00:00:00Z') },
    { rrule: 'FREQ=WEEKLY;BYDAY=MO', startAt: '2027-01-01T00:00:00Z', exclude: { dates: ['2027-02-01'] } },
    { delay: 5_000 },
  ];
  for (const input of inputs) {
    const rule = resolveRule(input, { now, anchorAt: now });
    const again = resolveRule(JSON.parse(JSON.stringify(rule.spec)), { anchorAt: now });
    assert.deepEqual(again.spec, rule.spec);
    assert.deepEqual(slots(again, '2027-01-01T00:00:00Z', 20), slots(rule, '2027-01-01T00:00:00Z', 20));
  }
  assert.equal(isRule(resolveRule('@daily')), true);
  assert.equal(isRule({ cron: '@daily' }), false);
  assert.ok(Object.isFrozen(resolveRule('@daily')));
});

test('a slot tells what the clock showed, and what a change of it did', () => {
  const rule = resolveRule({ cron: '30 2 * * *', timezone: 'America/New_York', dst: { repeat: 'both' } });
  assert.deepEqual(rule.read(at('2027-03-13T07:30:00Z')), {
    date: '2027-03-13',
    time: '02:30',
    offsetMs: -5 * 3_600_000,
    gap: null,
    isNamedToo: false,
    repeat: null,
  });
  assert.deepEqual(rule.read(at('2027-03-14T07:00:00Z')), {
    date: '2027-03-14',
    time: '03:00',
    offsetMs: -4 * 3_600_000,
    gap: { date: '2027-03-14', time: '02:30' },
    isNamedToo: false,
    repeat: null,
  });
  const twice = resolveRule({ cron: '30 1 * * *', timezone: 'America/New_York', dst: { repeat: 'both' } });
  const [first, last] = [at('2027-11-07T05:30:00Z'), at('2027-11-07T06:30:00Z')];
  assert.deepEqual([twice.next(first - 1), twice.next(first)], [first, last]);
  assert.deepEqual([twice.read(first).repeat, twice.read(last).repeat], ['first', 'last']);
  assert.deepEqual([twice.read(first).time, twice.read(last).time], ['01:30', '01:30']);
  assert.equal(twice.dateOf(at('2027-11-07T03:59:59Z')), '2027-11-06');
});

test('a skipped day still belongs to its date', () => {
  const rule = resolveRule({ cron: '0 12 30 12 *', timezone: 'Pacific/Apia' });
  const slot = at('2011-12-30T10:00:00Z');
  assert.equal(rule.next(at('2011-06-01T00:00:00Z')), slot);
  assert.deepEqual(rule.read(slot).gap, { date: '2011-12-30', time: '12:00' });
  assert.equal(rule.read(slot).date, '2011-12-31');
  const excluded = resolveRule({ cron: '0 12 30 12 *', timezone: 'Pacific/Apia', exclude: '2011-12-30' });
  assert.equal(
    excluded.isExcluded(slot),
    true,
    'the date it names is excluded, not the one on which it would fire',
  );
  const next = resolveRule({ cron: '0 12 30 12 *', timezone: 'Pacific/Apia', exclude: '2011-12-31' });
  assert.equal(next.isExcluded(slot), false);
});

test('the coming changes of the clock that concern a rule are listed', () => {
  const [from, to] = [at('2027-01-01T00:00:00Z'), at('2028-01-01T00:00:00Z')];
  const london = (cron: string): unknown =>
    resolveRule({ cron, timezone: 'Europe/London' }).clockChanges(from, to);
  assert.deepEqual(london('15,45 1 * * *'), [
    { at: at('2027-03-28T01:00:00Z'), kind: 'gap', date: '2027-03-28', time: '01:15' },
    { at: at('2027-10-31T01:00:00Z'), kind: 'repeat', date: '2027-10-31', time: '01:15' },
  ]);
  assert.deepEqual(london('15 2 * * *'), []);
  assert.deepEqual(london('15 * * * *'), []);
});

// what is wrong, the rule, code, field, message
const refusals: [string, unknown, string, string | undefined, RegExp][] = [
  ['nothing', undefined, 'invalid_rule', 'rule', /Expected "rule"/],
  ['null', null, 'invalid_rule', 'rule', /got null/],
  ['a number', 5, 'invalid_rule', 'rule', /got "?5"?/],
  ['a list', ['* * * * *'], 'invalid_rule', 'rule', /an array/],
  ['an empty rule', {}, 'invalid_rule', 'cron', /got none/],
  ['two rules in one', { cron: '* * * * *', rate: '1m' }, 'invalid_rule', 'rate', /"cron" and "rate"/],
  [
    'three rules in one',
    { rate: '1m', delay: '1m', rrule: 'FREQ=DAILY' },
    'invalid_rule',
    'delay',
    /"rate" and "delay" and "rrule"/,
  ],
  [
    'an unknown field',
    { cron: '* * * * *', timeZone: 'UTC' },
    'invalid_rule',
    'timeZone',
    /Unknown option "timeZone"/,
  ],
  ['a cron that is none', { cron: 5 }, 'invalid_cron', 'cron', /got "?5"?/],
  ['a wrong hour', { cron: '0 25 * * *' }, 'invalid_cron', 'hour', /position 2/],
  ['a rate of 0', { rate: 0 }, 'invalid_rule', 'rate', /at least 1 s/],
  ['a rate of 1 ms', { rate: 1 }, 'invalid_rule', 'rate', /at least 1 s/],
  ['a rate of 999 ms', { rate: '999ms' }, 'invalid_rule', 'rate', /at least 1 s/],
  ['a delay of 0', { delay: 0 }, 'invalid_rule', 'delay', /at least 1 s/],
  ['a negative rate', { rate: -5_000 }, 'invalid_duration', 'rate', /0 or more/],
  ['a rate in words', { rate: 'often' }, 'invalid_duration', 'rate', /often/],
  ['a rate of months', { rate: '1 month' }, 'invalid_duration', 'rate', /months/],
  ['a rate that is no number', { rate: Number.NaN }, 'invalid_duration', 'rate', /finite/],
  [
    'a zone that does not exist',
    { cron: '* * * * *', timezone: 'Europe/Romee' },
    'invalid_timezone',
    'timezone',
    /Europe\/Romee/,
  ],
  [
    'an unknown dst',
    { cron: '* * * * *', dst: { gap: 'nxt' } },
    'invalid_option',
    'dst.gap',
    /"next", "skip"/,
  ],
  [
    'an unknown dst policy',
    { cron: '* * * * *', dst: { fold: 'first' } },
    'invalid_rule',
    'dst.fold',
    /Unknown option/,
  ],
  ['a dst that is no object', { cron: '* * * * *', dst: 'skip' }, 'invalid_rule', 'dst', /"dst"/],
  ['an anchor for a cron', { cron: '* * * * *', anchor: 'epoch' }, 'invalid_rule', 'anchor', /"rate"/],
  ['an anchor for a delay', { delay: '1m', anchor: 'epoch' }, 'invalid_rule', 'anchor', /"rate"/],
  ['an unknown anchor', { rate: '1m', anchor: 'end' }, 'invalid_option', 'anchor', /"start", "epoch"/],
  [
    'a start without an offset',
    { cron: '* * * * *', startAt: '2027-01-01T00:00' },
    'invalid_instant',
    'startAt',
    /offset/,
  ],
  ['an end that is none', { cron: '* * * * *', endAt: 'later' }, 'invalid_instant', 'endAt', /later/],
  [
    'an end before the start',
    { cron: '* * * * *', startAt: 2_000, endAt: 1_000 },
    'invalid_rule',
    'endAt',
    /before "startAt"/,
  ],
  [
    'an end before the first slot',
    { cron: '0 0 1 1 *', startAt: '2027-01-02T00:00:00Z', endAt: '2027-12-01T00:00:00Z' },
    'rule_never_fires',
    'endAt',
    /never fires/,
  ],
  [
    'an end before the first rate',
    { rate: '1d', anchor: 'epoch', startAt: '2027-01-01T00:00:01Z', endAt: '2027-01-01T23:00:00Z' },
    'rule_never_fires',
    'endAt',
    /never fires/,
  ],
  [
    'a time that is always skipped',
    { cron: '30 2 * 3 SUN#2', timezone: 'America/New_York', dst: { gap: 'skip' }, startAt: now },
    'rule_never_fires',
    'cron',
    /never fires/,
  ],
];

for (const [what, rule, code, field, message] of refusals) {
  test(`${what} is refused with ${code}`, () => {
    const refusal = refusalOf(rule);
    assert.deepEqual([refusal.code, refusal.field], [code, field]);
    assert.match(refusal.message, message);
  });
}

test('a rate below a second says what to do instead', () => {
  assert.match(refusalOf({ rate: 1 }).hint, /once a second/);
});

test('a misspelt field names the nearest', () => {
  assert.match(refusalOf({ cron: '* * * * *', timezon: 'UTC' }).hint, /"timezone"/);
  assert.match(refusalOf({ cron: '* * * * *', exclud: [] }).hint, /"exclude"/);
});

test('a rule that is over is resolved, and has no more slots', () => {
  const rule = resolveRule({ cron: '0 0 * * *', endAt: '2020-01-01T00:00:00Z' }, { now });
  assert.equal(rule.next(now), null);
  assert.equal(rule.previous(now), at('2020-01-01T00:00:00Z'));
});

test('the list of fields is complete', () => {
  assert.deepEqual(Object.keys(ruleFields).sort(), [
    'anchor',
    'cron',
    'delay',
    'dst',
    'endAt',
    'exclude',
    'rate',
    'rrule',
    'startAt',
    'timezone',
  ]);
});
