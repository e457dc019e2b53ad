#!/usr/bin/env node
import module from 'node:module';
import { quietSqliteWarning } from './sqlite-warning.ts';

// The second start takes half as long: compiled code is kept in the system's folder for temporary files.
module.enableCompileCache?.();
quietSqliteWarning();

const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
