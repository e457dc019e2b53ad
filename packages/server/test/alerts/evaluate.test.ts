import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AlertCondition, alertKinds, defaultAlertRules } from '../../src/alerts/alert-rule.ts';
import { type AlertFacts, evaluateRule } from '../../src/alerts/evaluate.ts';

const now = Date.parse('2027-01-15T10:00:00Z');
const minuteMs = 60_000;

const quiet: AlertFacts = {
  now,
  running: [],
  outcomes: new Map(),
  failuresByType: [],
  schedules: [],
  lanes: [],
  workers: [],
  pauses: [],
  dead: { count: 0, capped: false },
};

const lane = { queue: 'default', type: 'mail', version: 1, readyCount: 3, oldestDueAt: now - 11 * minuteMs };
const outcomes = (completedCount: number, failedCount: number) =>
  new Map([[60 * minuteMs, [{ type: 'mail', completedCount, failedCount }]]]);
const nightly = { label: 'nightly', type: 'report', failuresInRowCount: 0, overdue: null };
const overdue = { slotAt: now - 7_200_000, deadlineAt: now - 3_600_000, runStatus: null };

/** Which facts make which default rule fire, and about what; each beside the nearest that do not. */
const table: [AlertCondition['kind'], string, Partial<AlertFacts>, string[]][] = [
  [
    'stuck',
    'a job runs for exactly 30 min',
    { running: [{ id: 'job_1', type: 'mail', startedAt: now - 30 * minuteMs }] },
    [],
  ],
  [
    'stuck',
    'for longer',
    { running: [{ id: 'job_1', type: 'mail', startedAt: now - 30 * minuteMs - 1 }] },
    ['type:mail'],
  ],
  [
    'stuck',
    'several of two types',
    {
      running: ['b', 'a', 'b'].map((type, i) => ({ id: `job_${i}`, type, startedAt: now - 31 * minuteMs })),
    },
    ['type:a', 'type:b'],
  ],
  ['failure_rate', '5 % exactly', { outcomes: outcomes(95, 5) }, []],
  ['failure_rate', 'more than 5 %', { outcomes: outcomes(94, 6) }, ['type:mail']],
  ['failure_rate', 'too few to say', { outcomes: outcomes(0, 19) }, []],
  ['failure_rate', 'just enough to say', { outcomes: outcomes(0, 20) }, ['type:mail']],
  ['failure_rate', 'nothing ended', { outcomes: outcomes(0, 0) }, []],
  ['failures_in_row', 'four of a type', { failuresByType: [{ type: 'mail', inRowCount: 4 }] }, []],
  ['failures_in_row', 'five of a type', { failuresByType: [{ type: 'mail', inRowCount: 5 }] }, ['type:mail']],
  [
    'failures_in_row',
    'five of a schedule',
    { schedules: [{ ...nightly, failuresInRowCount: 5 }] },
    ['schedule:nightly'],
  ],
  ['schedule_deadline', 'nothing overdue', { schedules: [nightly] }, []],
  [
    'schedule_deadline',
    'no run was ever made',
    { schedules: [{ ...nightly, overdue }] },
    ['schedule:nightly'],
  ],
  ['waiting', 'ten minutes exactly', { lanes: [{ ...lane, oldestDueAt: now - 10 * minuteMs }] }, []],
  ['waiting', 'longer', { lanes: [lane] }, ['queue:default']],
  ['waiting', 'queue paused', { lanes: [lane], pauses: [{ scope: 'queue', name: 'default' }] }, []],
  [
    'waiting',
    'another queue paused',
    { lanes: [lane], pauses: [{ scope: 'queue', name: 'mail' }] },
    ['queue:default'],
  ],
  ['waiting', 'task paused', { lanes: [lane], pauses: [{ scope: 'task', name: 'mail' }] }, []],
  ['waiting', 'everything paused', { lanes: [lane], pauses: [{ scope: 'all', name: null }] }, []],
  ['waiting', 'nothing ready', { lanes: [{ ...lane, readyCount: 0, oldestDueAt: null }] }, []],
  ['no_worker', 'nobody at all', { lanes: [lane] }, ['type:mail']],
  ['no_worker', 'not for a minute yet', { lanes: [{ ...lane, oldestDueAt: now - minuteMs }] }, []],
  [
    'no_worker',
    'a worker of the type',
    { lanes: [lane], workers: [{ tasks: [{ type: 'mail', version: 1 }], queues: null }] },
    [],
  ],
  [
    'no_worker',
    'a newer worker',
    { lanes: [lane], workers: [{ tasks: [{ type: 'mail', version: 2 }], queues: ['default'] }] },
    [],
  ],
  [
    'no_worker',
    'an older worker',
    { lanes: [{ ...lane, version: 2 }], workers: [{ tasks: [{ type: 'mail', version: 1 }], queues: null }] },
    ['type:mail'],
  ],
  [
    'no_worker',
    'a worker of other queues',
    { lanes: [lane], workers: [{ tasks: [{ type: 'mail', version: 1 }], queues: ['x'] }] },
    ['type:mail'],
  ],
  [
    'no_worker',
    'a worker of another type',
    { lanes: [lane], workers: [{ tasks: [{ type: 'x', version: 1 }], queues: null }] },
    ['type:mail'],
  ],
  ['no_worker', 'paused', { lanes: [lane], pauses: [{ scope: 'all', name: null }] }, []],
  ['dead_letters', 'none', {}, []],
  ['dead_letters', 'one', { dead: { count: 1, capped: false } }, ['store']],
  ['dead_letters', 'more than are counted', { dead: { count: 1_000, capped: true } }, ['store']],
];

