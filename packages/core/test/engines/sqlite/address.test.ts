import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStoreAddress } from '../../../src/engines/address.ts';
import { openStore } from '../../../src/engines/open.ts';
import { isDulyError } from '../../../src/errors.ts';

test('an address names a file, or memory', () => {
  assert.equal(parseStoreAddress('sqlite:./duly.db').path, './duly.db');
  assert.equal(parseStoreAddress('sqlite:///var/lib/duly.db').path, '/var/lib/duly.db');
  assert.equal(parseStoreAddress('sqlite:/var/lib/duly.db').path, '/var/lib/duly.db');
  assert.equal(parseStoreAddress('sqlite:duly.db?busy=2s').busyMs, 2_000);
  assert.equal(parseStoreAddress('sqlite:duly.db?exclusive=1').exclusive, true);
  assert.equal(parseStoreAddress('sqlite::memory:').inline, true);
  assert.equal(parseStoreAddress('sqlite:duly.db').inline, false);
});

for (const url of [
  'postgres://user:secret@host/db',
  'postgresql://host/db',
  'redis://host',
  'rediss://host',
]) {
  test(`${url.split(':')[0]}:// answers "not yet", and no secret is in the message`, async () => {
    await assert.rejects(
      openStore(url),
      (error) => isDulyError(error, 'engine_not_yet') && !error.message.includes('secret'),
    );
  });
}

for (const url of [
  '',
  'duly.db',
  'mysql://u:secret@h/db',
  'sqlite:',
  'sqlite:x.db?shared=1',
  'sqlite:file:///x.db',
]) {
  test(`"${url}" is refused as a store address`, async () => {
    await assert.rejects(
      openStore(url),
      (error) => isDulyError(error, 'unknown_store') && !error.message.includes('secret'),
    );
  });
}
