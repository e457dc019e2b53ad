// `npm run simulate`: plays simulated clusters and checks every invariant.
// - `--seeds N --from S` plays a range on all cores, `--seed S --trace` plays one seed and shows its events.
// - `--until-failure` plays fresh seeds until one fails and stores its script; `--script <file>` plays a stored script.
// - `--coverage` plays a range and prints how often its seeds exercised each invariant.
// - `--mutations` plays each seeded defect in the world that docs/internals/proof.md lists for it. If that world does
//   not show the defect, it searches for another. `--afresh` always searches, and `--write` updates the page.
// - `--engine postgres` plays on a real PostgreSQL.

import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { systemClock } from '../packages/core/src/base/clock.ts';
import { readArguments } from './arguments.ts';
import { exerciseNames, invariants } from './checker/index.ts';
import { catchMutation } from './simulation/catch-mutation.ts';
import { seedMax } from './simulation/commit-seeds.ts';
import { createCoverage, describeCoverage } from './simulation/coverage.ts';
import { listedSeed, pageUrl, rowOf, tableHead, withRows } from './simulation/defect-table.ts';
import { mutations } from './simulation/mutations/index.ts';
import { storeFailure } from './simulation/open-failures.ts';
import { playRange, type RangeResult } from './simulation/play-range.ts';
import { startPostgresWorlds } from './simulation/postgres/worlds.ts';
import type { SeedReport } from './simulation/seed-process.ts';
import { createSeedProgress } from './simulation/seed-progress.ts';
import {
  headlineOf,
  type Played,
  playScript,
  playSeed,
  type SimulatedEngine,
  shrinkFailure,
} from './simulation/seeds.ts';
import type { SimulateOptions } from './simulation/simulate.ts';
import {
  engineNames,
  readStoredScript,
  type StoredScript,
  scriptCommand,
  storedPath,
  storeScript,
} from './simulation/stored-script.ts';
import { describe } from './simulation/trace.ts';

const usage = `Usage: npm run simulate -- [--seeds <count>] [--from <first seed>] [--keep-going] [--jobs <processes>]
       npm run simulate -- --coverage [--seeds <count>] [--from <first seed>] [--jobs <processes>]
       npm run simulate -- --until-failure [--from <first seed>] [--jobs <processes>]
       npm run simulate -- --seed <seed> [--trace]
       npm run simulate -- --script <file> [--trace]
       npm run simulate -- --mutations [--afresh] [--write]
       With any of these except --mutations: [--engine sqlite|postgres]

--seeds plays a range and stops at the lowest failing seed. Without --from it starts at a random seed and prints it.
--keep-going plays the whole range and groups the failures by invariant.
--coverage plays 2,000 seeds, or as many as --seeds says, and prints how many of them exercised each invariant.
--until-failure plays seeds from --from, or a random start, until one fails, shrinks it and writes it to proof/regressions/.
--script plays on the engine that the script was stored with, and on SQLite if it names none.
--engine postgres, with any of these except --mutations, plays on a real PostgreSQL behind a proxy that cuts connections.`;

// High enough to leave the seeds of the tests alone, and low enough that no number derived from a seed is rounded.
const randomStart = (): number => randomInt(1_000_000, 2 ** 31);

/** Shows a world that was played; `name` is what was played. */
async function showPlayed(played: Played, name: string, isTraced: boolean): Promise<boolean> {
  if (isTraced) for (const event of played.evidence.events) console.log(describe(event));
  if (played.violations.length === 0) {
    console.log(
      `${name}: ${played.evidence.events.length} events, ${played.evidence.final.jobs.length} jobs, every promise kept.`,
    );
    return true;
  }
  console.error(headlineOf(played));
  console.error((await shrinkFailure(played, options)).text);
  return false;
}

/** Reads the script that is asked for. */
function readScript(path: string): StoredScript {
  try {
    return readStoredScript(path);
  } catch (error) {
    return refuse((error as Error).message);
  }
}

/** The engine that is asked for: that of the stored script, if there is one and it says so. */
function readEngine(): SimulatedEngine {
  const named = values.engine ?? stored?.engine ?? 'sqlite';
  const engine = engineNames.find((name) => name === named);
  if (engine === undefined) return refuse('Expected --engine sqlite or --engine postgres.');
  if (stored?.engine !== undefined && stored.engine !== engine)
    return refuse(`Expected --engine ${stored.engine}, as in "${values.script}", got "${engine}".`);
  return engine;
}

