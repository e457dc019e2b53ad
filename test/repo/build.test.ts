import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishedManifest, rewriteUrlExtensions, withSources } from '../../scripts/build.ts';

test('the published package.json points at emitted files and holds nothing of the repository', () => {
  assert.deepEqual(
    publishedManifest({
      name: 'a',
      scripts: { x: 'y' },
      devDependencies: { z: '1' },
      bin: { a: './src/bin.ts' },
      exports: { '.': './src/index.ts', './package.json': './package.json' },
    }),
    {
      name: 'a',
      bin: { a: './lib/bin.js' },
      exports: {
        '.': { types: './lib/index.d.ts', default: './lib/index.js' },
        './package.json': './package.json',
      },
      files: ['lib', 'dashboard', 'CHANGELOG.md'],
    },
  );
});

test("a thread's entry is renamed with its file, other URLs are not", () => {
  assert.equal(
    rewriteUrlExtensions(
      "new URL('./thread.ts', import.meta.url); new URL('../package.json'); // new URL('./a.ts')",
    ),
    "new URL('./thread.js', import.meta.url); new URL('../package.json'); // new URL('./a.ts')",
  );
});

test('a source map carries its sources, which are not published', () => {
  const map = JSON.stringify({ version: 3, sources: ['../../src/a.ts'], mappings: '' });
  const read = (source: string): string => `read from ${source}`;
  assert.deepEqual(JSON.parse(withSources(map, read)), {
    version: 3,
    sources: ['src/a.ts'],
    mappings: '',
    sourcesContent: ['read from ../../src/a.ts'],
  });
  assert.equal(withSources(withSources(map, read), read), withSources(map, read));
});
