import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DulyError, isDulyError } from '../../../src/base/errors.ts';
import { resolveRule } from '../../../src/schedules/calendar/rule.ts';
import type { RuleInput } from '../../../src/schedules/calendar/rule-input.ts';
import { toPlanRule } from '../../../src/schedules/definition/planned-rule.ts';
import {
  type RuleKind,
  refuseForDelay,
  refuseLongJitter,
  resolvePolicies,
  type SchedulePolicies,
  windowMsOf,
} from '../../../src/schedules/definition/policies.ts';

const hour = 3_600_000;
const now = Date.parse('2027-01-15T10:00:00Z');

/** The error that a call throws. */
function refusalOf(call: () => unknown): DulyError {
  try {
    call();
  } catch (error) {
    if (isDulyError(error)) return error;
    throw error;
  }
  return assert.fail('nothing was refused');
}

const refused = (written: Record<string, unknown>, kind: RuleKind = 'cron'): DulyError =>
  refusalOf(() => resolvePolicies(written as SchedulePolicies, kind));

test('without a word every policy has its safe default', () => {
  const policies = resolvePolicies(undefined, 'cron');
  assert.deepEqual(policies, {
    missed: 'latest',
    catchUpWindowMs: null,
    catchUpLimit: 100,
    overlap: 'skip',
    bufferLimit: 1_000,
    startDeadlineMs: null,
    finishDeadlineMs: null,
    jitterMs: 0,
    jitterMode: 'perSchedule',
    onResume: 'skip',
    onEdit: 'skip',
    pauseAfterFailures: null,
    flagAfterFailures: null,
    startAt: null,
    endAt: null,
    maxRuns: null,
  });
  assert.ok(Object.isFrozen(policies));
  assert.equal(windowMsOf(policies, 'latest'), null);
  assert.equal(windowMsOf(policies, 'all'), 24 * hour);
  assert.equal(windowMsOf(resolvePolicies({ catchUpWindow: '2h' }, 'cron'), 'latest'), 2 * hour);
  assert.equal(resolvePolicies({}, 'delay').jitterMode, 'perFire');
});

test('what is written is kept', () => {
  const policies = resolvePolicies(
    { startDeadline: '10m', endAt: '2027-02-01T00:00:00Z', jitter: 500, maxRuns: 3, overlap: 'cancelOther' },
    'rate',
  );
  assert.equal(policies.startDeadlineMs, 600_000);
  assert.equal(policies.endAt, Date.parse('2027-02-01T00:00:00Z'));
  assert.deepEqual([policies.jitterMs, policies.maxRuns, policies.overlap], [500, 3, 'cancelOther']);
});

for (const name of ['missed', 'onResume', 'onEdit'] as const) {
  test(`${name}: 'all' alone implies a line of waiting runs`, () => {
    assert.equal(resolvePolicies({ [name]: 'all' }, 'cron').overlap, 'bufferAll');
  });

  test(`${name}: 'all' is refused beside an overlap that takes runs away, and both are named`, () => {
    for (const overlap of ['skip', 'bufferOne', 'cancelOther', 'terminateOther']) {
      const error = refused({ [name]: 'all', overlap });
      assert.equal(error.code, 'policy_conflict');
      assert.deepEqual(error.details.fields, [name, 'overlap']);
      assert.match(error.message, new RegExp(`${name}: 'all'.*overlap: '${overlap}'`));
    }
    for (const overlap of ['allow', 'bufferAll'] as const) {
      assert.equal(resolvePolicies({ [name]: 'all', overlap }, 'cron').overlap, overlap);
    }
  });
}

const conflicts: [Record<string, unknown>, [string, string], RuleKind?][] = [
  [{ missed: 'skip', catchUpWindow: '1h' }, ['catchUpWindow', 'missed']],
  [{ missed: 'latest', catchUpLimit: 5 }, ['catchUpLimit', 'missed']],
  [{ overlap: 'allow', bufferLimit: 5 }, ['bufferLimit', 'overlap']],
  [{ startAt: now, endAt: now - 1 }, ['endAt', 'startAt']],
  [{ pauseAfterFailures: 2, flagAfterFailures: 3 }, ['flagAfterFailures', 'pauseAfterFailures']],
  [{ missed: 'all' }, ['missed', 'delay'], 'delay'],
  [{ onResume: 'all' }, ['onResume', 'delay'], 'delay'],
  [{ onEdit: 'all' }, ['onEdit', 'delay'], 'delay'],
  [{ overlap: 'allow' }, ['overlap', 'delay'], 'delay'],
  [{ bufferLimit: 5 }, ['bufferLimit', 'delay'], 'delay'],
  [{ catchUpLimit: 5 }, ['catchUpLimit', 'delay'], 'delay'],
  [{ jitterMode: 'perSchedule' }, ['jitterMode', 'delay'], 'delay'],
];
for (const [written, fields, kind] of conflicts) {
  test(`a contradiction is refused with both names: ${JSON.stringify(written)} ${kind ?? ''}`, () => {
    const error = refused(written, kind);
    assert.equal(error.code, 'policy_conflict');
    assert.deepEqual(error.details.fields, fields);
    for (const field of fields) assert.ok(error.message.includes(field), error.message);
  });
}

