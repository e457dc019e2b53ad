#!/usr/bin/env node
import module from 'node:module';
import { refuseOldNode } from './cli/node-version.ts';
import { quietSqliteWarning } from './cli/sqlite-warning.ts';

const refusal = refuseOldNode(process.versions.node, process.execPath);
if (refusal === null) {
  // The second start takes half as long: compiled code is kept in the system's folder for temporary files.
  module.enableCompileCache?.();
  quietSqliteWarning();

  const { main } = await import('./main.ts');
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write(refusal);
  process.exitCode = 1;
}
