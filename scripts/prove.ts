// `npm run prove`: the longer proofs, which are the test files that end in `.prove.test.ts`.
// `npm run prove -- <files>` runs only those files.

import { readNamedFiles } from './named-files.ts';
import { isAffordable, runTests } from './run-tests.ts';

const files = readNamedFiles('prove');
const isPassed = await runTests('prove', files);
const isCheap = files.length > 0 || isAffordable('prove');
process.exitCode = isPassed && isCheap ? 0 : 1;
