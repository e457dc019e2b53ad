// Adds two passive job fields to a copy of the repository, with the edits of docs/internals/changing.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createLabelCopy, editedFiles, type LabelCopy, listedFiles, longName } from './label-copy.ts';

let copy: LabelCopy;
before(async () => {
  copy = await createLabelCopy(listedFiles());
});
after(() => copy?.remove());

test('the page lists the six files that this test edits', () => {
  assert.deepEqual(listedFiles(), editedFiles);
  assert.equal(editedFiles.length, 6);
});

test('what was generated is up to date after formatting', async () => {
  await copy.node('node_modules/@biomejs/biome/bin/biome', 'format', '--write', 'packages', 'test');
  assert.deepEqual(JSON.parse(await copy.node('test/repo/fixtures/stale.ts')), []);
});

test('everything compiles with the fields, sources and tests', async () => {
  await copy.node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.json');
});

test('the fields are stored, claimed and read back as they came, in memory', async () => {
  const names = ['every field of a job is read back as it came', 'a claimed job carries what is needed'];
  const patterns = names.map((name) => `--test-name-pattern=${name}`);
  const output = await copy.node('--test', ...patterns, 'packages/core/test/engines/sqlite.test.ts');
  for (const name of names) assert.ok(output.includes(`✔ ${name}`), output);
});

test('the fields are the same however a job was created and wherever it is read', async () => {
  const seen = JSON.parse(await copy.node('test/repo/fixtures/label-round-trip.ts', longName));
  assert.ok(Object.keys(seen).length > 20);
  for (const [how, values] of Object.entries(seen))
    assert.equal(values, 'label of mail 2001-09-09T01:46:40.000Z', how);
});

test('the server shows the fields', async () => {
  const output = await copy.node('--test', 'packages/server/test/jobs.test.ts');
  assert.match(output, /✔ a job is created and shown with all its fields/);
});

test('the field is described in the reference, in OpenAPI and in the types of the client', () => {
  const read = (file: string): string => readFileSync(join(copy.folder, file), 'utf8');
  assert.match(read('docs/reference/library.md'), /- `label` \(string \| null\): A word of its task\./);
  assert.match(read('packages/dashboard/src/pages/job.tsx'), /<Instant at=\{job\.label_read_/);
  assert.match(read('docs/reference/http.md'), /\| `label` \| text or null \| A word of its task\. \|/);
  assert.match(
    read('packages/server/src/client/generated.ts'),
    /\/\*\* A word of its task\. \*\/\s+label: string/,
  );
});
