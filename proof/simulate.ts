// `npm run simulate -- --seeds N --from S` plays N simulated clusters; `--seed S --trace` plays one again and shows it; `--mutations` plays each
// seeded defect in the world that the page on proofs lists for it and looks for another where that does not show it (`--afresh`: looks from the
// first world on, to see how many it takes), and with `--write` keeps that in the page.

import { readFileSync, writeFileSync } from 'node:fs';
import { readArguments } from './arguments.ts';
import { catchMutation } from './simulation/catch-mutation.ts';
import { listedSeed, pageUrl, rowOf, tableHead, withRows } from './simulation/defect-table.ts';
import { mutations } from './simulation/mutations/index.ts';
import { createSeedProgress } from './simulation/seed-progress.ts';
import { describeFailure, headlineOf, playSeed, playSeeds } from './simulation/seeds.ts';
import { describe } from './simulation/trace.ts';

const usage = `Usage: npm run simulate -- [--seeds <count>] [--from <first seed>]
       npm run simulate -- --seed <seed> [--trace]
       npm run simulate -- --mutations [--afresh] [--write]`;

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
  const progress = createSeedProgress(count, process.stderr);
  const failure = await playSeeds(from, count, () => progress.step());
  progress.end();
  if (failure === null)
    console.log(`${count} seed${count === 1 ? '' : 's'} from ${from}: every promise kept.`);
  else console.error(failure);
  return failure === null;
}

async function playMutations({
  isAfresh,
  isWritten,
}: Record<'isAfresh' | 'isWritten', boolean>): Promise<boolean> {
  const rows: string[] = [];
  const page = readFileSync(pageUrl, 'utf8');
  let isEveryCaught = true;
  console.log(tableHead);
  for (const mutation of mutations) {
    const caught = await catchMutation(mutation, isAfresh ? null : listedSeed(page, mutation));
    isEveryCaught &&= caught !== null;
    rows.push(rowOf(mutation, caught));
    console.log(rows.at(-1));
  }
  if (isWritten) writeFileSync(pageUrl, withRows(readFileSync(pageUrl, 'utf8'), rows));
  return isEveryCaught;
}

const { values, number, refuse } = readArguments(usage, {
  seeds: { type: 'string' },
  from: { type: 'string' },
  seed: { type: 'string' },
  trace: { type: 'boolean', default: false },
  mutations: { type: 'boolean', default: false },
  afresh: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
});
const hasRange = values.seeds !== undefined || values.from !== undefined;
if (values.afresh && !values.mutations)
  refuse('Expected --mutations with --afresh: it looks for their worlds.');
if (values.write && !values.mutations) refuse('Expected --mutations with --write: it writes their table.');
if (values.trace && values.seed === undefined) refuse('Expected --seed with --trace: it shows one world.');
if ([values.mutations, values.seed !== undefined, hasRange].filter(Boolean).length > 1)
  refuse('Expected one of --mutations, --seed, and --seeds with --from.');
const from = number('from', { fallback: 1, min: 0 });
const count = number('seeds', { fallback: 2_000, min: 1 });
const seed = number('seed', { fallback: 1, min: 0 });
const isKept = values.mutations
  ? await playMutations({ isAfresh: values.afresh, isWritten: values.write })
  : values.seed !== undefined
    ? await playOne(seed, values.trace)
    : await playMany(from, count);
process.exitCode = isKept ? 0 : 1;
