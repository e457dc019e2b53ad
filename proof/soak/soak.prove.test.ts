import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import { type MeasureName, measures, type SoakReport } from './soak.ts';
import { type Sample, stepOf, trendOf } from './trend.ts';

/** A series of 100 samples, one a second, with noise. */
function series(valueAt: (s: number) => number, noise = 0): Sample[] {
  const random = seededRandom(1);
  return Array.from({ length: 100 }, (_, s) => ({ s, value: valueAt(s) + noise * (random.next() - 0.5) }));
}

const tolerance = { share: 0.1, amount: 1 };
// With fewer undisturbed samples a soak judges nothing.
const calmCountMin = 20;

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

test('a latency is judged by the middle of the last quarter, which a busy machine does not bend', () => {
  const loose = { times: 3, amount: 50 };
  assert.equal(
    stepOf(
      series(() => 2, 2),
      loose,
    ).isFlat,
    true,
  );
  assert.equal(
    stepOf(
      series((s) => (s > 60 ? 40 : 2)),
      loose,
    ).isFlat,
    true,
    'within the amount',
  );
  assert.equal(
    stepOf(
      series((s) => (s > 60 && s % 3 === 0 ? 900 : 2)),
      loose,
    ).isFlat,
    true,
  );
  assert.equal(
    stepOf(
      series((s) => (s * s) / 10),
      loose,
    ).isFlat,
    false,
  );
  assert.equal(
    stepOf(
      series((s) => 30 + 3 * s),
      loose,
    ).isFlat,
    true,
    'within three times',
  );
  assert.equal(stepOf([], loose).isFlat, true);
});

test('a latency whose bound the noise has widened beyond sense is told as too noisy, not as flat', () => {
  const loose = { times: 3, amount: 50 };
  const noisy = stepOf(
    series(() => 1_770, 300),
    loose,
  );
  assert.ok(noisy.isFlat && noisy.isTooNoisy && noisy.allowed > 3_000);
  const disturbedEarly = series((s) => (s > 20 && s < 55 ? 60 : 2));
  assert.equal(stepOf(disturbedEarly, loose).isTooNoisy, true, 'up to 120 ms more would have been flat');
  for (const quiet of [series(() => 2, 2), series(() => 40, 20), series((s) => (s > 60 ? 40 : 2)), []])
    assert.equal(stepOf(quiet, loose).isTooNoisy, false);
  // What grows beyond even that has grown.
  const grown = stepOf(
    series((s) => (s < 60 ? 500 : 5_000)),
    loose,
  );
  assert.ok(!grown.isFlat && !grown.isTooNoisy);
});

/** Soaks in a process of its own, as `npm run soak` does. */
async function runSoak(...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-soak-test-'));
  try {
    const json = join(folder, 'soak.json');
    const script = new URL('./run.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--expose-gc', script, ...args, '--json', json], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const reported = text(child.stdout);
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, reported: await reported, report: JSON.parse(readFileSync(json, 'utf8')) as SoakReport };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a soak of seconds: every kind of work is done, nothing piles up, and the exit code says so', async (t) => {
  const { code, reported, report } = await runSoak('--minutes', '0.6', '--retention', '2');
  assert.deepEqual(report.counts.failures, {});
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
  for (const name of Object.keys(measures) as MeasureName[]) {
    assert.ok(Math.max(...report.samples.map((sample) => sample[name])) > 0, name);
  }
  // Some 60 rows are made in a second: several thousand would be here if nobody pruned.
  if (report.calmCount >= calmCountMin) assert.ok(report.trends.rows.isFlat, reported);
  // On a machine that is busy with other tests there is nothing to judge, and it must say that.
  const { isTooNoisy, allowed } = report.trends.latencyMs;
  const isBusy = report.calmCount < calmCountMin || isTooNoisy;
  if (isBusy)
    t.diagnostic(
      `The machine was busy: ${report.calmCount} samples were left to judge, and the latency might have grown by ${allowed} ms.`,
    );
  assert.equal(code, isBusy ? 2 : 0, reported);
});

test('a store that nobody prunes is told as not flat', async (t) => {
  const { code, reported, report } = await runSoak('--minutes', '0.6', '--retention', '2', '--leak', 'prune');
  if (report.calmCount < calmCountMin) {
    t.diagnostic(`The machine was busy: ${report.calmCount} samples were left to judge.`);
    assert.equal(code, 2, reported);
    return;
  }
  assert.equal(report.trends.rows.isFlat, false, reported);
  assert.equal(report.trends.storeMb.isFlat, false, reported);
  assert.equal(code, 1, reported);
});

test('of a run of some samples nothing is said', async () => {
  const { code, reported } = await runSoak('--minutes', '0.1', '--retention', '2');
  assert.match(reported, /The run was too short to tell/);
  assert.equal(code, 2);
});
