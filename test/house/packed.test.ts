// What would be published, installed as a stranger would: no workspace, no source, no driver.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/source-text.ts';

const program = `
import { Duly, readSchemaStatus } from '@duly/core';
import { createTestDuly } from '@duly/core/testing';
import { openSqliteEngine } from '@duly/core/sqlite';

const duly = new Duly({ store: 'sqlite:./duly.db' });
const hello = duly.task({ name: 'hello', run: ({ input }) => 'Hello ' + input });
const loud = duly.task({ name: 'loud', isolate: true, run: ({ input }) => input.toUpperCase() });
await duly.start();
const results = [await (await hello.now('Ada')).result(), await (await loud.now('ada')).result()];
await duly.stop();

const t = createTestDuly();
const later = t.task({ name: 'later', run: () => 'on virtual time' });
await later.in('400 days', null);
const ran = await t.advance('401 days');
// No driver is installed here: whoever asks for PostgreSQL is told what to install.
const { code, hint } = await readSchemaStatus('postgres://localhost/none').catch((error) => error);
console.log(JSON.stringify({ driver: [code, hint], results, ran: ran.map(({ result }) => result), engine: typeof openSqliteEngine }));
await t.stop();
`;

test('the packed library installs alone and runs: a thread for the store, a thread for an isolated task, virtual time', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-packed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const run = (command: string, args: string[], cwd: string) =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  run(process.execPath, [join(root, 'scripts/build.ts')], root);
  run('npm', ['pack', '--pack-destination', folder, join(root, 'packages/core/dist')], folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) as string;
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'stranger', private: true, type: 'module' }),
  );
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], folder);
  writeFileSync(join(folder, 'program.js'), program);
  const output = run(process.execPath, ['program.js'], folder);
  assert.deepEqual(JSON.parse(output), {
    driver: ['driver_missing', 'Run: npm install pg'],
    results: ['Hello Ada', 'ADA'],
    ran: ['on virtual time'],
    engine: 'function',
  });
});
