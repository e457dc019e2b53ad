// Three nights, one of them with a crash, played on virtual time: `npm run example -- analytics-report`
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createTestDuly } from 'duly/testing';
import { defineAnalyticsReport } from './analytics-report.ts';

const folder = mkdtempSync(join(tmpdir(), 'duly-example-'));
const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
defineAnalyticsReport(t, {
  folder,
  count: async (_kind, day) => {
    await t.clock.sleep(60_000);
    return Number(day.slice(-2)) * 100;
  },
  mail: async (day, file) => say(`mail: the report of ${day} is in ${basename(file)}`),
  publish: async () => {},
});
t.on('job.progress', ({ attempt, progress }) =>
  say(`attempt ${attempt}: ${Math.round(progress.percent)} %  ${progress.message}`),
);

await t.advanceTo('2027-01-15T21:00:00Z');
await t.advanceTo('2027-01-16T20:32:30Z');
console.log('… every process dies in the middle of the report, and is back after an hour …');
await t.outage('1h');
await t.advance('1h');
await t.advanceTo('2027-01-18T00:00:00Z');
say(`stored are ${readdirSync(folder).sort().join(', ')}`);
await t.stop();
rmSync(folder, { recursive: true, force: true });
