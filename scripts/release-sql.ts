// Records the SQL of a release, as it is now:
//
//   sql/released.json of each engine                  all steps of the schema, and the open function set
//   packages/core/test/engines/postgres/baseline      the program of the upgrade test, bundled with the engine of the
//                                                     release. sql.js is the schema and the function set of its stores

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { generateAll, readFunctions, readSqlFolder } from './embed-sql.ts';
import {
  findReleaseProblems,
  type ReleasedSql,
  readReleased,
  releasedFile,
  sha256,
  sqlFolders,
} from './released-sql.ts';
import { reportProblems, root } from './source-text.ts';

const tests = join(root, 'packages/core/test/engines/postgres');
const baseline = join(tests, 'baseline');

const config = `
export default {
  input: ${JSON.stringify(join(tests, 'fixtures/upgrade-node.ts'))},
  platform: 'node',
  external: ['pg'],
  checks: { ineffectiveDynamicImport: false },
  output: {
    dir: ${JSON.stringify(baseline)},
    format: 'esm',
    entryFileNames: 'node.js',
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'sql', test: /postgres.generated\\.ts$/ }] },
  },
};
`;

function recordRelease(): void {
  for (const folder of sqlFolders()) {
    const { functionSets } = readReleased(folder);
    const { functions } = readSqlFolder(folder);
    const hash = sha256(readFunctions(functions));
    const files = readdirSync(join(folder, 'schema')).sort();
    const released: ReleasedSql = {
      schema: Object.fromEntries(
        files.map((file) => [file, sha256(readFileSync(join(folder, 'schema', file), 'utf8'))]),
      ),
      functionSets:
        functions.length === 0 || functionSets.at(-1) === hash ? functionSets : [...functionSets, hash],
    };
    write(join(folder, releasedFile), `${JSON.stringify(released, null, 2)}\n`);
  }
}

function bundleBaseline(): void {
  const folder = mkdtempSync(join(tmpdir(), 'duly-baseline-'));
  try {
    const path = join(folder, 'rolldown.config.mjs');
    writeFileSync(path, config);
    rmSync(baseline, { recursive: true, force: true });
    // It comes with Vite, which builds the dashboard.
    const program = join(root, 'node_modules/rolldown/bin/cli.mjs');
    const { status } = spawnSync(process.execPath, [program, '-c', path], { cwd: root, stdio: 'inherit' });
    if (status !== 0) throw new Error('The engine could not be bundled.');
    for (const file of readdirSync(baseline)) {
      const built = join(baseline, file);
      write(built, `// Made by node scripts/release-sql.ts. Do not edit.\n${readFileSync(built, 'utf8')}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function write(path: string, text: string): void {
  writeFileSync(path, text);
  console.log(`wrote ${relative(root, path)}`);
}

if (import.meta.main) {
  if (reportProblems('released SQL', findReleaseProblems())) {
    recordRelease();
    // They say that their function set is released.
    for (const { path, text } of generateAll()) write(path, text);
    bundleBaseline();
  } else process.exitCode = 1;
}