function describeSpeed({ playedCount, elapsedMs, cpuMs }: RangeResult): string {
  const perSecond = (playedCount / (elapsedMs / 1_000)).toFixed(1);
  const cpu = (cpuMs / Math.max(1, playedCount)).toFixed(1);
  return `${playedCount} played in ${(elapsedMs / 1_000).toFixed(1)} s: ${perSecond} seeds per second, ${cpu} ms of CPU time per seed.`;
}

/** Lists the failing seeds of each invariant. */
function describeFailures(failures: readonly SeedReport[]): string {
  const byInvariant = new Map<string, number[]>();
  for (const { seed, broken } of failures) {
    for (const { invariant } of broken)
      byInvariant.set(invariant, [...(byInvariant.get(invariant) ?? []), seed]);
  }
  const lines = [...byInvariant]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([invariant, seeds]) => `  ${invariant}: ${seeds.length} (${seeds.join(', ')})`);
  return [`${failures.length} failing seed${failures.length === 1 ? '' : 's'}:`, ...lines].join('\n');
}

function oneLineOf({ seed, broken }: SeedReport): string {
  const [first] = broken;
  const others = broken.slice(1).map(({ invariant }) => invariant);
  const more = others.length === 0 ? '' : ` (also ${others.join(', ')})`;
  return `Seed ${seed} breaks ${first?.invariant}: ${first?.message}${more}`;
}

/** Aborted by Ctrl-C. */
function interrupted(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
}

interface Range {
  from: number;
  count: number;
  jobs: number;
  signal: AbortSignal;
}

async function playMany(
  { from, count, jobs, signal }: Range,
  { keepGoing, isCovered }: Record<'keepGoing' | 'isCovered', boolean>,
): Promise<boolean> {
  const coverage = createCoverage(invariants.flatMap(exerciseNames));
  const progress = createSeedProgress(count, process.stderr);
  const result = await playRange({
    ...{ from, count, jobs, engine, keepGoing, signal },
    onSeed: ({ counts }) => {
      progress.step();
      coverage.add(counts);
    },
    onFailure: (report) => {
      if (keepGoing) console.error(oneLineOf(report));
    },
  });
  progress.end();
  const [lowest] = result.failures;
  if (lowest === undefined && !signal.aborted)
    console.log(`${count} seed${count === 1 ? '' : 's'} from ${from}: every promise kept.`);
  if (lowest !== undefined && !keepGoing) {
    console.error(lowest.headline);
    console.error((await shrinkFailure(await playSeed(lowest.seed, options), options, signal)).text);
  }
  if (lowest !== undefined && keepGoing) console.error(describeFailures(result.failures));
  if (isCovered) console.log(describeCoverage(coverage.rows()));
  console.log(describeSpeed(result));
  return lowest === undefined;
}

/** Stores a script, or prints it if that fails: it may have taken a night to find. Returns its path. */
function keepScript(script: StoredScript): string {
  const path = storedPath(script);
  const again = `Play it again: ${scriptCommand(path, engine)}`;
  try {
    storeScript(script);
    console.error(`Wrote ${path}. ${again}`);
  } catch (error) {
    console.error(`Expected ${path} to be a file that can be written. ${(error as Error).message}.`);
    console.error(`Save the next line as that file. ${again}\n${JSON.stringify(script)}`);
  }
  return path;
}

async function playUntilFailure({ from, jobs, signal }: Range): Promise<boolean> {
  const result = await playRange({ from, count: Number.POSITIVE_INFINITY, jobs, engine, signal });
  const [lowest] = result.failures;
  if (lowest === undefined) {
    console.log(`No failure from seed ${from} on.`);
    console.log(describeSpeed(result));
    return true;
  }
  console.error(lowest.headline);
  console.log(describeSpeed(result));
  const played = await playSeed(lowest.seed, options);
  const foundAt = new Date(systemClock.now()).toISOString();
  const broken = played.violations.map(({ invariant }) => invariant);
  if (broken.length === 0) throw new Error(`Seed ${lowest.seed} does not fail when it is played again.`);
  const entries = await storeFailure(
    broken,
    { engine, date: foundAt.slice(0, 10) },
    {
      shrink: (invariant) => {
        const violations = played.violations.filter((violation) => violation.invariant === invariant);
        return shrinkFailure({ ...played, violations }, options, signal);
      },
      play: async (script) =>
        (await playScript(script, options)).violations.map(({ invariant }) => invariant),
      store: (invariant, { script, text }) => {
        console.error(text);
        return keepScript({
          ...{ invariant, seed: lowest.seed },
          ...(engine === 'sqlite' ? {} : { engine }),
          ...{ foundAt, script },
        });
      },
    },
  );
  console.error('Until it is fixed, tests accept it with these entries in proof/open-failures.json:');
  console.error(JSON.stringify(entries, null, 2));
  return false;
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
  jobs: { type: 'string' },
  'keep-going': { type: 'boolean', default: false },
  coverage: { type: 'boolean', default: false },
  'until-failure': { type: 'boolean', default: false },
  seed: { type: 'string' },
  script: { type: 'string' },
  engine: { type: 'string' },
  trace: { type: 'boolean', default: false },
  mutations: { type: 'boolean', default: false },
  afresh: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
});
const hasRange = values.seeds !== undefined || (values.from !== undefined && !values['until-failure']);
const isOneWorld = values.seed !== undefined || values.script !== undefined;
if (values.afresh && !values.mutations)
  refuse('Expected --mutations with --afresh: it looks for their worlds.');
