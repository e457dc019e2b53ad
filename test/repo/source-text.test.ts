import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, maskSource } from '../../scripts/source-text.ts';

test('comments, strings, templates and regular expressions are masked, code in templates is not', () => {
  const text = [
    'const a = "Date.now()"; // Date.now()',
    "/* Date.now() */ const b = /['`]Date.now()/.test(c);",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is tested.
    'const d = `Date.now() ${`x${e()}` + f({ g: 1 })} Date.now()`;',
    'const h = i / 2 / j;',
  ].join('\n');
  const masked = maskSource(text);
  assert.equal(masked.length, text.length);
  assert.doesNotMatch(masked, /Date/);
  for (const kept of ['e()', 'f({ g: 1 })', '.test(c)', 'i / 2 / j']) assert.ok(masked.includes(kept), kept);
});

test('a slash behind a condition or a block begins a regular expression, behind a value it divides', () => {
  const hidden = ["if (a(b)) /'/.test(c); hidden('", "{ d() } /'/.test(e); hidden('"];
  for (const text of hidden) assert.ok(maskSource(`${text}')`).endsWith("hidden('')"), text);
  const divisions = [
    "f++ / 2; g('x') / 3",
    "h! / 2; g('x') / 3",
    "(i) / 2; g('x') / 3",
    "j.of / 2; g('x') / 3",
  ];
  for (const text of divisions) assert.ok(maskSource(text).endsWith("g(' ') / 3"), text);
  assert.ok(maskSource('const k = <b {...l} />; m();').includes('m()'));
  assert.ok(maskSource('const n = (<b>{o && <i>p</i>}</b>);').includes('}'));
});

test('every way of referring to a module is found with its kind', () => {
  const text = [
    "import one, { type A } from './one.ts';",
    "import type { B } from './two.ts';",
    "import './three.ts';",
    "export { c } from './four.ts';",
    "export type { D } from './five.ts';",
    "export * from './six.ts';",
    "const e = await import('./seven.ts');",
    "new Worker(new URL('./eight.ts', import.meta.url));",
    "import {\n  f,\n  g,\n} from './nine.ts';",
    "// import './ten.ts';",
    'const h = "import \'./eleven.ts\'";',
    "import{i}from'./twelve.ts';",
    "import type from './thirteen.ts';",
    "const from = 'nothing'; export const x = from;",
    "import { 'odd name' as j } from './fourteen.ts';",
    "export { k as 'odd name' } from './fifteen.ts';",
    "import { größe } from './sixteen.ts';",
    "import { größe}from './seventeen.ts';",
    "export * as 'l m' from './eighteen.ts';",
    "declare module './nineteen.ts' {}",
    '/// <reference path="twenty.ts" />',
    "if (n) /'/.test(o); import './twenty-one.ts'; p('');",
    "import(('./twenty-two.ts'));",
    'new URL(`./twenty-three.ts`, import.meta.url);',
    "import type from from './twenty-four.ts';",
    "import type {} from'./twenty-five.ts'; export type { q }\nimport { r } from './twenty-six.ts';",
  ].join('\n');
  assert.deepEqual(
    importsOf(text).map(({ specifier, kind }) => `${specifier} ${kind}`),
    [
      './one.ts static',
      './two.ts type',
      './three.ts static',
      './four.ts static',
      './five.ts type',
      './six.ts static',
      './seven.ts dynamic',
      './eight.ts url',
      './nine.ts static',
      './twelve.ts static',
      './thirteen.ts static',
      './fourteen.ts static',
      './fifteen.ts static',
      './sixteen.ts static',
      './seventeen.ts static',
      './eighteen.ts static',
      './nineteen.ts type',
      './twenty.ts type',
      './twenty-one.ts static',
      './twenty-two.ts dynamic',
      './twenty-three.ts url',
      './twenty-four.ts type',
      './twenty-five.ts type',
      './twenty-six.ts static',
    ],
  );
});

test('what names a module at run time is computed', () => {
  const computed = [
    'import(a);',
    "import('./b' + '.ts');",
    "import(('./b') + '.ts');",
    "import('./b.ts' as string);",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is tested.
    'import(`./${c}.ts`);',
    "createRequire(d)('./e.ts');",
    "process.getBuiltinModule('module');",
    "import.meta.resolve('./f.ts');",
    'const { resolve } = import.meta;',
    'new URL(g, import.meta.url);',
    "import './\\x68.ts';",
  ];
  for (const text of computed)
    assert.deepEqual(importsOf(text), [{ specifier: text, kind: 'computed', line: 1 }]);
  assert.deepEqual(
    importsOf("new URL('https://example.com'); new URL(a, b); reimport(c); d.createRequires(e);"),
    [{ specifier: 'https://example.com', kind: 'url', line: 1 }],
  );
});
