// Adds a passive job field to a copy of the repository, with the edits that docs/internals/changing.md lists.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createLabelCopy, editedFiles, type LabelCopy, listedFiles } from './label-copy.ts';

let copy: LabelCopy;
before(async () => {
  copy = await createLabelCopy(listedFiles());
});
after(() => copy?.remove());

test('the page lists the six files that this test edits', () => {
  assert.deepEqual(listedFiles(), editedFiles);
  assert.equal(editedFiles.length, 6);
});

test('everything compiles with the field, sources and tests', async () => {
  await copy.node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.json');
});

test('the field is stored, claimed and read back as it came, in memory', async () => {
  const names = ['every field of a job is read back as it came', 'a claimed job carries what is needed'];
  const patterns = names.map((name) => `--test-name-pattern=${name}`);
  const output = await copy.node('--test', ...patterns, 'packages/core/test/engines/sqlite.test.ts');
  for (const name of names) assert.ok(output.includes(`✔ ${name}`), output);
});

test('the field is the same however a job was created and wherever it is read', async () => {
  const seen = JSON.parse(await copy.node('test/repo/fixtures/label-round-trip.ts'));
  assert.ok(Object.keys(seen).length > 20);
  for (const [how, label] of Object.entries(seen)) assert.equal(label, 'label of mail', how);
});

test('the field is described in the reference, in OpenAPI and in the types of the client', () => {
  const read = (file: string): string => readFileSync(join(copy.folder, file), 'utf8');
  assert.match(read('docs/reference/library.md'), /- `label` \(string \| null\): A word of its task\./);
  assert.match(read('docs/reference/http.md'), /\| `label` \| text or null \| A word of its task\. \|/);
  assert.match(
    read('packages/server/src/client/generated.ts'),
    /\/\*\* A word of its task\. \*\/\s+label: string/,
  );
});
