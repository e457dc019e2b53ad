// `npm run soak -- --minutes 30`: a steady mixed load, and whether anything still grows at the end. The exit code is 1 if something does, 2 if the run is
// too short or too noisy to tell.
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { readArguments } from '../arguments.ts';
import { type Leak, leaks, type MeasureName, measures, soak, type Verdict } from './soak.ts';

const usage =
  'Usage: npm run soak -- [--minutes <minutes>] [--seed <seed>] [--retention <seconds>] [--json <file>] [--leak <kind>]';

const { values, number, refuse, writable } = readArguments(usage, {
  minutes: { type: 'string' },
  seed: { type: 'string' },
  retention: { type: 'string' },
  leak: { type: 'string' },
  json: { type: 'string', default: 'soak.json' },
});
const minutes = number('minutes', { fallback: 10, isFraction: true });
const seed = number('seed', { fallback: 1, min: 0 });
const retentionMs = number('retention', { fallback: 15, min: 1, isFraction: true }) * 1000;
const leak = values.leak as Leak | undefined;
if (leak !== undefined && !leaks.includes(leak))
  refuse(`Expected --leak to be one of ${leaks.join(', ')}, got "${leak}".`);
writable('json', values.json);
const names = Object.keys(measures) as MeasureName[];
const shown = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));
const row = (title: string, cells: string[]) =>
  console.log(title.padEnd(34) + cells.map((cell) => cell.padStart(12)).join(''));
const listed = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ') || 'none';

console.log(`Soak for ${minutes} min, seed ${seed}.`);
let lastS = 0;
// Its folder would outlive it, and what was sampled would be lost.
const interruption = new AbortController();
let interruptedBy: 'SIGINT' | 'SIGTERM' | null = null;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interruptedBy ??= signal;
    interruption.abort();
  });
const exitCodeIfInterrupted = (): number | null =>
  interruptedBy === null ? null : 128 + constants.signals[interruptedBy];
const report = await soak({
  minutes,
  seed,
  retentionMs,
  signal: interruption.signal,
  ...(leak === undefined ? {} : { leak }),
  say(sample) {
    if (sample.s - lastS < 10) return;
    lastS = sample.s;
    const cells = names.map((name) => `${name} ${shown(sample[name])}`);
    console.log(`${sample.s.toFixed(0).padStart(6)} s  ${cells.join('  ')}  machineMs ${sample.machineMs}`);
  },
});
console.log();
row('second half', ['middle', 'max', 'growth', 'allowed', '']);
for (const name of names) {
  const { middle, max, growth, allowed, isFlat, isTooNoisy } = report.trends[name];
  const verdict = isTooNoisy ? 'too noisy' : isFlat ? 'flat' : 'GROWS';
  row(measures[name].title, [middle, max, growth, allowed].map(shown).concat(verdict));
}
console.log(`\ncalls: ${listed(report.counts.calls)}\nfailures: ${listed(report.counts.failures)}`);
writeFileSync(values.json, `${JSON.stringify(report, null, 1)}\n`);
const exitCodes: Record<Verdict, number> = {
  flat: 0,
  'not flat': 1,
  'too short to tell': 2,
  'too noisy to tell': 2,
};
console.log(
  `${report.calmCount} of ${report.samples.length} samples were judged; the others met a busy machine.`,
);
console.log(`The run was ${report.verdict}; every sample is in ${values.json}`);
if (interruptedBy !== null)
  console.error(`Ended by ${interruptedBy} before its time; what it had created is removed.`);
process.exitCode = exitCodeIfInterrupted() ?? exitCodes[report.verdict];
