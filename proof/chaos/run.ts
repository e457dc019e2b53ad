// `npm run chaos -- --engine sqlite --minutes 5 --seed 7`: real processes, real faults. The exit code is 1 if anything was violated.
import { systemClock } from '../../packages/core/src/clock.ts';
import { readArguments } from '../arguments.ts';
import { runChaos } from './chaos.ts';
import { tryMutations } from './engines/postgres/try-mutations.ts';
import { grounds } from './grounds.ts';
import { reportText } from './report.ts';

const usage =
  'Usage: npm run chaos -- [--engine sqlite|postgres] [--minutes <minutes>] [--seed <seed>] [--pooler] [--only <faults>] [--mutations] [--quiet]';

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
if (values.mutations) {
  if (values.engine !== 'postgres') refuse('Only --engine postgres has defects to be put into it.');
  process.exit((await tryMutations({ minutes, seed, only: values.only })) ? 0 : 1);
}
console.log(`Chaos on ${values.engine}, ${minutes} min, seed ${seed}.`);
const sinceElapsed = systemClock.elapsed();
const report = await runChaos({
  minutes,
  seed,
  ...(values.only === undefined ? {} : { only: new RegExp(values.only) }),
  ground: (options) => ground({ ...options, hasPooler: values.pooler }),
  say(line) {
    if (values.quiet) return;
    console.log(`${((systemClock.elapsed() - sinceElapsed) / 1000).toFixed(1).padStart(7)} s  ${line}`);
  },
});
console.log(`\n${reportText(report)}`);
process.exitCode = report.violations.length > 0 ? 1 : 0;
