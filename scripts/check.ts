// `npm run check`: everything that can be said about the source without running it. All checks run, so that
// one pass shows every problem; the exit code is 1 if any failed.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findStaleAlertKinds } from './alert-kinds.ts';
import { findClockProblems } from './check-clock.ts';
import { findErrorProblems, readErrorDocument, registeredCodes } from './check-errors.ts';
import { findImportProblems } from './check-imports.ts';
import { findSizeProblems, readLongCode } from './check-sizes.ts';
import { findStaleGenerated, generateAll, readIfExists } from './embed-sql.ts';
import { findStaleHttp } from './http-api.ts';
import { findStaleJobLists } from './job-lists.ts';
import { findStaleLayerTables } from './layer-tables.ts';
import { findReleaseProblems } from './released-sql.ts';
import { readPackageSources, reportProblems, root } from './source-text.ts';

function run(title: string, script: string, args: string[]): boolean {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  console.log(`${title}: ${status === 0 ? 'ok' : 'failed'}`);
  return status === 0;
}

const sources = readPackageSources();
const results = [
  reportProblems('job fields', findStaleJobLists()),
  reportProblems('generated', findStaleGenerated(generateAll(), readIfExists)),
  reportProblems('released SQL', findReleaseProblems()),
  reportProblems('http', findStaleHttp()),
  reportProblems('alert kinds', findStaleAlertKinds()),
  reportProblems('layers', findStaleLayerTables()),
  reportProblems('imports', findImportProblems(sources)),
  reportProblems('clock', findClockProblems(sources)),
  reportProblems('sizes', findSizeProblems(sources, readLongCode())),
  reportProblems('errors', findErrorProblems(registeredCodes, readErrorDocument(), sources)),
  run('biome', 'node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']),
  run('types', 'node_modules/typescript/bin/tsc', ['--project', 'tsconfig.json']),
  run('types of the dashboard', 'node_modules/typescript/bin/tsc', [
    '--project',
    'packages/dashboard/tsconfig.json',
  ]),
];
process.exitCode = results.every(Boolean) ? 0 : 1;
