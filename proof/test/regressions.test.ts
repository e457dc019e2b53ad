// Past failures, played from their stored scripts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Violation } from '../checker/index.ts';
import { readCommit, seedStart, startOf } from '../simulation/commit-seeds.ts';
import { isKnown, type OpenFailure } from '../simulation/open-failures.ts';
import { drawScript, type Script } from '../simulation/script.ts';
import { assertRead, listStoredScripts, readStoredScript, scriptCheck } from '../simulation/stored-script.ts';
import { testRegressions } from './worlds.ts';

testRegressions();

test('a script survives JSON', () => {
  const { start } = seedStart('test');
  for (let seed = start; seed < start + 1_000; seed++) {
    const script = drawScript(seed);
    assert.deepStrictEqual(JSON.parse(JSON.stringify(script)), script, `seed ${seed}`);
  }
});

/** The fields of a script with the kind of each step: a renamed field or step of a stored script would be ignored without an error. */
function shapesOf(script: Script): string[] {
  const shapes: string[] = [];
  const visit = (path: string, value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(path, item);
    else if (value !== null && typeof value === 'object') {
      const kind = 'do' in value ? `${path} ${value.do}` : path;
      for (const [name, field] of Object.entries(value)) visit(`${kind}.${name}`, field);
    } else shapes.push(path);
  };
  // The keys of these are names, not fields.
  const { declared, ...rest } = script;
  visit('script', rest);
  for (const schedules of Object.values(declared)) visit('declared', Object.values(schedules));
  return shapes;
}

test('stored scripts hold only steps and fields that scripts are drawn with', () => {
  const drawn = new Set<string>();
  for (let seed = 1; seed <= 6_000; seed++) {
    const script = drawScript(seed);
    assertRead(scriptCheck, script, `the script of seed ${seed}`);
    for (const shape of shapesOf(script)) drawn.add(shape);
  }
  const unknown = listStoredScripts().flatMap((path) =>
    shapesOf(readStoredScript(path).script)
      .filter((shape) => !drawn.has(shape))
      .map((shape) => `${path}: ${shape}`),
  );
  assert.deepEqual([...new Set(unknown)], []);
});

test('a failure is known only if its seed and every broken invariant are listed', () => {
  const entry = (seed: number, invariant: string): OpenFailure => ({
    script: { ...drawScript(1), seed },
    invariant,
    date: '2026-01-01',
    note: '',
  });
  const broken = (...names: string[]): Violation[] =>
    names.map((invariant) => ({ invariant, message: '', subjects: [] }));
  const list = [entry(7, 'one-lease'), entry(8, 'feed-reports')];
  assert.equal(isKnown(list, 7, broken('one-lease')), true);
  assert.equal(isKnown(list, 7, broken('feed-reports')), false);
  assert.equal(isKnown(list, 9, broken('one-lease')), false);
  assert.equal(isKnown(list, 7, broken('one-lease', 'feed-reports')), false);
});

test('seeds come from the commit, differ by purpose, and can be set', () => {
  assert.deepEqual(seedStart('test', {}), seedStart('test', {}));
  const starts = ['a', 'b'].flatMap((commit) =>
    (['test', 'prove', 'postgres'] as const).map((purpose) => startOf(commit, purpose)),
  );
  assert.equal(new Set(starts).size, starts.length);
  assert.ok(starts.every((start) => start >= 1_000_000 && start % 10_000 === 0));
  assert.equal(seedStart('prove', { DULY_SEED_START: '42' }).start, 42);
  for (const text of ['x', ' ', '-1', String(2 ** 42 + 1)])
    assert.throws(
      () => seedStart('prove', { DULY_SEED_START: text }),
      /Expected DULY_SEED_START to be a whole number from 0 to 4398046501104, got "/,
    );
  assert.equal(seedStart('prove', { DULY_SEED_START: '4398046501104' }).start, 4398046501104);
});

test('seeds come from the commit of a clone, and not from a repository that the files only lie in', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-commit-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.equal(readCommit(folder), null);
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@localhost', ...args], {
      ...{ cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    });
  git('init');
  git('commit', '--allow-empty', '--no-gpg-sign', '--no-verify', '--message', 'x');
  assert.equal(readCommit(folder), git('rev-parse', 'HEAD').trim());
  const unpacked = join(folder, 'duly');
  mkdirSync(unpacked);
  assert.equal(readCommit(unpacked), null);
});
