// A week in which one repository breaks, played on virtual time: `npm run example -- repository-maintenance`
import { createTestDuly } from 'duly/testing';
import { defineMaintenance } from './repository-maintenance.ts';

const t = createTestDuly({ start: '2027-01-15T12:00:00Z' });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
const broken = new Set<string>();
const maintenance = defineMaintenance(t, async (path, step) => {
  if (step === 'gc' && broken.has(path)) throw new Error(`${path}: the disk is full.`);
});
for (const name of ['web', 'api', 'docs', 'infra']) await maintenance.add(`/srv/git/${name}.git`);
t.on('schedule.flagged', ({ name }) => say(`flagged: ${name}`));
t.on('schedule.recovered', ({ name }) => say(`well again: ${name}`));

for (const { type, at, status } of await t.advance('1 day'))
  console.log(`${at.toISOString()}  ${type}: ${status}`);
broken.add('/srv/git/api.git');
say('the disk of api.git is full');
await t.advance('4 days');
say(`to look at: ${JSON.stringify(await maintenance.flagged())}`);
broken.clear();
say('the disk has room again');
await t.advance('1 day');
say(`to look at: ${JSON.stringify(await maintenance.flagged())}`);
await t.stop();
