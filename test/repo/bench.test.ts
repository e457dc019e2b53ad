import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ArgumentError, readArguments } from '../../bench/arguments.ts';
import { judge, type Result } from '../../bench/result.ts';
import { median, percentile } from '../../bench/statistics.ts';
import { formatFigure, formatTable, formatVerdicts } from '../../bench/table.ts';
import { root } from '../../scripts/source-text.ts';

const result = (given: Partial<Result> = {}): Result => ({
  measure: 'drain',
  title: 'drain no-ops',
  unit: 'per second',
  isMoreBetter: true,
  duly: 50_000,
  bare: 100_000,
  ratio: 0.5,
  peers: [],
  target: { text: '≥ 0.5 of bare', of: 'ratio', atLeast: 0.5 },
  ...given,
});

test('a target is reached at its bound and missed just below it', () => {
  assert.equal(judge(result()), 'pass');
  assert.equal(judge(result({ ratio: 0.499 })), 'short');
  const latency = { text: '≤ 10 ms', of: 'value', atMost: 10 } as const;
  assert.equal(judge(result({ target: latency, duly: 10 })), 'pass');
  assert.equal(judge(result({ target: latency, duly: 10.1 })), 'short');
});

test('a target that nothing was measured for is neither reached nor missed', () => {
  assert.equal(judge(result({ ratio: null })), 'not measured');
  assert.equal(judge(result({ target: null })), 'no target');
});

test('a target that a run is too small for is shown and not judged', () => {
  const target = { text: '≤ 1.3 ×', of: 'value', atMost: 1.3, notJudged: 'at this size' } as const;
  const small = result({ target, duly: 9 });
  assert.equal(judge(small), 'not judged');
  assert.match(formatTable([small]), /not judged at this size$/);
  assert.equal(formatVerdicts([small]), 'Targets: 0 of 0 reached.');
});

test('a target beside peers is judged by the best of them, whichever way is better', () => {
  const target = { text: '≥ 2 × the best peer', of: 'peer', atLeast: 2 } as const;
  const peers = [
    { name: 'slow', value: 10 },
    { name: 'fast', value: 30_000 },
    { name: 'absent', value: null },
  ];
  assert.equal(judge(result({ target, peers })), 'short');
  assert.equal(judge(result({ target, peers: peers.slice(0, 1) })), 'pass');
  const lateness = { text: '≤ half the best peer', of: 'peer', atMost: 0.5 } as const;
  assert.equal(judge(result({ target: lateness, isMoreBetter: false, duly: 6, peers })), 'short');
  assert.equal(judge(result({ target: lateness, isMoreBetter: false, duly: 5, peers })), 'pass');
});

test('the table shows every figure, a peer that could not take part with its reason, and the verdict', () => {
  const table = formatTable([
    result({ ratio: 0.4, duly: 40_000, peers: [{ name: 'plainjob', value: null, note: 'not installed' }] }),
  ]);
  for (const part of [
    '40,000/s',
    '100,000/s',
    '0.40',
    'plainjob (not installed)',
    '≥ 0.5 of bare',
    'SHORT',
  ]) {
    assert.ok(table.includes(part), `"${part}" in\n${table}`);
  }
  const verdicts = formatVerdicts([result(), result({ ratio: 0.4, title: 'another' })]);
  assert.match(verdicts, /^Targets: 1 of 2 reached\./);
  assert.match(verdicts, /short: another: ≥ 0\.5 of bare, is 0\.40 of bare/);
});

test('figures keep the digits that count', () => {
  assert.equal(formatFigure(1_234_567.8, 'per second'), '1,234,568/s');
  assert.equal(formatFigure(0.1234, 'ms'), '0.123 ms');
  assert.equal(formatFigure(12.345, '%'), '12.3 %');
  assert.equal(formatFigure(null, 'ms'), '–');
});

test('medians and percentiles are of the values given', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile(hundred, 1), 100);
  assert.ok(Number.isNaN(percentile([], 0.5)));
});

