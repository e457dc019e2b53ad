// Which files `npm test` and `npm run prove` are asked to run. What is no test file is refused: Node's runner would run it
// as one that passes, take an option for its own, or end with a stack.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TestCommand } from './run-tests.ts';
import { root } from './source-text.ts';

const usages: Record<TestCommand, string> = {
  test: `Usage: npm test                 the checks, and all test files but those that end in .prove.test.ts
       npm test -- <file> ...   only these test files, without the checks`,
  prove: `Usage: npm run prove                 all test files that end in .prove.test.ts
       npm run prove -- <file> ...   only these test files`,
};

/** Why something cannot be run as a test file, in a sentence; null: it can. */
export function whyNotTestFile(name: string): string | null {
  if (name.startsWith('-')) return `Expected paths of test files, got the option "${name}".`;
  const stats = statSync(resolve(root, name), { throwIfNoEntry: false });
  if (stats === undefined)
    return `Expected a test file, got "${name}": there is no such file. Paths are from ${root}.`;
  if (stats.isDirectory())
    return `Expected a test file, got the folder "${name}". Name its files one by one.`;
  return name.endsWith('.test.ts')
    ? null
    : `Expected a test file, whose name ends in .test.ts, got "${name}".`;
}

/** The files that are named in this process's arguments; none: the command runs all of its own. */
export function readNamedFiles(command: TestCommand): string[] {
  const names = process.argv.slice(2);
  if (names.includes('--help') || names.includes('-h')) {
    console.log(usages[command]);
    process.exit(0);
  }
  for (const name of names) {
    const reason = whyNotTestFile(name);
    if (reason === null) continue;
    console.error(`${reason}\n${usages[command]}`);
    process.exit(2);
  }
  return names;
}
