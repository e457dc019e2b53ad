import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertFields, AlertKind, Finding } from '../../src/alerts/alert-kind.ts';
import { type AlertRule, defaultAlertRules } from '../../src/alerts/alert-rule.ts';
import { evaluateRule } from '../../src/alerts/evaluate.ts';
import { deadLetters } from '../../src/alerts/rules/dead-letters.ts';
import { failureRate } from '../../src/alerts/rules/failure-rate.ts';
import { failuresInRow } from '../../src/alerts/rules/failures-in-row.ts';
import { alertKinds } from '../../src/alerts/rules/index.ts';
import { noWorker } from '../../src/alerts/rules/no-worker.ts';
import { scheduleDeadline } from '../../src/alerts/rules/schedule-deadline.ts';
import { stuck } from '../../src/alerts/rules/stuck.ts';
import { waiting } from '../../src/alerts/rules/waiting.ts';

const now = Date.parse('2027-01-15T10:00:00Z');
const minuteMs = 60_000;

/** The facts of a kind of rule. */
type FactsOf<Kind> = Kind extends AlertKind<string, AlertFields, infer Facts> ? Facts : never;

/** What the default rule of a kind finds. */
function find<Facts>(
  kind: AlertKind<string, AlertFields, Facts>,
  facts: Facts,
  change: Partial<AlertRule> = {},
): readonly Finding[] {
  const rule = defaultAlertRules.find(({ condition }) => condition.kind === kind.kind);
  assert.ok(rule);
  return evaluateRule({ ...rule, ...change }, { byKind: new Map([[kind.kind, facts]]) });
}

/** Which facts make the default rule of a kind fire, and about what; each beside the nearest that do not. */
function cases<Facts extends object>(
  kind: AlertKind<string, AlertFields, Facts>,
  quiet: Facts,
  rows: readonly (readonly [when: string, facts: Partial<Facts>, subjects: string[]])[],
): void {
  for (const [when, some, subjects] of rows) {
    test(`${kind.kind}: ${when}: ${subjects.length === 0 ? 'quiet' : 'fires'}`, () => {
      const facts = some instanceof Map ? some : { ...quiet, ...some };
      const findings = find(kind, facts);
      assert.deepEqual(
        findings.map(({ subject }) => subject),
        subjects,
      );
      for (const { message } of findings) assert.match(message, /^[A-Z0-9].*\.$/);
      // Disabled, or for other types, nothing fires; dead letters are of the store.
      assert.deepEqual(find(kind, facts, { isEnabled: false }), []);
      if (subjects[0] !== 'store') assert.deepEqual(find(kind, facts, { types: ['other'] }), []);
    });
  }
}

const running = (...jobs: [type: string, forMs: number][]): FactsOf<typeof stuck>['running'] =>
  jobs.map(([type, forMs], i) => ({ id: `job_${i + 1}`, type, startedAt: now - forMs }));
cases(stuck, { now, running: [] }, [
  ['a job runs for exactly 30 min', { running: running(['mail', 30 * minuteMs]) }, []],
  ['for longer', { running: running(['mail', 30 * minuteMs + 1]) }, ['type:mail']],
  [
    'several of two types',
    { running: running(['b', 31 * minuteMs], ['a', 31 * minuteMs], ['b', 31 * minuteMs]) },
    ['type:a', 'type:b'],
  ],
]);

const outcomes = (completedCount: number, failedCount: number): FactsOf<typeof failureRate> =>
  new Map([[60 * minuteMs, [{ type: 'mail', completedCount, failedCount }]]]);
cases(failureRate, new Map(), [
  ['5 % exactly', outcomes(95, 5), []],
  ['more than 5 %', outcomes(94, 6), ['type:mail']],
  ['too few to say', outcomes(0, 19), []],
  ['just enough to say', outcomes(0, 20), ['type:mail']],
  ['nothing ended', outcomes(0, 0), []],
]);

