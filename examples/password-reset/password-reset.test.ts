import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { definePasswordReset } from './password-reset.ts';

async function requested() {
  const t = createTestDuly();
  const mails: { to: string; token: string }[] = [];
  const reset = definePasswordReset(t, async (to, token) => void mails.push({ to, token }));
  await reset.request('ada', 'ada@example.com');
  await t.runDue();
  const [mail] = mails;
  assert.ok(mail !== undefined && mail.to === 'ada@example.com');
  return { t, reset, token: mail.token };
}

test('a token is good until 15 minutes are over', async () => {
  const { t, reset, token } = await requested();
  await t.advance('14m59s');
  assert.equal(await reset.redeem(token), 'ada');
  await t.stop();
});

test('and not a moment longer', async () => {
  const { t, reset, token } = await requested();
  await t.advance('15m');
  assert.equal(await reset.redeem(token), null);
  await t.stop();
});

test('it is good for one use, also when two come at once', async () => {
  const { t, reset, token } = await requested();
  const both = await Promise.all([reset.redeem(token), reset.redeem(token)]);
  assert.deepEqual(both.sort(), ['ada', null].sort());
  assert.equal(await reset.redeem(token), null);
  assert.equal(await reset.redeem('guessed'), null);
  await t.stop();
});
