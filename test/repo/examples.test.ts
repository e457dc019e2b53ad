import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'examples');
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'main.ts')));

/** Text without what a page may change: how far it is indented, and where lines are broken. */
function bare(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/([([{]) | ([)\]}])/g, '$1$2')
    .replace(/,(?=[)\]}])/g, '')
    .trim();
}

for (const name of names) {
  test(`the example "${name}" has its test and its page, which shows what is in the source`, () => {
    const files = readdirSync(join(folder, name));
    assert.ok(
      files.some((file) => file.endsWith('.test.ts')),
      'it has no test',
    );
    const source = files
      .filter((file) => file.endsWith('.ts'))
      .map((file) => bare(readFileSync(join(folder, name, file), 'utf8')));
    const page = readFileSync(join(root, `docs/examples/${name}.md`), 'utf8');
    assert.match(page, new RegExp(`npm run example -- ${name}`));
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code as string);
    assert.ok(blocks.length > 0, 'the page shows no code');
    for (const block of blocks) {
      assert.ok(
        source.some((text) => text.includes(bare(block).replace(/,$/, ''))),
        `this is not in the source:\n${block}`,
      );
    }
    assert.match(
      readFileSync(join(root, 'docs/examples/README.md'), 'utf8'),
      new RegExp(`\\(${name}\\.md\\)`),
    );
  });

  test(`the example "${name}" runs to its end`, async () => {
    const args = ['--disable-warning=ExperimentalWarning', join(folder, name, 'main.ts')];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
    assert.equal(stderr, '');
    assert.ok(stdout.trim().split('\n').length >= 2, 'it says nothing');
  });
}
