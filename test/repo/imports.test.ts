import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { findImportProblems, layers } from '../../scripts/check-imports.ts';
import { findStaleLayerTables, rewriteLayerTables } from '../../scripts/layer-tables.ts';
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

test('an import that the layers do not allow is found, with both paths and what is allowed', () => {
  const files = {
    [`${core}/jobs/wait.ts`]: '',
    [`${core}/store/feed.ts`]: "import type { Wait } from '../jobs/wait.ts';",
    [`${core}/jobs/jobs.ts`]: "import { feed } from '../store/feed.ts';",
  };
  assert.deepEqual(messagesFor(files), [
    `${core}/store/feed.ts: store must not import jobs: "${core}/jobs/wait.ts". It may import base, contract, lifecycle, schedules/calendar, engines/shared.`,
  ]);
});

test('the longest folder of a path decides, and a folder without a layer is found', () => {
  const files = {
    [`${core}/schedules/calendar/rule.ts`]: "import { plan } from '../planner/plan.ts';",
    [`${core}/schedules/planner/plan.ts`]: '',
    [`${core}/schedules/schedules.ts`]: "import { plan } from './planner/plan.ts';",
    [`${core}/odd/odd.ts`]: "import { plan } from '../schedules/planner/plan.ts';",
  };
  const [calendar, odd, ...others] = messagesFor(files);
  assert.match(calendar ?? '', /schedules\/calendar must not import schedules\/planner/);
  assert.match(odd ?? '', /is in no layer/);
  assert.deepEqual(others, []);
});

test('the top of core must not import testing, and holds few files', () => {
  assert.deepEqual(
    messagesFor({
      [`${core}/testing/index.ts`]: "import '../duly.ts';",
      [`${core}/duly.ts`]: "import type { TestDuly } from './testing/index.ts';",
    }),
    [`${core}/duly.ts: the top of core must not import testing: "${core}/testing/index.ts".`],
  );
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${core}/file-${n}.ts`, '']));
  assert.deepEqual(messagesFor(files), [
    `${core}/: 9 files at the top of core, of at most 8: move one into a folder.`,
  ]);
});

test('a specifier that hides a source file is found', () => {
  const files = {
    [`${core}/jobs/wait.ts`]:
      "import type { Engine } from '../engines/sqlite/engine.js';\nawait import('../operations/health');",
  };
  assert.deepEqual(messagesFor(files), [
    `${core}/jobs/wait.ts: "../engines/sqlite/engine.js" is not a source file: end it in ".ts" or ".tsx".`,
    `${core}/jobs/wait.ts: "../operations/health" is not a source file: end it in ".ts" or ".tsx".`,
  ]);
});

test('the page on the architecture has a row for each layer', () => {
  const page = readFileSync(new URL('../../docs/internals/architecture.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const missing = Object.keys(layers).filter((folder) => !rows.some((row) => row.includes(`\`${folder}/\``)));
  assert.deepEqual(missing, []);
});

test('the page on the architecture says what each layer and each package may import', () => {
  assert.deepEqual(findStaleLayerTables(), []);
  const [stale, kept] = ['| `jobs/` | x | nothing |', '| `odd/` | x | nothing |'];
  assert.equal(rewriteLayerTables(stale), '| `jobs/` | x | the rows up to calendar, store |');
  assert.equal(rewriteLayerTables(kept), kept);
});

test('an engine is loaded by the files that open it only, and only by import()', () => {
  const files = {
    [`${core}/engines/sqlite/engine.ts`]: "import '../postgres/engine.ts';",
    [`${core}/engines/postgres/engine.ts`]: '',
    [`${core}/store/open-engine.ts`]: "await import('../engines/sqlite/engine.ts');",
    [`${core}/store/examine.ts`]: "import { examine } from '../engines/sqlite/engine.ts';",
    [`${core}/store/feed.ts`]: "await import('../engines/sqlite/engine.ts');",
    [`${core}/duly.ts`]: "new Worker(new URL('./engines/sqlite/engine.ts', import.meta.url));",
  };
  const found = messagesFor(files).map((message) => message.split(':')[0]);
  const wrong = ['engines/sqlite/engine.ts', 'store/examine.ts', 'store/feed.ts', 'duly.ts'];
  assert.deepEqual(
    found,
    wrong.map((path) => `${core}/${path}`),
  );
});

test('a package imports only the entry points that its row lists', () => {
  const files = {
    'packages/server/src/a.ts':
      "import { Duly } from '@duly/core'; import { openEngine } from '@duly/core/internal';\nimport 'duly';",
    'packages/core/src/base/b.ts': "await import('@duly/server');",
    'packages/dashboard/src/c.ts':
      "import type { Why } from '@duly/server/client';\nimport { createClient } from '@duly/server/client';",
  };
  assert.deepEqual(
    messagesFor(files).map((message) => message.replace(/\. It may .*/, '')),
    [
      'packages/server/src/a.ts: packages/server must not import "duly"',
      'packages/core/src/base/b.ts: packages/core must not import "@duly/server"',
      'packages/dashboard/src/c.ts: packages/dashboard must not import "@duly/server/client"',
    ],
  );
});

test('no two layers import each other, and each imports only what is above it in the table', () => {
  const order = Object.keys(layers);
  for (const [folder, allowed] of Object.entries(layers)) {
    for (const other of allowed)
      assert.ok(
        order.indexOf(other) < order.indexOf(folder),
        `${folder} imports ${other}, which is below it`,
      );
  }
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

test('a cycle of folders is found, also of types, and an engine with its folders is one', () => {
  const [message, ...others] = messagesFor({
    [`${core}/worker/a.ts`]: "import type { B } from './inner/b.ts';",
    [`${core}/worker/inner/b.ts`]: "import type { C } from '../c.ts';",
    [`${core}/worker/c.ts`]: '',
  });
  assert.match(message ?? '', /b\.ts: cycle of folders: .*\/worker → .*\/worker\/inner → .*\/worker\.$/);
  assert.deepEqual(others, []);
  const engine = {
    [`${core}/engines/sqlite/engine.ts`]: "import { claim } from './verbs/claim.ts';",
    [`${core}/engines/sqlite/verbs/claim.ts`]: "import type { Work } from '../work.ts';",
    [`${core}/engines/sqlite/work.ts`]: '',
  };
  assert.deepEqual(messagesFor(engine), []);
});

test('of an engine, only the files that put its verbs together import them', () => {
  assert.deepEqual(
    messagesFor({
      [`${core}/engines/sqlite/user-transaction.ts`]: "import './verbs/claim.ts';",
      [`${core}/engines/sqlite/migrate.ts`]: "import './verbs/claim.ts';",
      [`${core}/engines/sqlite/verbs/claim.ts`]: "import './list.ts';",
      [`${core}/engines/sqlite/verbs/list.ts`]: '',
    }),
    [
      `${core}/engines/sqlite/migrate.ts: only engine.ts and user-transaction.ts of an engine import its verbs: "${core}/engines/sqlite/verbs/claim.ts".`,
    ],
  );
});

test('core names modules by literals, except where only run time knows them', () => {
  const text = "import(name); import.meta.resolve('./b.ts');\ncreateRequire(import.meta.url)('pg');";
  const found = messagesFor({
    [`${core}/jobs/a.ts`]: text,
    [`${core}/engines/postgres/driver.ts`]: text,
    'packages/duly/src/a.ts': text,
  });
  assert.deepEqual(found.length, 2);
  assert.ok(found.every((message) => message.startsWith(`${core}/jobs/a.ts: `) && /hides/.test(message)));
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
