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
    ],
  );
});
