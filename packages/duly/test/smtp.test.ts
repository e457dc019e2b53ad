import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '@duly/core';
import { readSmtp } from '../src/node/serve.ts';

test('how alerts are mailed comes from the environment, whole or not at all', () => {
  assert.deepEqual(readSmtp({}), {});
  assert.deepEqual(
    readSmtp({ DULY_SMTP_URL: 'smtp://mail.example.com', DULY_MAIL_FROM: 'Duly <d@example.com>' }),
    {
      smtp: { url: 'smtp://mail.example.com', from: 'Duly <d@example.com>' },
    },
  );
  for (const env of [
    { DULY_SMTP_URL: 'smtp://mail.example.com' },
    { DULY_MAIL_FROM: 'd@example.com' },
    { DULY_SMTP_URL: 'https://mail.example.com', DULY_MAIL_FROM: 'd@example.com' },
  ]) {
    assert.throws(
      () => readSmtp(env),
      (error) => isDulyError(error, 'usage'),
    );
  }
});
