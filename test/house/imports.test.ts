import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findImportProblems } from '../../scripts/check-imports.ts';
import { readPackageSources } from '../../scripts/source-text.ts';

function messagesFor(files: Record<string, string>): string[] {
  return findImportProblems(Object.entries(files).map(([path, text]) => ({ path, text }))).map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

const core = 'packages/core/src';

test('the packages have no import problem', () => {
  assert.deepEqual(findImportProblems(readPackageSources()), []);
});

test('an import into an engine from outside is found, and through the door it is not', () => {
  const [message, ...others] = messagesFor({
    [`${core}/worker.ts`]:
      "import { a } from './engines/sqlite/engine.ts'; import { o } from './engines/open.ts';",
    [`${core}/engines/open.ts`]: "import { a } from './sqlite/engine.ts';",
    [`${core}/engines/sqlite/engine.ts`]:
      "import type { Engine } from '../../engine.ts'; export const a = 1;",
    [`${core}/engine.ts`]: '',
  });
  assert.match(message ?? '', /worker\.ts: .*inside an engine/);
  assert.deepEqual(others, []);
});

test('a type import into an engine, a dynamic one and a thread entry are found too', () => {
  const engine = { [`${core}/engines/sqlite/engine.ts`]: '' };
  for (const text of [
    "import type { A } from './engines/sqlite/engine.ts';",
    "await import('./engines/sqlite/engine.ts');",
    "new Worker(new URL('./engines/sqlite/engine.ts', import.meta.url));",
  ]) {
    assert.match(messagesFor({ ...engine, [`${core}/a.ts`]: text })[0] ?? '', /inside an engine/, text);
  }
});

test('an engine that imports a sibling or the door is found', () => {
  const messages = messagesFor({
    [`${core}/engines/open.ts`]: '',
    [`${core}/engines/sqlite/rows.ts`]: '',
    [`${core}/engines/postgres/a.ts`]: "import '../sqlite/rows.ts';\nimport '../open.ts';",
  });
  assert.equal(messages.length, 2);
  assert.match(messages[0] ?? '', /sibling/);
  assert.match(messages[1] ?? '', /must not know engines\/open\.ts/);
});

test('a cycle is found with its path, and a cycle of types alone is allowed', () => {
  const [message, ...others] = messagesFor({
    [`${core}/a.ts`]: "import './b.ts';",
    [`${core}/b.ts`]: "export { c } from './c.ts';",
    [`${core}/c.ts`]: "await import('./a.ts');",
  });
  assert.match(message ?? '', /a\.ts → .*b\.ts → .*c\.ts → .*a\.ts/);
  assert.deepEqual(others, []);
  assert.deepEqual(
    messagesFor({
      [`${core}/a.ts`]: "import type { B } from './b.ts';",
      [`${core}/b.ts`]: "import { a } from './a.ts';",
    }),
    [],
  );
});

test('a package imported statically by core is found, a lazy one is not', () => {
  assert.match(
    messagesFor({ [`${core}/a.ts`]: "import type { Pool } from 'pg';" })[0] ?? '',
    /no dependencies/,
  );
  assert.deepEqual(messagesFor({ [`${core}/a.ts`]: "await import('pg'); import 'node:fs';" }), []);
});

test('a path into another package and a missing file are found', () => {
  assert.match(
    messagesFor({ 'packages/duly/src/a.ts': "import '../../core/src/b.ts';", [`${core}/b.ts`]: '' })[0] ?? '',
    /another package/,
  );
  assert.match(messagesFor({ [`${core}/a.ts`]: "import './gone.ts';" })[0] ?? '', /does not exist/);
});
