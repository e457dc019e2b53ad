// Runs test files with one PostgreSQL server for all of them, for `npm test` and `npm run prove`.

import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { seedStartVariable } from '../proof/simulation/commit-seeds.ts';
import { propertySeed, seedSource } from '../test/property.ts';
import { type PostgresServer, sharedServerVariable, startPostgres } from '../test/servers/postgres.ts';
import { buildDashboard } from './build-dashboard.ts';
import { cpuSeconds } from './cpu-time.ts';
import { costListVariable, type FileCost } from './record-cost.ts';
import { root } from './source-text.ts';

/** The two commands that run tests. */
export type TestCommand = 'test' | 'prove';

const patterns = [
  'packages/*/test/**/*.test.ts',
  'test/**/*.test.ts',
  'proof/**/*.test.ts',
  'examples/**/*.test.ts',
];
const proofSuffix = '.prove.test.ts';

/** The CPU time in seconds that each command may take: two cores for 6 minutes, and for 18 minutes. */
const budgets: Record<TestCommand, number> = { test: 12 * 60, prove: 36 * 60 };
const strictVariable = 'DULY_STRICT_BUDGET';
const shownCount = 10;

/** The test files of a command: `prove` has those that end in `.prove.test.ts`, `test` the others. */
export function listTestFiles(command: TestCommand): string[] {
  const isInstalled = (name: string): boolean => name === 'node_modules';
  const files = globSync(patterns, { cwd: root, exclude: isInstalled })
    .filter((file) => file.endsWith(proofSuffix) === (command === 'prove'))
    .sort();
  // Proofs with real processes wait for minutes. They start first, so that other files use the cores meanwhile.
  const isLong = (file: string): boolean => file.startsWith('proof/');
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))];
}

/** Runs the files of a command, or only those that are named, and resolves with whether all passed. */
export async function runTests(command: TestCommand, named: readonly string[]): Promise<boolean> {
  const files = named.length > 0 ? [...named] : listTestFiles(command);
  // The server's tests fetch the dashboard as a browser does.
  buildDashboard();
  const isShared = named.length === 0 || named.some((file) => file.includes('postgres'));
  const server = isShared ? await startShared() : null;
  const folder = mkdtempSync(join(tmpdir(), 'duly-test-costs-'));
  const costs = join(folder, 'costs');
  // The processes of the test files inherit these.
  if (server !== null) process.env[sharedServerVariable] = server.url;
  process.env[costListVariable] = costs;
  // Most tests start processes or threads that load the same source. Compiling it once halves their time.
  process.env['NODE_COMPILE_CACHE'] = join(root, 'node_modules/.cache/compiled');
  console.log(
    `Property tests and fuzzers use seed ${propertySeed}, from ${seedSource}. Repeat: ${seedStartVariable}=${propertySeed}`,
  );
  try {
    const isPassed = await runFiles(files);
    if (files.length > 1) printCosts(costs);
    return isPassed;
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runFiles(files: string[]): Promise<boolean> {
  const events = run({
    files,
    cwd: root,
    // Three at a time on two cores, because the longest tests wait more than they compute.
    concurrency: 3,
    // No test takes ten minutes; without a timeout, a test that hangs would hang the run.
    timeout: 600_000,
    execArgv: ['--require', join(root, 'scripts/record-cost.ts')],
  });
  let isPassed = false;
  // A summary without a file is that of the whole run.
  events.on('test:summary', ({ file, success }) => {
    if (file === undefined) isPassed = success;
  });
  const output = events.compose(spec);
  output.pipe(process.stdout);
  await once(output, 'end');
  return isPassed;
}

function printCosts(list: string): void {
  const lines = readFileSync(list, 'utf8').trim().split('\n');
  const costs = lines.map((line): FileCost => JSON.parse(line));
  const priceOf = ({ cpu, elapsed }: FileCost): number => cpu ?? elapsed;
  costs.sort((a, b) => priceOf(b) - priceOf(a));
  console.log(
    '\nThe most expensive files (CPU time without that of the shared PostgreSQL server, elapsed time):',
  );
  for (const { file, cpu, elapsed } of costs.slice(0, shownCount)) {
    const shownCpu = cpu === null ? 'unknown' : `${cpu.toFixed(1)} s`;
    console.log(`${shownCpu.padStart(8)} ${`${elapsed.toFixed(1)} s`.padStart(8)}  ${relative(root, file)}`);
  }
}

/**
 * Prints what the whole command has cost so far, and returns whether that is a success. A command that is over its budget
 * fails only where DULY_STRICT_BUDGET=1 is set, because a slow machine is not a fault of the tests.
 */
export function isAffordable(
  command: TestCommand,
  cpu = cpuSeconds(),
  isStrict = process.env[strictVariable] === '1',
): boolean {
  const elapsed = `${Math.round(process.uptime())} s elapsed`;
  if (cpu === null) {
    console.log(`\nTotal: ${elapsed}. This system does not report the CPU time of child processes.`);
    return true;
  }
  const budget = budgets[command];
  console.log(
    `\nTotal: ${Math.round(cpu)} s of CPU time, ${elapsed}. The budget is ${budget} s of CPU time.`,
  );
  if (cpu <= budget) return true;
  const advice = command === 'test' ? ' Make tests cheaper, or move some to `npm run prove`.' : '';
  console.error(`The tests took more CPU time than their budget.${advice}`);
  if (!isStrict) console.error(`This fails only where ${strictVariable}=1 is set.`);
  return !isStrict;
}

/** One PostgreSQL server for the run. If it cannot start, the tests that need it say what to install. */
async function startShared(): Promise<PostgresServer | null> {
  if (process.env[sharedServerVariable] !== undefined) return null;
  try {
    return await startPostgres();
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}
