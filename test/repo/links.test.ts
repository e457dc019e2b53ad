import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md', 'examples/*/*.md', 'packages/*/*.md'], { cwd: root }).sort();
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** The text without code, in which brackets mean something else. */
function prose(text: string): string {
  return text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, (code) => '`'.repeat(code.length));
}

/** The names by which headings of a page can be linked to, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = read(page)
    .replace(/^```.*?^```$/gms, '')
    .matchAll(/^#+ (.+)$/gm);
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of headings) {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

/** What is wrong with the links of a page to files and headings of this repository. */
function findBroken(page: string): string[] {
  const links = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .flatMap((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : relative(root, join(root, dirname(page), path));
      if (!existsSync(join(root, target))) return [`${page}: ${link} leads nowhere`];
      if (anchor === undefined || statSync(join(root, target)).isDirectory()) return [];
      return anchorsOf(target).has(anchor) ? [] : [`${page}: ${link} names no heading`];
    });
}

test('every link between pages leads to a file, and to a heading of it', () => {
  assert.ok(pages.includes('README.md') && pages.length > 40, 'the pages were not found');
  assert.deepEqual(pages.flatMap(findBroken), []);
});

test('every guide and reference is in the list of contents, and every guide in the README', () => {
  const contents = read('docs/README.md');
  const missing = pages
    .filter((page) => /^docs\/(start|guides|reference|internals)\//.test(page))
    .filter((page) => !contents.includes(`(${page.slice('docs/'.length)})`));
  assert.deepEqual(missing, []);
  const front = read('README.md');
  const guides = pages.filter((page) => page.startsWith('docs/guides/'));
  assert.deepEqual(
    guides.filter((page) => !front.includes(`(${page})`)),
    [],
  );
});

test('every source file that the internals pages name exists', () => {
  const bases = [
    '',
    'packages/core/src',
    'packages/core/src/engines/sqlite',
    'packages/core/src/engines/postgres',
  ];
  const named = ['docs/internals/architecture.md', 'docs/internals/changing.md']
    .filter((page) => existsSync(join(root, page)))
    .flatMap((page) =>
      [...read(page).matchAll(/`([a-z][\w/.-]*\/[\w.-]+\.(?:ts|tsx|sql|md|txt))`/g)].map(([, path = '']) => ({
        page,
        path,
      })),
    );
  assert.ok(named.length > 20, 'no files were found in the pages');
  const missing = named.filter(({ path }) => !bases.some((base) => existsSync(join(root, base, path))));
  assert.deepEqual(missing, []);
});
