// `npm run chaos -- --engine sqlite --minutes 5 --seed 7`: real processes, real faults. The exit code is 1 if anything was violated, 2 if the
// machine was too busy to tell.
import { constants } from 'node:os';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import { readArguments } from '../arguments.ts';
import { NoSuchFault, runChaos } from './chaos.ts';
import { mutations } from './engines/postgres/mutations.ts';
import { tryMutations } from './engines/postgres/try-mutations.ts';
import { grounds } from './grounds.ts';
import { chaosExitCodes, reportText, verdictOf } from './report.ts';

const usage = `Usage: npm run chaos -- [--engine sqlite|postgres] [--minutes <minutes>] [--seed <seed>] [--pooler] [--only <faults>] [--mutations] [--quiet]

  --minutes    how long faults are created; each is created at least once, however few the minutes (all of them take some minutes)
  --only       a regular expression: only the faults (with --mutations: the defects) whose names match it
  --pooler     PostgreSQL only: PgBouncer stands between
  --mutations  PostgreSQL only: puts defects into the store, and says which invariants find them`;

const { values, number, refuse } = readArguments(usage, {
  engine: { type: 'string', default: 'sqlite' },
  minutes: { type: 'string' },
  seed: { type: 'string' },
  pooler: { type: 'boolean', default: false },
  only: { type: 'string' },
  mutations: { type: 'boolean', default: false },
  quiet: { type: 'boolean', default: false },
});
const minutes = number('minutes', { fallback: 1, isFraction: true });
const seed = number('seed', { fallback: systemClock.now() % 1_000_000, min: 0 });
const ground =
  grounds[values.engine] ??
  refuse(`Expected --engine ${Object.keys(grounds).join(' or ')}, got "${values.engine}".`);
if (values.pooler && values.engine !== 'postgres') refuse('Only --engine postgres has a pooler.');
const only = values.only === undefined ? undefined : readPattern(values.only);
if (values.mutations) {
  if (values.engine !== 'postgres') refuse('Only --engine postgres has defects to be put into it.');
  const names = mutations.map(({ name }) => name);
  if (only !== undefined && !names.some((name) => only.test(name)))
    refuse(
      `Expected --only to match at least one defect, got "${only.source}". The defects are:\n${names.map((name) => `  ${name}`).join('\n')}`,
    );
  process.exit((await tryMutations({ minutes, seed, only })) ? 0 : 1);
}
const sinceElapsed = systemClock.elapsed();
// Its processes, its servers and its small file system would outlive it.
const interruption = new AbortController();
let interruptedBy: 'SIGINT' | 'SIGTERM' | null = null;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interruptedBy = signal;
    interruption.abort(new Error(`Ended by ${signal}.`));
  });
const report = await runChaos({
  minutes,
  seed,
  ...(only === undefined ? {} : { only }),
  signal: interruption.signal,
  ground: (options) => ground({ ...options, hasPooler: values.pooler }),
  begin: () => console.log(`Chaos on ${values.engine}, ${minutes} min, seed ${seed}.`),
  say(line) {
    if (values.quiet) return;
    console.log(`${((systemClock.elapsed() - sinceElapsed) / 1000).toFixed(1).padStart(7)} s  ${line}`);
  },
}).catch((error: Error): never => {
  if (error instanceof NoSuchFault) return refuse(error.message);
  if (interruptedBy === null) throw error;
  console.error(`${error.message} Everything that it had created is ended and removed.`);
  process.exit(128 + constants.signals[interruptedBy]);
});
console.log(`\n${reportText(report)}`);
process.exitCode = chaosExitCodes[verdictOf(report)];

function readPattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    return refuse(`Expected --only to be a regular expression. ${(error as Error).message}.`);
  }
}
