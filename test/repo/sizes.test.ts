import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findLongCode,
  findSizeProblems,
  measureFunctions,
  readLongCode,
  shrinkList,
} from '../../scripts/check-sizes.ts';
import { readPackageSources } from '../../scripts/source-text.ts';

const path = 'packages/core/src/a.ts';

/** A function with a body of this many lines, two of which are its own. */
function functionOf(lines: number, name = 'make'): string {
  return `function ${name}(): void {\n${'  run();\n'.repeat(lines - 2)}}\n`;
}

test('the packages have no size problem', () => {
  assert.deepEqual(findSizeProblems(readPackageSources(), readLongCode()), []);
});

for (const [name, text] of [
  [
    'plan',
    'export async function plan<A extends () => B>(\n  a: A,\n): Promise<(b: B) => void> {\n  run();\n}',
  ],
  ['plan', 'const plan = async (a: A): Promise<{ b: B }> => {\n  run({\n    a,\n  });\n};'],
  ['plan', 'const plan: Plan = (a) =>\n  a\n    .map(b)\n    .filter(c)\n    .join("}");'],
  ['plan', 'class A {\n  static async plan(\n    a: A,\n  ): Promise<void> {\n    b(`c }`);\n  }\n}'],
  ['#plan', 'class A {\n  #plan(a: A): a is B {\n    if (a) {\n      return;\n    }\n  }\n}'],
  ['plan', 'const a = {\n  plan(a: A): { b: B } | null {\n    // }\n    return b;\n\n  },\n};'],
  ['plan', 'const a = {\n  plan: (a: A) => {\n    b();\n    c();\n    d();\n  },\n};'],
  ['plan', 'function* plan() {\n\n\n\n}'],
  ['app.get(…)', "app.get('/', (a) => {\n  b();\n  c();\n  d();\n});"],
  ['app.get(…)', "app.get('/', async function (a) {\n  b();\n  c();\n  d();\n});"],
] as const) {
  test(`a function of five lines is measured: ${JSON.stringify(text)}`, () => {
    const long = measureFunctions(text).filter(({ lines }) => lines > 2);
    assert.deepEqual(
      long.map((one) => [one.name, one.lines]),
      [[name, 5]],
    );
  });
}

for (const text of [
  'if (a) {\n  b();\n}',
  'for await (const a of b) {\n  c();\n}',
  'interface A {\n  plan(\n    a: B,\n  ): void;\n}',
  'const a = b(\n  c,\n) ? { d } : { e };',
]) {
  test(`no function is seen in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(measureFunctions(text), []);
  });
}

test('the lines of a nested function count for the outer one', () => {
  assert.deepEqual(
    measureFunctions('function a() {\n  function b() {\n    c();\n  }\n}').map((one) => [
      one.name,
      one.lines,
    ]),
    [
      ['a', 5],
      ['b', 3],
    ],
  );
});

test('a function of more than 80 lines and a file of more than 400 are found, with their lines', () => {
  assert.deepEqual(findSizeProblems([{ path, text: functionOf(80).repeat(5) }], []), []);
  assert.deepEqual(
    findSizeProblems([{ path, text: `${functionOf(81)}${functionOf(80).repeat(4)}` }], []).map(
      ({ line, message }) => `${line}: ${message}`,
    ),
    [
      '1: the file has 401 lines, of at most 400: split it by meaning.',
      '1: "make" has 81 lines, of at most 80: split it by meaning.',
    ],
  );
});

test('what is listed may stay as long as it is, and no longer', () => {
  const listed = [{ path, name: 'make', lines: 90 }];
  assert.deepEqual(findSizeProblems([{ path, text: functionOf(90) }], listed), []);
  const [grown, ...others] = findSizeProblems([{ path, text: functionOf(91) }], listed);
  assert.match(grown?.message ?? '', /"make" grew from 90 lines in scripts\/long-code.json to 91/);
  assert.deepEqual(others, []);
});

test('listed code that stays whole may grow', () => {
  const listed = [{ path, name: 'make', lines: 90, reason: 'one table' }];
  assert.deepEqual(findSizeProblems([{ path, text: functionOf(91) }], listed), []);
});

test('an entry that is not needed any more is found', () => {
  const listed = [{ path, name: 'make', lines: 90, reason: 'one table' }];
  const [stale, ...others] = findSizeProblems([{ path, text: functionOf(80) }], listed);
  assert.match(stale?.message ?? '', /"make" of packages\/core\/src\/a.ts is not too long any more/);
  assert.deepEqual(others, []);
});

test('two functions of the same name need an entry each', () => {
  const text = `${functionOf(90)}${functionOf(95)}`;
  assert.deepEqual(
    findLongCode([{ path, text }]).map(({ name, lines }) => [name, lines]),
    [
      ['make', 90],
      ['make (2)', 95],
    ],
  );
});

test('the list is only ever shortened: no entry is added, and none is raised', () => {
  const files = [{ path, text: `${functionOf(90, 'a')}${functionOf(90, 'b')}${functionOf(90, 'c')}` }];
  const listed = [
    { path, name: 'a', lines: 100, reason: 'one table' },
    { path, name: 'b', lines: 85 },
    { path, name: 'gone', lines: 100 },
  ];
  assert.deepEqual(shrinkList(files, listed), [
    { path, name: 'a', lines: 90, reason: 'one table' },
    { path, name: 'b', lines: 85 },
  ]);
});

test('generated files and tables of data may be longer', () => {
  const text = functionOf(500);
  for (const free of ['packages/core/src/engines/x/generated.ts', 'packages/core/src/contract/job-fields.ts'])
    assert.deepEqual(findSizeProblems([{ path: free, text }], []), []);
});
