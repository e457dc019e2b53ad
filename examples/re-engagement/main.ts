// Who comes back and who does not, played on virtual time: `npm run example -- re-engagement`
import { createTestDuly } from 'duly/testing';
import { defineReEngagement } from './re-engagement.ts';

const t = createTestDuly();
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
const { signedUp, cameBack } = defineReEngagement(t, async (user) => say(`mail: ${user}, we miss you`));

for (const user of ['ada', 'bob']) await signedUp(user);
say('ada and bob sign up');
await t.advance('2 days');
await cameBack('bob');
say('bob comes back');
await t.advance('2 days');
await t.stop();
