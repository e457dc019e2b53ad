import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolder } from './command.ts';

test('doctor on a file', async (t) => {
  const folder = createFolder(t);
  const missing = await folder.duly('doctor');
  assert.equal(missing.code, 5);
  assert.match(missing.err, /^error\[store_not_found\]/);
  await folder.duly('migrate');
  const { code, out } = await folder.duly('doctor');
  assert.equal(code, 1, out);
  assert.match(out, /No node is live/);
  assert.match(out, /^ok {7}integrity /m);
});
