import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../packages/core/src/random.ts';
import { type MeasureName, measures, type SoakReport } from './soak.ts';
import { type Sample, trendOf } from './trend.ts';

/** A series of 100 samples, one a second, with noise. */
function series(valueAt: (s: number) => number, noise = 0): Sample[] {
  const random = seededRandom(1);
  return Array.from({ length: 100 }, (_, s) => ({ s, value: valueAt(s) + noise * (random.next() - 0.5) }));
}

const tolerance = { share: 0.1, amount: 1 };

test('what grows in the second half is found, in noise and with odd samples too', () => {
  assert.equal(
    trendOf(
      series((s) => 100 + s),
      tolerance,
    ).isFlat,
    false,
  );
  assert.equal(
    trendOf(
      series((s) => 100 + s, 40),
      tolerance,
    ).isFlat,
    false,
  );
  const { growth, perMinute } = trendOf(
    series((s) => 100 + s),
    tolerance,
  );
  assert.equal(Math.round(growth), 49);
  assert.equal(Math.round(perMinute), 60);
});

test('what fills up and then stays, what shrinks, noise and one odd sample are flat', () => {
  assert.equal(
    trendOf(
      series((s) => Math.min(s * 10, 300)),
      tolerance,
    ).isFlat,
    true,
  );
  assert.equal(
    trendOf(
      series((s) => 1_000 - s),
      tolerance,
    ).isFlat,
    true,
  );
  assert.equal(
    trendOf(
      series(() => 100, 60),
      tolerance,
    ).isFlat,
    true,
  );
  assert.equal(
    trendOf(
      series((s) => (s === 99 ? 10_000 : 100)),
      tolerance,
    ).isFlat,
    true,
  );
  assert.equal(trendOf([], tolerance).isFlat, true);
});

test('a few seconds of a soak: every kind of work is done, nothing fails, nothing piles up', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-soak-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const json = join(folder, 'soak.json');
  const script = new URL('./run.ts', import.meta.url).pathname;
  // Whether memory is flat cannot be said of so short a time; `npm run soak` is for that, and its exit code is not looked at here.
  const { stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', script, '--minutes', '0.25', '--json', json],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  const report = JSON.parse(readFileSync(json, 'utf8')) as SoakReport;
  assert.deepEqual(report.counts.failures, {}, stderr);
  const kinds = [
    'now',
    'in',
    'at',
    'failing',
    'progress',
    'lock',
    'expiring',
    'isolate',
    'slot ran',
    'value cleaned up',
  ];
  for (const kind of kinds) assert.ok((report.counts.calls[kind] ?? 0) > 0, kind);
  assert.ok(report.samples.length >= 8);
  for (const name of Object.keys(measures) as MeasureName[]) {
    assert.ok(report.trends[name].max > 0, name);
  }
  // Threads of isolated tasks come and go, with some files each.
  assert.ok(report.trends.descriptors.max < 100, `${report.trends.descriptors.max} open files`);
  assert.ok(report.trends.liveJobs.max < 500, `${report.trends.liveJobs.max} jobs are not over`);
});
