// `npm run bench`: measures Duly beside a bare loop and beside peers, in one run, and prints ratios. See docs/internals/bench.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, cpus, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { whyNotWritable } from '../proof/arguments.ts';
import { ArgumentError, type BenchArguments, readArguments, usage } from './arguments.ts';
import { installPeers } from './install.ts';
import { endAll, Interrupted, untilInterrupted } from './interruption.ts';
import { measures } from './measures/index.ts';
import { createProgress } from './progress.ts';
import { judge, type Result } from './result.ts';
import type { EngineRoom } from './room.ts';
import type { Setup } from './rounds.ts';
import { formatTable, formatVerdicts } from './table.ts';

const engines = ['sqlite', 'postgres'];

function readAll(): BenchArguments {
  try {
    return readArguments(process.argv.slice(2), { engines, measures: measures.map(({ name }) => name) });
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    refuse(error.message);
  }
}

/** The usage is as long as a screen, and what is wrong would scroll away above it. */
function refuse(message: string): never {
  process.stderr.write(`${message}\nnpm run bench -- --help says how to call it.\n`);
  process.exit(2);
}

const asked = readAll();
if (asked.isHelp) {
  process.stdout.write(`${usage}\nMeasures: ${measures.map(({ name }) => name).join(', ')}\n`);
  process.exit(0);
}

if (asked.out !== null) {
  const reason = whyNotWritable(asked.out, { createsFolder: true });
  if (reason !== null)
    refuse(`Expected --out to be a file that can be written, got "${asked.out}". ${reason}`);
}

// Before anything is started or made that would outlive the run.
const interrupted = untilInterrupted();
const { room } = (await import(new URL(`./engines/${asked.engine}/room.ts`, import.meta.url).href)) as {
  room: EngineRoom;
};
const refusal = asked.hasPeers && room.peers.length > 0 ? installPeers() : null;
if (refusal !== null) process.stderr.write(`Without peers: ${refusal}.\n`);
const setup: Setup = {
  room,
  duly: {
    name: 'duly',
    module: new URL('./duly.ts', import.meta.url),
    ...(asked.profile === null ? {} : { nodeOptions: `--cpu-prof --cpu-prof-dir=${resolve(asked.profile)}` }),
  },
  peers: asked.hasPeers && refusal === null ? room.peers : [],
  hasPeers: asked.hasPeers,
  isQuick: asked.isQuick,
  rounds: asked.rounds ?? (asked.isQuick ? 1 : 3),
  futureCount: asked.futureCount ?? (asked.isQuick ? 30_000 : 1_000_000),
  minutes: asked.minutes ?? 1,
  progress: createProgress(),
  profile: asked.profile === null ? undefined : resolve(asked.profile),
};

const machine = {
  node: process.version,
  cores: availableParallelism(),
  cpu: cpus()[0]?.model ?? 'unknown',
  memoryGb: Math.round(totalmem() / 2 ** 30),
};
const startedAt = new Date();
process.stdout.write(
  `Duly on ${room.name} (${room.settings}), Node ${machine.node}, ${machine.cores} cores of ${machine.cpu}\n\n`,
);

const out =
  asked.out ??
  fileURLToPath(
    new URL(
      `./results/${room.name}-${startedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`,
      import.meta.url,
    ),
  );
const results: Result[] = [];
const failures: string[] = [];
/** Written after every measure: a run that is broken off leaves what it has. */
function writeResults(): void {
  mkdirSync(dirname(resolve(out)), { recursive: true });
  writeFileSync(
    out,
    `${JSON.stringify(
      {
        engine: room.name,
        settings: room.settings,
        startedAt,
        tookMs: Date.now() - startedAt.getTime(),
        isQuick: asked.isQuick,
        rounds: setup.rounds,
        machine,
        results: results.map((result) => ({ ...result, verdict: judge(result) })),
        failures,
      },
      null,
      2,
    )}\n`,
  );
}

let interruption: Interrupted | null = null;
for (const measure of measures) {
  if (asked.only !== null && !asked.only.includes(measure.name)) continue;
  setup.progress.begin(measure.title);
  try {
    results.push(...(await Promise.race([interrupted, measure.run(setup)])));
    setup.progress.end('done');
  } catch (error) {
    if (error instanceof Interrupted) {
      setup.progress.end('broken off');
      interruption = error;
      break;
    }
    setup.progress.end('failed');
    failures.push(`${measure.name}: ${(error as Error).stack}`);
  }
  writeResults();
}

await endAll();
await room.close?.();
if (results.length > 0) process.stdout.write(`${formatTable(results)}\n\n${formatVerdicts(results)}\n`);
for (const failure of failures) process.stderr.write(`\nThe measure failed. ${failure}\n`);

if (results.length + failures.length > 0) process.stderr.write(`\nWritten to ${out}\n`);
if (interruption !== null) {
  const what =
    results.length === 0 ? 'Nothing was measured until then' : 'The table has what was measured until then';
  process.stderr.write(
    `\n${interruption.message} ${what}; everything that the run had made is ended and removed.\n`,
  );
  process.exit(128 + constants.signals[interruption.signal]);
}
// Short of a target is a result; a measure that could not be taken is not.
process.exitCode = failures.length === 0 ? 0 : 1;
