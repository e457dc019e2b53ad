import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExact, latenessText, measureRound, type Observed } from './lateness.ts';

const dueAt = 1_000_000;
const observed = (given: Partial<Observed> = {}): Observed => ({
  count: 3,
  dueAt,
  killedAt: dueAt - 400,
  returnedAt: dueAt + 2_200,
  starts: [
    [0, dueAt + 2_500],
    [2, dueAt + 2_700],
    [1, dueAt + 3_000],
  ],
  stored: Array.from({ length: 3 }, () => ({ decisions: 1, jobs: 1 })),
  ...given,
});

test('lateness is measured from the instant and from the return of the primary', () => {
  const round = measureRound(observed());
  assert.deepEqual(round, {
    schedules: 3,
    killedMs: -400,
    returnedMs: 2_200,
    fromInstant: { p50: 2_700, p99: 3_000, last: 3_000 },
    fromReturn: { p50: 500, p99: 800, last: 800 },
    once: 3,
    lost: 0,
    doubled: 0,
    early: 0,
  });
  assert.ok(isExact(round));
});

test('a schedule without a start, a job or a decision is lost, one with two of them is doubled', () => {
  const { starts, stored } = observed();
  const one = { decisions: 1, jobs: 1 };
  for (const [given, expected] of [
    [{ starts: starts.slice(1) }, { once: 2, lost: 1, doubled: 0 }],
    [{ stored: stored.slice(1) }, { once: 2, lost: 1, doubled: 0 }],
    [{ stored: [one, { decisions: 1, jobs: 0 }, one] }, { once: 2, lost: 1, doubled: 0 }],
    [{ stored: [one, { decisions: 1, jobs: 2 }, one] }, { once: 2, lost: 0, doubled: 1 }],
    [{ stored: [one, { decisions: 2, jobs: 1 }, one] }, { once: 2, lost: 0, doubled: 1 }],
    [{ starts: [...starts, [2, dueAt + 9_000]] }, { once: 2, lost: 0, doubled: 1 }],
  ] as [Partial<Observed>, object][]) {
    const { once, lost, doubled, ...round } = measureRound(observed(given));
    assert.deepEqual({ once, lost, doubled }, expected);
    assert.ok(!isExact({ once, lost, doubled, ...round }));
  }
});

test('a start before the instant is early', () => {
  const round = measureRound(
    observed({
      starts: [
        [0, dueAt - 1],
        [1, dueAt],
        [2, dueAt],
      ],
    }),
  );
  assert.deepEqual([round.once, round.early], [3, 1]);
  assert.ok(!isExact(round));
});

test('the table has a row for each round and their median, and the verdict names what was missed', () => {
  const good = measureRound(observed());
  const lines = latenessText([good, good]).split('\n');
  assert.match(lines[2] ?? '', /^1 +-0\.40 s +2\.20 s +2\.70 s +3\.00 s +3\.00 s +0\.50 s .* 3 +0 +0 +0$/);
  assert.match(lines[4] ?? '', /^median +-0\.40 s +2\.20 s /);
  assert.deepEqual(lines.slice(6), [
    'KEPT: every slot was decided once and ran once, none early.',
    'MET: the last start within 2 s of the return of the primary: 2 of 2 rounds, at worst 0.80 s.',
  ]);
  const late = measureRound(
    observed({
      starts: [
        [0, dueAt + 5_000],
        [1, dueAt + 2_300],
      ],
    }),
  );
  const text = latenessText([good, late]);
  assert.match(text, /^BROKEN: 1 slots lost, 0 doubled, 0 early\.$/m);
  assert.match(text, /^MISSED: .*: 1 of 2 rounds, at worst 2\.80 s\.$/m);
});

test('a round in which nothing ran has no lateness', () => {
  const text = latenessText([measureRound(observed({ starts: [] }))]);
  assert.match(text, /^1 +-0\.40 s +2\.20 s( +-){6} +0 +3 +0 +0$/m);
  assert.match(text, /^MISSED: /m);
});