test('an unknown engine, measure or count is refused by name', () => {
  const known = { engines: ['sqlite'], measures: ['drain', 'latency'] };
  assert.deepEqual(readArguments(['--only', 'drain,latency'], known).only, ['drain', 'latency']);
  assert.equal(readArguments(['--future', '1_000_000'], known).futureCount, 1_000_000);
  for (const [argv, message] of [
    [['--engine', 'mysql'], /one of sqlite, got "mysql"/],
    [['--only', 'drian'], /drain, latency, got "drian"/],
    [['--rounds', '0'], /whole number from 1 up, got "0"/],
    [['--rounds', '-1'], /whole number from 1 up, got "-1"/],
    [['--only', ','], /drain, latency, got ","/],
    [['--only', ''], /drain, latency, got ""/],
    [['--fast'], /--fast/],
  ] as const) {
    assert.throws(
      () => readArguments(argv, known),
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  }
});

test('-h says how to call it; what is wrong with an argument is said last, and before anything is measured', () => {
  const call = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'bench/main.ts'), ...args], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  const help = call('-h');
  assert.equal(help.status, 0, help.stderr);
  assert.match(help.stdout, /^npm run bench -- \[options\]/);
  for (const [args, message] of [
    [['--fast'], /--fast/],
    [
      ['--out', join(root, 'package.json/x.json')],
      /^Expected --out to be a file that can be written, .*package\.json/,
    ],
  ] as const) {
    const { status, stdout, stderr } = call(...args);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.match(stderr, /^.*\nnpm run bench -- --help says how to call it\.\n$/);
  }
});

test('a run that is ended by a signal leaves no folder and no process, and prints what it has', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const results = mkdtempSync(join(tmpdir(), 'duly-bench-test-'));
  t.after(() => rmSync(results, { recursive: true, force: true }));
  const out = join(results, 'result.json');
  const args = ['--quick', '--no-peers', '--only', 'drain,latency', '--out', out];
  const child = spawn(process.execPath, [join(root, 'bench/main.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
  t.after(() => child.kill('SIGKILL'));
  let [table, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    table += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  // The second measure has made its place.
  const watcher = watch(folder, (_kind, name) => {
    const hasBegun = err.includes('drain no-ops, history kept: done');
    if (!hasBegun || !readdirSync(folder).includes(name ?? '')) return;
    // A second signal would end it on the spot.
    watcher.close();
    child.kill('SIGTERM');
  });
  t.after(() => watcher.close());
  await once(child, 'close');
  assert.equal(child.exitCode, 143, `${table}\n${err}`);
  assert.match(table, /drain [\d,]+ no-ops, history kept/);
  assert.match(err, /: broken off \(/);
  assert.match(err, /Ended by SIGTERM\. The table has what was measured until then/);
  assert.equal(JSON.parse(readFileSync(out, 'utf8')).results.length, 2);
  assert.deepEqual(readdirSync(folder), []);
  if (process.platform !== 'linux') return;
  const commands = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        // It ended meanwhile.
        return '';
      }
    });
  assert.deepEqual(
    commands.filter((command) => command.includes(folder)),
    [],
  );
});

test('a quick run without peers measures Duly and bare, prints the table and writes JSON', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const out = join(folder, 'result.json');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bench/main.ts'), '--quick', '--no-peers', '--only', 'drain', '--out', out],
    { encoding: 'utf8', timeout: 60_000 },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, /drain [\d,]+ no-ops, history kept/);
  assert.match(stdout, /Targets: [01] of 1 reached\./);
  const { results, failures } = JSON.parse(readFileSync(out, 'utf8')) as {
    results: { duly: number; bare: number; ratio: number; verdict: string }[];
    failures: string[];
  };
  assert.deepEqual(failures, []);
  // The rate, and the processor time.
  assert.equal(results.length, 2);
  const [drain] = results as [{ duly: number; bare: number; ratio: number; verdict: string }];
  assert.ok(drain.duly > 0 && drain.bare > 0);
  assert.ok(
    Math.abs(drain.ratio - drain.duly / drain.bare) < 1e-9,
    'with one round the ratio is that of the figures',
  );
  assert.equal(drain.verdict, drain.ratio >= 0.5 ? 'pass' : 'short');
});