const nightly = { label: 'nightly', type: 'report', failuresInRowCount: 0, overdue: null };
cases(failuresInRow, { types: [], schedules: [] }, [
  ['four of a type', { types: [{ type: 'mail', inRowCount: 4 }] }, []],
  ['five of a type', { types: [{ type: 'mail', inRowCount: 5 }] }, ['type:mail']],
  ['five of a schedule', { schedules: [{ ...nightly, failuresInRowCount: 5 }] }, ['schedule:nightly']],
]);

const overdue = { slotAt: now - 7_200_000, deadlineAt: now - 3_600_000, runStatus: null };
test('schedule_deadline: nothing overdue: quiet', () => {
  assert.deepEqual(find(scheduleDeadline, [nightly]), []);
});
test('schedule_deadline: no run was ever created: fires', () => {
  const facts = [{ ...nightly, overdue }];
  assert.deepEqual(find(scheduleDeadline, facts), [
    {
      subject: 'schedule:nightly',
      message:
        'Schedule "nightly" has not succeeded for its slot of 2027-01-15T08:00:00.000Z by 2027-01-15T09:00:00.000Z: no run was created.',
    },
  ]);
  assert.deepEqual(find(scheduleDeadline, facts, { isEnabled: false }), []);
  assert.deepEqual(find(scheduleDeadline, facts, { types: ['other'] }), []);
});

const lane = { queue: 'default', type: 'mail', version: 1, readyCount: 3, oldestDueAt: now - 11 * minuteMs };
const lanes = [lane];
const all = { scope: 'all', name: null } as const;
cases(waiting, { now, lanes: [], pauses: [] }, [
  ['ten minutes exactly', { lanes: [{ ...lane, oldestDueAt: now - 10 * minuteMs }] }, []],
  ['longer', { lanes }, ['queue:default']],
  ['queue paused', { lanes, pauses: [{ scope: 'queue', name: 'default' }] }, []],
  ['another queue paused', { lanes, pauses: [{ scope: 'queue', name: 'mail' }] }, ['queue:default']],
  ['type paused', { lanes, pauses: [{ scope: 'type', name: 'mail' }] }, []],
  ['everything paused', { lanes, pauses: [all] }, []],
  ['nothing ready', { lanes: [{ ...lane, readyCount: 0, oldestDueAt: null }] }, []],
]);

const workerOf = (type: string, version = 1, queues: string[] | null = null) => ({
  tasks: [{ type, version }],
  queues,
});
cases(noWorker, { now, lanes: [], pauses: [], workers: [] }, [
  ['nobody at all', { lanes }, ['type:mail']],
  ['not for a minute yet', { lanes: [{ ...lane, oldestDueAt: now - minuteMs }] }, []],
  ['a worker of the type', { lanes, workers: [workerOf('mail')] }, []],
  ['a newer worker', { lanes, workers: [workerOf('mail', 2, ['default'])] }, []],
  ['an older worker', { lanes: [{ ...lane, version: 2 }], workers: [workerOf('mail')] }, ['type:mail']],
  ['a worker of other queues', { lanes, workers: [workerOf('mail', 1, ['x'])] }, ['type:mail']],
  ['a worker of another type', { lanes, workers: [workerOf('x')] }, ['type:mail']],
  ['paused', { lanes, pauses: [all] }, []],
]);

cases(deadLetters, { count: 0, capped: false }, [
  ['none', {}, []],
  ['one', { count: 1 }, ['store']],
  ['more than are counted', { count: 1_000, capped: true }, ['store']],
]);

test('there is a default for every kind, enabled', () => {
  assert.deepEqual(
    defaultAlertRules.map(({ condition }) => condition.kind),
    alertKinds.map(({ kind }) => kind),
  );
  assert.ok(defaultAlertRules.every(({ isEnabled }) => isEnabled));
});

test('the words name what a person needs', () => {
  const facts = {
    now,
    running: running(...[31, 32, 33, 34].map((n): [string, number] => ['mail', n * minuteMs])),
  };
  assert.equal(
    find(stuck, facts)[0]?.message,
    '4 jobs of type "mail" run for longer than 30 min, the longest for 34 min: job_4, job_3, job_2 and 1 more.',
  );
  assert.equal(
    find(deadLetters, { count: 1, capped: false })[0]?.message,
    'There is 1 dead letter: jobs that failed for good and wait for a person.',
  );
});