for (const [kind, when, facts, subjects] of table) {
  test(`${kind}: ${when}: ${subjects.length === 0 ? 'quiet' : 'fires'}`, () => {
    const rule = defaultAlertRules.find((one) => one.condition.kind === kind);
    assert.ok(rule);
    const findings = evaluateRule(rule, { ...quiet, ...facts });
    assert.deepEqual(
      findings.map(({ subject }) => subject),
      subjects,
    );
    for (const { message } of findings) assert.match(message, /^[A-Z0-9].*\.$/);
    // Disabled, or for other types, nothing fires; dead letters are of the store.
    assert.deepEqual(evaluateRule({ ...rule, isEnabled: false }, { ...quiet, ...facts }), []);
    if (kind !== 'dead_letters')
      assert.deepEqual(evaluateRule({ ...rule, types: ['other'] }, { ...quiet, ...facts }), []);
  });
}

test('there is a default for every kind, enabled', () => {
  assert.deepEqual(
    defaultAlertRules.map(({ condition }) => condition.kind),
    [...alertKinds],
  );
  assert.ok(defaultAlertRules.every(({ isEnabled }) => isEnabled));
});

test('a store in which nothing is wrong makes no rule fire', () => {
  for (const rule of defaultAlertRules) assert.deepEqual(evaluateRule(rule, quiet), []);
});

test('the words name what a person needs', () => {
  const say = (id: string, facts: Partial<AlertFacts>) => {
    const rule = defaultAlertRules.find((one) => one.id === id);
    assert.ok(rule);
    return evaluateRule(rule, { ...quiet, ...facts })[0]?.message;
  };
  const running = [1, 2, 3, 4].map((n) => ({
    id: `job_${n}`,
    type: 'mail',
    startedAt: now - (30 + n) * minuteMs,
  }));
  assert.equal(
    say('stuck', { running }),
    '4 jobs of type "mail" run for longer than 30 min, the longest for 34 min: job_4, job_3, job_2 and 1 more.',
  );
  assert.equal(
    say('schedule-deadline', { schedules: [{ ...nightly, overdue }] }),
    'Schedule "nightly" has not succeeded for its slot of 2027-01-15T08:00:00.000Z by 2027-01-15T09:00:00.000Z: no run was made.',
  );
  assert.equal(
    say('dead-letters', { dead: { count: 1, capped: false } }),
    'There is 1 dead letter: jobs that failed for good and wait for a person.',
  );
});
