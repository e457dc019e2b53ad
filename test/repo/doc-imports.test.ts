// Documentation and examples import Duly as users install it: from `duly` and its entry points.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { test } from 'node:test';
import { entryPoints } from '../../scripts/public-api.ts';
import { listFiles, root } from '../../scripts/source-text.ts';

const folders = ['docs', 'examples', 'docker'];
const pages = ['README.md', 'packages/duly/README.md', 'packages/server/README.md'];
/** Pages for contributors, who work on the packages themselves. */
const internal = ['docs/internals/', 'docs/decisions/'];
/** The only section that explains `@duly/core`. */
const libraryAlone = { page: 'docs/start/README.md', heading: '## The library alone' };

/** The files that users read, without the section of the start page about the library alone. */
function userFiles(): { path: string; text: string }[] {
  const found = folders
    .flatMap((folder) => listFiles(join(root, folder)))
    .map((file) => relative(root, file).split(sep).join('/'))
    .filter((path) => /\.(md|ts|yaml)$|Dockerfile$/.test(path) && !path.includes('node_modules'))
    .filter((path) => !internal.some((folder) => path.startsWith(folder)));
  return [...pages, ...found].map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    if (path !== libraryAlone.page) return { path, text };
    const [before, section, ...after] = text.split(/^(?=## )/m).reduce<string[]>(
      (parts, part) => {
        if (part.startsWith(libraryAlone.heading)) parts.push(part, '');
        else parts[parts.length - 1] += part;
        return parts;
      },
      [''],
    );
    assert.match(section ?? '', /@duly\/core/, 'the start page has a section about the library alone');
    return { path, text: [before, ...after].join('') };
  });
}

test('documentation and examples import only the entry points of "duly"', () => {
  const known = entryPoints()
    .map(({ specifier }) => specifier)
    .filter((specifier) => /^duly(\/|$)/.test(specifier));
  assert.deepEqual(known, ['duly', 'duly/testing', 'duly/server', 'duly/client']);
  const wrong = userFiles().flatMap(({ path, text }) =>
    [...text.matchAll(/\b(?:from|import)\s*\(?'((?:@duly|duly)(?:\/[\w/-]+)?)'/g)]
      .map(([, specifier]) => specifier as string)
      .filter((specifier) => !known.includes(specifier))
      .map((specifier) => `${path}: ${specifier}`),
  );
  assert.deepEqual(wrong, []);
});

test('no other text for users names the packages behind "duly"', () => {
  const named = userFiles().flatMap(({ path, text }) =>
    [...text.matchAll(/@duly\/[\w/-]+/g)].map(([name]) => `${path}: ${name}`),
  );
  // The page of a package in the registry has its name as a heading.
  assert.deepEqual(named, ['packages/server/README.md: @duly/server']);
});
