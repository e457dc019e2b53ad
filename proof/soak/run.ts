// `npm run soak -- --minutes 30`: a steady mixed load, and whether anything still grows at the end. The exit code is 1 if something does.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type MeasureName, measures, soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string', default: 'soak.json' },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('Expected --minutes above 0 and --seed as a whole number.');
  process.exit(2);
}
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
const report = await soak({
  minutes,
  seed,
  say(sample) {
    if (sample.s - lastS < 10) return;
    lastS = sample.s;
    const cells = names.map((name) => `${name} ${shown(sample[name])}`);
    console.log(`${sample.s.toFixed(0).padStart(6)} s  ${cells.join('  ')}`);
  },
});
console.log();
row('second half', ['middle', 'max', 'growth', 'allowed', '']);
for (const name of names) {
  const { middle, max, growth, allowed, isFlat } = report.trends[name];
  row(measures[name].title, [middle, max, growth, allowed].map(shown).concat(isFlat ? 'flat' : 'GROWS'));
}
console.log(`\ncalls: ${listed(report.counts.calls)}\nfailures: ${listed(report.counts.failures)}`);
writeFileSync(values.json, `${JSON.stringify(report, null, 1)}\n`);
console.log(`${report.isFlat ? 'Flat' : 'Not flat'}; every sample is in ${values.json}`);
process.exitCode = report.isFlat ? 0 : 1;
