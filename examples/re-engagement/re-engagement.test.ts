import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineReEngagement } from './re-engagement.ts';

test('who does not come back within three days gets one mail, who does gets none', async () => {
  const t = createTestDuly();
  const mails: string[] = [];
  const { signedUp, cameBack } = defineReEngagement(t, async (user) => void mails.push(user));
  await signedUp('ada');
  await signedUp('ada');
  await signedUp('bob');
  await t.advance('2 days');
  assert.equal(await cameBack('bob'), true);
  assert.equal(await cameBack('carol'), false, 'nothing was promised to her');
  await t.advance('2 days');
  assert.deepEqual(mails, ['ada']);
  assert.equal(await cameBack('ada'), false, 'the promise was kept already');
  await t.stop();
});

test('a crash after the mail does not send it again', async () => {
  const t = createTestDuly();
  const mails: string[] = [];
  let crashes = 1;
  const { signedUp } = defineReEngagement(t, async (user) => {
    if (crashes-- > 0) throw new Error('The mail server is away.');
    mails.push(user);
  });
  await signedUp('ada');
  await t.advance('4 days');
  assert.deepEqual(mails, ['ada']);
  await t.stop();
});
