// `npm run prove`: the longer proofs, which are the test files that end in `.prove.test.ts`.
// `npm run prove -- <files>` runs only those files.

import { runTests } from './run-tests.ts';

process.exitCode = await runTests('prove', process.argv.slice(2));
