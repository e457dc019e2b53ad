// An hour with two outages, played on virtual time: `npm run example -- health-checks`
import { createTestDuly } from 'duly/testing';
import { defineHealthChecks } from './health-checks.ts';

const t = createTestDuly();
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
const down = new Set<string>();
let checkCount = 0;
const checks = defineHealthChecks(
  t,
  async (service) => {
    checkCount += 1;
    if (down.has(service)) throw new Error('No answer.');
  },
  async (service, isUp) => say(`the pager: ${service} is ${isUp ? 'back' : 'down'}`),
);
for (const service of ['web', 'search', 'mail']) await checks.watch(service);

await t.advance('10m');
say('search dies');
down.add('search');
await t.advance('20m');
say('web dies too');
down.add('web');
await t.advance('10m');
say('both are mended');
down.clear();
await t.advance('20m');
say(`${checkCount} checks`);
await t.stop();
