// `npm run chaos -- --engine sqlite --minutes 5 --seed 7`: real processes, real faults. The exit code is 1 if anything was violated.
import { parseArgs } from 'node:util';
import { systemClock } from '../../packages/core/src/clock.ts';
import { runChaos } from './chaos.ts';
import { grounds } from './grounds.ts';
import { reportText } from './report.ts';

const usage =
  'Usage: npm run chaos -- [--engine sqlite|postgres] [--minutes <minutes>] [--seed <seed>] [--pooler] [--quiet]';

function read() {
  return parseArgs({
    options: {
      engine: { type: 'string', default: 'sqlite' },
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string' },
      pooler: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  }).values;
}

function refuse(message: string): never {
  console.error(`${message}\n${usage}`);
  process.exit(2);
}

let values: ReturnType<typeof read>;
try {
  values = read();
} catch (error) {
  refuse((error as Error).message);
}
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? systemClock.now() % 1_000_000 : Number(values.seed);
const ground = grounds[values.engine];
if (ground === undefined || !(minutes > 0) || !Number.isSafeInteger(seed)) {
  refuse(
    `Expected --engine ${Object.keys(grounds).join(' or ')}, --minutes above 0 and --seed as a whole number.`,
  );
}
console.log(`Chaos on ${values.engine}, ${minutes} min, seed ${seed}.`);
const sinceElapsed = systemClock.elapsed();
const report = await runChaos({
  minutes,
  seed,
  ground: (options) => ground({ ...options, hasPooler: values.pooler }),
  say(line) {
    if (values.quiet) return;
    console.log(`${((systemClock.elapsed() - sinceElapsed) / 1000).toFixed(1).padStart(7)} s  ${line}`);
  },
});
console.log(`\n${reportText(report)}`);
process.exitCode = report.violations.length > 0 ? 1 : 0;