test('a contradiction with a default that nobody wrote is none', () => {
  for (const written of [
    { catchUpLimit: 5 },
    { catchUpWindow: '1h' },
    { bufferLimit: 5 },
    { startAt: now, endAt: now },
  ]) {
    resolvePolicies(written, 'cron');
  }
  resolvePolicies({ missed: 'skip', catchUpWindow: '1h', onResume: 'latest' }, 'cron');
  resolvePolicies({ missed: 'latest', catchUpLimit: 5, onResume: 'all' }, 'cron');
});

const words: [string, string, string][] = [
  ['overlap', 'serialize', 'bufferAll'],
  ['overlap', 'merge', 'bufferOne'],
  ['overlap', 'Forbid', 'skip'],
  ['overlap', 'Replace', 'terminateOther'],
  ['overlap', 'Allow', 'allow'],
  ['overlap', 'buffer_one', 'bufferOne'],
  ['overlap', 'bufferal', 'bufferAll'],
  ['missed', 'lastest', 'latest'],
  ['missed', 'coalesce', 'latest'],
  ['onResume', 'Skip', 'skip'],
  ['jitterMode', 'perfire', 'perFire'],
];
for (const [field, word, meant] of words) {
  test(`${field}: "${word}" is refused and "${meant}" is offered`, () => {
    const error = refused({ [field]: word });
    assert.equal(error.code, 'invalid_option');
    assert.equal(error.details.field, field);
    assert.equal(error.hint, `Did you mean "${meant}"?`);
  });
}

const wrong: [Record<string, unknown>, string, string][] = [
  [{ missed: 1 }, 'invalid_option', 'missed'],
  [{ overlap: null }, 'invalid_option', 'overlap'],
  [{ catchUpLimit: 0 }, 'invalid_option', 'catchUpLimit'],
  [{ catchUpLimit: 10_001 }, 'invalid_option', 'catchUpLimit'],
  [{ catchUpWindow: 0 }, 'invalid_duration', 'catchUpWindow'],
  [{ bufferLimit: 1.5 }, 'invalid_option', 'bufferLimit'],
  [{ startDeadline: '-1s' }, 'invalid_duration', 'startDeadline'],
  [{ jitter: 'soon' }, 'invalid_duration', 'jitter'],
  [{ startAt: '2027-01-15' }, 'invalid_instant', 'startAt'],
  [{ endAt: 'never' }, 'invalid_instant', 'endAt'],
  [{ maxRuns: 0 }, 'invalid_option', 'maxRuns'],
  [{ pauseAfterFailures: -1 }, 'invalid_option', 'pauseAfterFailures'],
  [{ mised: 'all' }, 'invalid_option', 'mised'],
];
for (const [written, code, field] of wrong) {
  test(`a wrong value is refused by name: ${JSON.stringify(written)}`, () => {
    const error = refused(written);
    assert.deepEqual([error.code, error.details.field], [code, field]);
  });
}

test('a jitter that is not shorter than the shortest period is refused', () => {
  const check = (rule: RuleInput, jitter: string, kind: RuleKind): void =>
    refuseLongJitter(
      resolvePolicies({ jitter }, kind),
      toPlanRule(resolveRule(rule, { anchorAt: now })),
      now,
    );
  check({ rate: '10m' }, '599s', 'rate');
  check({ cron: '0 9 * * 1-5', timezone: 'Europe/Rome' }, '23h', 'cron');
  check({ delay: '10m' }, '599s', 'delay');
  check({ cron: '0 9 * * *' }, '0s', 'cron');
  for (const [rule, jitter, kind] of [
    [{ rate: '10m' }, '10m', 'rate'],
    [{ rate: '10m' }, '11m', 'rate'],
    [{ cron: '* * * * *' }, '61s', 'cron'],
    [{ cron: '0,5 * * * *' }, '10m', 'cron'],
    [{ delay: '10m' }, '10m', 'delay'],
  ] as const) {
    const error = refusalOf(() => check(rule, jitter, kind));
    assert.equal(error.code, 'policy_conflict');
    assert.match(error.message, /jitter/);
  }
});

test('a fixed delay has no anchor and no backfill', () => {
  for (const what of ['anchor', 'backfill'] as const) {
    const error = refusalOf(() => refuseForDelay(what));
    assert.equal(error.code, 'policy_conflict');
    assert.deepEqual(error.details.fields, [what, 'delay']);
  }
});
