// Two tokens, one in time and one too late, played on virtual time: `npm run example -- password-reset`
import { createTestDuly } from 'duly/testing';
import { definePasswordReset } from './password-reset.ts';

const t = createTestDuly();
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
let last = '';
const reset = definePasswordReset(t, async (to, token) => {
  last = token;
  say(`mail to ${to}: your token is ${token.slice(0, 6)}…`);
});

await reset.request('ada', 'ada@example.com');
await t.runDue();
await t.advance('10m');
say(`ada comes with it: ${await reset.redeem(last)}`);
say(`and again: ${await reset.redeem(last)}`);
await reset.request('bob', 'bob@example.com');
await t.runDue();
await t.advance('15m');
say(`bob comes with his: ${await reset.redeem(last)}`);
await t.stop();
