// The same copy as in job-field.test.ts: every chapter of the conformance suite passes on both engines.
import { after, before, test } from 'node:test';
import { createLabelCopy, type LabelCopy } from './label-copy.ts';

let copy: LabelCopy;
before(async () => {
  copy = await createLabelCopy();
});
after(() => copy?.remove());

test('SQLite conforms with a new passive field', async () => {
  await copy.node('--test', 'packages/core/test/engines/sqlite.test.ts');
});

test('PostgreSQL conforms with a new passive field', async () => {
  await copy.node('--test', 'packages/core/test/engines/postgres/conformance.test.ts');
});

test('a PostgreSQL store that holds jobs gets a new passive field', async () => {
  await copy.node('--test', 'packages/core/test/engines/postgres/migrate.test.ts');
});

test('the dashboard compiles with a new passive field', async () => {
  await copy.node('node_modules/typescript/bin/tsc', '--project', 'packages/dashboard/tsconfig.json');
});