if (values.write && !values.mutations) refuse('Expected --mutations with --write: it writes their table.');
if (values.trace && !isOneWorld) refuse('Expected --seed with --trace: it shows one world.');
const modes = [
  values.mutations,
  values['until-failure'],
  values.seed !== undefined,
  values.script !== undefined,
  hasRange,
];
if (values['until-failure'] && values.seeds !== undefined)
  refuse('Expected --until-failure with --from and --jobs only: it plays until a seed fails.');
if (modes.filter(Boolean).length > 1)
  refuse('Expected one of --mutations, --until-failure, --seed, --script, and --seeds with --from.');
if (values['keep-going'] && (values.mutations || values['until-failure'] || isOneWorld))
  refuse('Expected --seeds with --keep-going: it plays a range.');
if (values.coverage && (values.mutations || values['until-failure'] || isOneWorld))
  refuse('Expected --seeds with --coverage: it plays a range.');
const count = number('seeds', { fallback: 2_000, min: 1 });
const seed = number('seed', { fallback: 1, min: 0 });
// A process takes a second to start, which only pays off for several seeds.
const seedsPerProcess = 20;
// More would only take memory from each other.
const processMax = Math.max(100, availableParallelism());
const jobs = number('jobs', { fallback: availableParallelism(), min: 1 });
const from = number('from', { fallback: randomStart(), min: 0 });
if (Math.max(seed, from + count) > seedMax) refuse(`Expected seeds up to ${seedMax}.`);
if (values.jobs !== undefined && (isOneWorld || values.mutations))
  refuse('Expected --seeds or --until-failure with --jobs: one world is played in one process.');
const stored = values.script === undefined ? null : readScript(values.script);
const engine = readEngine();
if (engine === 'postgres' && values.mutations)
  refuse('Expected --mutations without --engine: they are defects of the engine on SQLite.');
const isUntilFailure = values['until-failure'];
const isPlayingMany = !values.mutations && !isOneWorld;
// Before the first line is printed: Ctrl-C may follow it at once.
const signal = isPlayingMany ? interrupted() : new AbortController().signal;
const isFresh = isPlayingMany && values.from === undefined;
if (isFresh)
  console.log(isUntilFailure ? `Seeds from ${from} until one fails.` : `${count} seeds from ${from}.`);
const range = {
  from,
  count,
  signal,
  jobs: Math.min(jobs, processMax, isUntilFailure ? processMax : Math.ceil(count / seedsPerProcess)),
};
const worlds = engine === 'postgres' ? await startPostgresWorlds() : null;
const options: SimulateOptions = worlds === null ? {} : { open: worlds.open };
try {
  const isKept = values.mutations
    ? await playMutations({ isAfresh: values.afresh, isWritten: values.write })
    : isUntilFailure
      ? await playUntilFailure(range)
      : stored !== null
        ? await showPlayed(
            await playScript(stored.script, options, values.script),
            values.script ?? '',
            values.trace,
          )
        : values.seed !== undefined
          ? await showPlayed(await playSeed(seed, options), `Seed ${seed}`, values.trace)
          : await playMany(range, {
              // The counts are of the whole range, even if one of its seeds fails.
              keepGoing: values['keep-going'] || values.coverage,
              isCovered: values.coverage,
            });
  process.exitCode = signal.aborted ? 130 : isKept ? 0 : 1;
} finally {
  await worlds?.stop();
}
