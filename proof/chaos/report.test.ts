import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChaosReport } from './chaos.ts';
import { chaosExitCodes, reportText, verdictOf } from './report.ts';
import { stalledMsOf } from './stalls.ts';

const report = (given: Partial<ChaosReport> = {}): ChaosReport => ({
  seed: 7,
  minutes: 2,
  nodeCount: 3,
  tookMs: 125_000,
  engine: 'sqlite',
  only: null,
  notes: [],
  faults: new Map([['kill -9 after claim', { created: 4, struck: 3 }]]),
  failures: new Map(),
  jobs: {},
  calls: { acknowledged: 0, refused: 0, unknown: 0, unanswered: 0 },
  slots: {},
  lostAttempts: 0,
  transactions: {},
  decisions: null,
  lists: { count: 0, withLost: 0 },
  recoveries: [],
  stalledMs: 1_500,
  watchedMs: 120_000,
  healthDuringOutages: {},
  violations: [],
  folder: null,
  excerpt: '',
  ...given,
});

test('a chaos run on a machine that stood still for more than a quarter of it tells nothing, and says so', () => {
  const busy = report({ stalledMs: 80_500 });
  assert.equal(verdictOf(busy), 'too busy to tell');
  assert.equal(chaosExitCodes[verdictOf(busy)], 2);
  const text = reportText(busy);
  assert.match(text, /^the machine stood still +80\.5 of 120\.0 s$/m);
  assert.match(text, /^violations +too busy to tell$/m);
  assert.match(text, /^Too busy to tell: the machine stood still for 67 % of the run/m);
  assert.match(text, /npm run chaos -- --engine sqlite --minutes 2 --seed 7$/);
});

test('a quarter is still judged, and so is a violation, however busy the machine', () => {
  assert.equal(verdictOf(report({ stalledMs: 30_000 })), 'kept');
  assert.equal(verdictOf(report({ stalledMs: 30_001 })), 'too busy to tell');
  assert.match(reportText(report()), /^violations +0$/m);
  assert.doesNotMatch(reportText(report()), /busy/);
  const violations = [{ invariant: 'nothing-vanishes', subjects: [], message: 'A job is gone.' }];
  const broken = report({ violations, stalledMs: 100_000 });
  assert.equal(chaosExitCodes[verdictOf(broken)], 1);
  assert.match(reportText(broken), /^violations +1$/m);
});

test('a fault that did not strike each time is told with how often it was tried', () => {
  assert.match(reportText(report()), /^fault: kill -9 after claim +struck 3 of 4 times$/m);
});

test('what several measures tell of the same moment counts once, in whatever order they tell it', () => {
  const stalls = [
    { fromAt: 100, untilAt: 400 },
    { fromAt: 0, untilAt: 150 },
    { fromAt: 200, untilAt: 300 },
    { fromAt: 1_000, untilAt: 1_010 },
  ];
  assert.equal(stalledMsOf(stalls), 410);
  assert.equal(stalledMsOf(stalls.toReversed()), 410);
  assert.equal(stalledMsOf([]), 0);
});
