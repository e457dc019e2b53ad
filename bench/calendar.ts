// How fast the calendar answers, beside the libraries that judge it in tests. Run by hand: npm exec -- node bench/calendar.ts
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import { resolveRule } from '../packages/core/src/schedule/rule.ts';

const cases: [cron: string, timezone: string][] = [
  ['* * * * *', 'UTC'],
  ['*/15 * * * *', 'Europe/Rome'],
  ['30 2 * * 1-5', 'America/New_York'],
  ['0 9 L * *', 'Asia/Kolkata'],
  ['0 0 13 * 5', 'Australia/Lord_Howe'],
  ['0 0 29 2 *', 'Africa/Cairo'],
];
const fromAt = Date.UTC(2027, 0, 1);
const toAt = Date.UTC(2100, 0, 1);

/** Calls of `next` in a second: one after the other, for at least 300 ms, after a warm-up of the same length. */
function measure(next: (afterAt: number) => number | null): number {
  let best = 0;
  for (let round = 0; round < 2; round++) {
    let at = fromAt;
    let count = 0;
    const start = performance.now();
    let elapsedMs = 0;
    while (elapsedMs < 300) {
      for (let i = 0; i < 50; i++) {
        at = next(at) ?? fromAt;
        if (at > toAt) at = fromAt;
      }
      count += 50;
      elapsedMs = performance.now() - start;
    }
    best = Math.max(best, (count / elapsedMs) * 1_000);
  }
  return best;
}

const format = (perSecond: number): string => Math.round(perSecond).toLocaleString('en-US').padStart(12);

console.log(`Node ${process.version}, next() per second on one core, warm`);
console.log(`${''.padEnd(40)}${'duly'.padStart(12)}${'croner'.padStart(12)}${'cron-parser'.padStart(13)}`);
for (const [cron, timezone] of cases) {
  const rule = resolveRule({ cron, timezone });
  const croner = new Cron(cron, { timezone, paused: true });
  const parse = (at: number): number =>
    CronExpressionParser.parse(cron, { tz: timezone, currentDate: new Date(at) })
      .next()
      .getTime();
  const results = [
    measure((at) => rule.next(at)),
    measure((at) => croner.nextRun(new Date(at))?.getTime() ?? null),
    measure(parse),
  ];
  console.log(`${`${cron}  ${timezone}`.padEnd(40)}${results.map(format).join('')}`);
}

console.log('\nFirst answer in a zone that was never used, ms');
const zones = ['Europe/Paris', 'America/Chicago', 'Asia/Tehran', 'Pacific/Auckland', 'Africa/Casablanca'];
for (const timezone of zones) {
  const start = performance.now();
  resolveRule({ cron: '30 2 * * *', timezone }, { now: fromAt }).next(fromAt);
  console.log(`${timezone.padEnd(40)}${(performance.now() - start).toFixed(2).padStart(12)}`);
}

console.log('\nCounting the slots of a range, ms');
const ranges: [string, number][] = [
  ['a month', 31],
  ['a year', 365],
  ['a century', 36_525],
];
for (const [name, days] of ranges) {
  const rule = resolveRule({ cron: '* * * * * *', timezone: 'Europe/Rome' });
  rule.countBetween(fromAt, fromAt + days * 86_400_000);
  const start = performance.now();
  const count = rule.countBetween(fromAt, fromAt + days * 86_400_000);
  console.log(
    `${`every second of ${name}: ${count}`.padEnd(40)}${(performance.now() - start).toFixed(3).padStart(12)}`,
  );
}
