// A week of a school, played on virtual time: `npm run example -- learning-platform`
import { createTestDuly } from 'duly/testing';
import { defineSchool } from './learning-platform.ts';

const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
let cleanUps = 0;
const school = defineSchool(t, {
  remind: async (classId) => say(`reminder: ${classId} is tomorrow`),
  report: async (day) => say(`the report of ${day}`),
  cleanUp: async () => ++cleanUps,
});

await school.plan('algebra', new Date('2027-01-18T10:00:00Z'));
await t.advance('1 day');
await school.plan('algebra', new Date('2027-01-20T09:00:00Z'));
say('algebra moves to Wednesday');
await t.advance('2 days');
console.log('… every process is down for three days …');
const before = cleanUps;
await t.outage('3 days');
await t.advance('1m');
say(`${cleanUps - before} clean-up for the 288 that were missed`);
await t.stop();
