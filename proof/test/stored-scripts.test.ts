// What is refused when stored scripts and the list of open failures are read, and what the list needs for a failure.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeOpen, isKnown, readOpenFailures, storeFailure } from '../simulation/open-failures.ts';
import { drawScript, type Script } from '../simulation/script.ts';
import { headlineOf, playScript } from '../simulation/seeds.ts';
import { readStoredScript, scriptCommand } from '../simulation/stored-script.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = drawScript(5);
const stored = { invariant: 'one-lease', seed: 5, foundAt: '2026-01-01T00:00:00.000Z', script };

/** Writes a value as JSON, and returns the path of the file. */
function written(t: TestContext, value: unknown, name = 'file.json'): string {
  const folder = mkdtempSync(join(tmpdir(), 'duly-stored-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

const without = (value: object, field: string): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== field));
const withScript = (changes: object): object => ({ ...stored, script: { ...script, ...changes } });
const step = { atMs: 0, by: 0 };
const act = (fields: object): object => withScript({ steps: [{ ...step, ...fields }] });

test('a stored script that cannot be played is refused with what is wrong with it', (t) => {
  for (const [value, expected] of [
    [null, 'Expected FILE to be an object, got null.'],
    [{}, 'Expected invariant in FILE to be the name of an invariant, got nothing.'],
    [
      { ...stored, invariant: 'one-leese' },
      'Expected invariant in FILE to be the name of an invariant, got "one-leese".',
    ],
    [{ ...stored, engine: 'mysql' }, 'Expected engine in FILE to be one of sqlite, postgres, got "mysql".'],
    [{ ...stored, foundAt: 'banana' }, 'Expected foundAt in FILE to be an ISO date, got "banana".'],
    [{ ...stored, foundAt: '2026-02-31' }, 'Expected foundAt in FILE to be an ISO date, got "2026-02-31".'],
    [{ ...stored, seed: 6 }, 'Expected the seed of FILE to be 5, got 6.'],
    [{ ...stored, more: 1 }, 'Expected more in FILE to be left out: there is no such field, got 1.'],
    [
      { ...stored, script: without(script, 'seed') },
      'Expected script.seed in FILE to be a whole number from 0 to 4398046511104, got nothing.',
    ],
    [
      { ...stored, script: without(script, 'nodes') },
      'Expected script.nodes in FILE to be a list that is not empty, got nothing.',
    ],
    [withScript({ nodes: [] }), 'Expected script.nodes in FILE to be a list that is not empty, got [].'],
    [withScript({ nodes: [{}] }), 'Expected script.nodes[0].roles in FILE to be a list, got nothing.'],
    [withScript({ steps: 'x' }), 'Expected script.steps in FILE to be a list, got "x".'],
    [withScript({ steps: null }), 'Expected script.steps in FILE to be a list, got null.'],
    [withScript({ steps: [null] }), 'Expected script.steps[0] in FILE to be an object, got null.'],
    [act({}), /^Expected script\.steps\[0\]\.do in FILE to be one of create, .*, got nothing\.$/],
    [act({ do: 'fly' }), /^Expected script\.steps\[0\]\.do in FILE to be one of create, .*, got "fly"\.$/],
    [act({ do: 'constructor' }), /\.do in FILE to be one of /],
    [
      act({ do: 'pause', schedule: 0, forMs: '1' }),
      'Expected script.steps[0].forMs in FILE to be a whole number from 0 up, or null, got "1".',
    ],
    [
      act({ do: 'crash', forMs: 1 }),
      'Expected script.steps[0].forMs in FILE to be left out: there is no such field, got 1.',
    ],
    [
      act({ do: 'put', definition: { type: 'fast', name: 's' } }),
      /^Expected script\.steps\[0\]\.definition\.type in FILE to be one of quick, .*, got "fast"\.$/,
    ],
  ] as const) {
    const path = written(t, value);
    assert.throws(
      () => readStoredScript(path),
      ({ message }: Error) => {
        const told = message.replace(`"${path}"`, 'FILE');
        if (typeof expected === 'string') assert.equal(told, expected);
        else assert.match(told, expected);
        return true;
      },
    );
  }
  assert.deepEqual(readStoredScript(written(t, { ...stored, engine: 'postgres' })).engine, 'postgres');
});

test('an entry of the open failures that cannot be played is refused with the file and its number', (t) => {
  const entry = { script, invariant: 'one-lease', date: '2026-01-01' };
  const other = relative(root, written(t, { ...stored, engine: 'postgres' }));
  for (const [value, expected] of [
    [{}, 'Expected FILE to be a list, got {}.'],
    [[null], 'Expected entry 1 of FILE to be an object, got null.'],
    [
      [entry, { foo: 1 }],
      'Expected script in entry 2 of FILE to be a script, or the path of a stored script, got nothing.',
    ],
    [
      [{ ...entry, engine: 'mysql' }],
      'Expected engine in entry 1 of FILE to be one of sqlite, postgres, got "mysql".',
    ],
    [
      [{ ...entry, invariant: 'x' }],
      'Expected invariant in entry 1 of FILE to be the name of an invariant, got "x".',
    ],
    [[{ ...entry, date: 'banana' }], 'Expected date in entry 1 of FILE to be an ISO date, got "banana".'],
    [
      [{ ...entry, script: { ...script, steps: null } }],
      'Expected script.steps in entry 1 of FILE to be a list, got null.',
    ],
    [
      [{ ...entry, script: 'nowhere.json' }],
      /^Expected script in entry 1 of FILE to be a stored script\. .*nowhere\.json.*ENOENT/,
    ],
    [
      [{ ...entry, script: other, engine: 'sqlite' }],
      `Expected the engine of entry 1 of FILE, as in "${other}", to be postgres, got "sqlite".`,
    ],
  ] as const) {
    const path = written(t, value);
    assert.throws(
      () => readOpenFailures(path),
      ({ message }: Error) => {
        const told = message.replace(`"${relative(root, path)}"`, 'FILE');
        if (typeof expected === 'string') assert.equal(told, expected);
        else assert.match(told, expected);
        return true;
      },
    );
  }
  assert.deepEqual(readOpenFailures(written(t, [entry])), [entry]);
  // An entry without an engine is played on that of its script.
  assert.equal(readOpenFailures(written(t, [{ ...entry, script: other }]))[0]?.engine, 'postgres');
});

test('a world that throws breaks what an entry may name', async (t) => {
  const open = (): never => {
    throw new Error('no store');
  };
  const [violation] = (await playScript(script, { open })).violations;
  const entry = { script, invariant: violation?.invariant, date: '2026-01-01' };
  assert.deepEqual(readOpenFailures(written(t, [entry])), [entry]);
});

test('a failure of a stored script is told with the command that plays the script, not its seed', async (t) => {
  const open = (): never => {
    throw new Error('no store');
  };
  const path = relative(root, written(t, stored));
  const command = `npm run simulate -- --script ${path} --trace`;
  const headline = headlineOf({ ...(await playScript(script, { open }, path)), engine: 'sqlite' });
  assert.ok(headline.startsWith(`${path} breaks 1 promise:\n`), headline);
  assert.ok(headline.endsWith(`\nPlay it again: ${command}`), headline);
  const entry = { script: path, invariant: 'one-lease', date: '2026-01-01', note: 'Why.' };
  assert.equal(
    describeOpen(entry),
    `Open failure of 2026-01-01: one-lease, seed 5. Why.\nPlay it again: ${command}`,
  );
  assert.equal(describeOpen({ ...entry, script }), 'Open failure of 2026-01-01: one-lease, seed 5. Why.');
  assert.equal(
    scriptCommand("it's here.json", 'postgres'),
    "npm run simulate -- --engine postgres --script 'it'\\''s here.json' --trace",
  );
});

test('the entries that a failure is printed with list everything that it and its stored scripts break', async (t) => {
  // The script that is shrunk to one invariant keeps only some of the others, and may break a new one.
  const brokenBy: Record<string, string[]> = {
    'one-lease': ['one-lease', 'never-early'],
    'gates-hold': ['gates-hold', 'fences-grow'],
  };
  const found = ['one-lease', 'never-early', 'gates-hold', 'gates-hold'];
  const names = new Map<Script, string>();
  const shrunk: string[] = [];
  const texts: string[] = [];
  const entries = await storeFailure(
    found,
    { engine: 'postgres', date: '2026-01-01' },
    {
      shrink: async (invariant) => {
        shrunk.push(invariant);
        const small = { ...script };
        names.set(small, invariant);
        return { script: small, text: `small ${invariant}` };
      },
      play: async (small) => brokenBy[names.get(small) ?? ''] ?? [],
      store: (invariant, { script: small, text }) => {
        texts.push(text);
        return relative(root, written(t, { ...stored, invariant, engine: 'postgres', script: small }));
      },
    },
  );
  assert.deepEqual(shrunk, ['one-lease', 'gates-hold']);
  assert.deepEqual(texts, ['small one-lease', 'small gates-hold']);
  const [one, , other] = entries.map((entry) => entry.script);
  const expected = [
    { script: one, invariant: 'one-lease' },
    { script: one, invariant: 'never-early' },
    { script: other, invariant: 'gates-hold' },
    { script: other, invariant: 'fences-grow' },
  ].map((entry) => ({ ...entry, engine: 'postgres', date: '2026-01-01' }));
  assert.deepEqual(entries, expected);
  const open = readOpenFailures(written(t, entries));
  const violations = found.map((invariant) => ({ invariant, message: '', subjects: [] }));
  assert.equal(isKnown(open, 5, violations), true);
});
