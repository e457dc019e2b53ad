// `npm run chaos -- --engine sqlite --minutes 5 --seed 7`: real processes, real faults. The exit code is 1 if anything was violated.
import { parseArgs } from 'node:util';
import { systemClock } from '../../packages/core/src/clock.ts';
import { runChaos } from './chaos.ts';
import { reportText } from './report.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    quiet: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? systemClock.now() % 1_000_000 : Number(values.seed);
if (values.engine !== 'sqlite' || !(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('Expected --engine sqlite, --minutes above 0 and --seed as a whole number.');
  process.exit(2);
}
console.log(`Chaos on ${values.engine}, ${minutes} min, seed ${seed}.`);
const sinceElapsed = systemClock.elapsed();
const report = await runChaos({
  minutes,
  seed,
  say(line) {
    if (values.quiet) return;
    console.log(`${((systemClock.elapsed() - sinceElapsed) / 1000).toFixed(1).padStart(7)} s  ${line}`);
  },
});
console.log(`\n${reportText(report)}`);
process.exitCode = report.violations.length > 0 ? 1 : 0;
