// `npm run simulate -- --seeds N --from S` plays N simulated clusters; `--seed S --trace` plays one again and shows it; `--mutations` shows after
// how many seeds each seeded defect is caught.

import { parseArgs } from 'node:util';
import { catchMutation, mutationSeedsMax } from './simulation/catch-mutation.ts';
import { mutations } from './simulation/mutations.ts';
import { describeFailure, headlineOf, playSeed, playSeeds } from './simulation/seeds.ts';
import { describe } from './simulation/trace.ts';

const usage = `Usage: npm run simulate -- [--seeds <count>] [--from <first seed>]
       npm run simulate -- --seed <seed> [--trace]
       npm run simulate -- --mutations`;

function readCount(text: string | undefined, fallback: number, min = 0): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  console.error(`Expected a whole number from ${min} up, got "${text}".\n${usage}`);
  process.exit(2);
}

async function playOne(seed: number, isTraced: boolean): Promise<boolean> {
  const played = await playSeed(seed);
  if (isTraced) for (const event of played.evidence.events) console.log(describe(event));
  if (played.violations.length === 0) {
    console.log(
      `Seed ${seed}: ${played.evidence.events.length} events, ${played.evidence.final.jobs.length} jobs, every promise kept.`,
    );
    return true;
  }
  console.error(headlineOf(played));
  console.error(await describeFailure(played, { headline: false }));
  return false;
}

async function playMany(from: number, count: number): Promise<boolean> {
  const isShown = process.stderr.isTTY;
  const failure = await playSeeds(from, count, (seed) => {
    if (isShown && seed % 50 === 0) process.stderr.write(`\r${seed - from + 1} of ${count}`);
  });
  if (isShown) process.stderr.write('\r');
  if (failure === null) console.log(`${count} seeds from ${from}: every promise kept.`);
  else console.error(failure);
  return failure === null;
}

async function playMutations(): Promise<boolean> {
  let isEveryCaught = true;
  console.log('| defect | caught by | seeds until then |\n|---|---|---|');
  for (const mutation of mutations) {
    const caught = await catchMutation(mutation);
    isEveryCaught &&= caught !== null;
    const by = caught === null ? 'nobody' : caught.by.map((name) => `\`${name}\``).join(', ');
    console.log(
      `| ${mutation.name} | ${by} | ${caught === null ? `more than ${mutationSeedsMax}` : caught.seedCount} |`,
    );
  }
  return isEveryCaught;
}

let options: ReturnType<typeof read>;
function read() {
  return parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      mutations: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  }).values;
}
try {
  options = read();
} catch (error) {
  console.error(`${(error as Error).message}\n${usage}`);
  process.exit(2);
}
if (options.help) {
  console.log(usage);
  process.exit(0);
}
const isKept = options.mutations
  ? await playMutations()
  : options.seed !== undefined
    ? await playOne(readCount(options.seed, 1), options.trace)
    : await playMany(readCount(options.from, 1), readCount(options.seeds, 2_000, 1));
process.exitCode = isKept ? 0 : 1;
