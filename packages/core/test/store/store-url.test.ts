import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../src/base/errors.ts';
import {
  type PostgresAddress,
  parseStoreAddress,
  type SqliteAddress,
  withoutPassword,
} from '../../src/store/store-url.ts';
import { openStore } from '../../src/store/thread/open-store.ts';

/** The address of a file, taken apart. */
function sqlite(url: string): SqliteAddress {
  const address = parseStoreAddress(url);
  assert.ok(address.kind === 'sqlite');
  return address;
}

/** The address of a server, taken apart. */
function postgres(url: string): PostgresAddress {
  const address = parseStoreAddress(url);
  assert.ok(address.kind === 'postgres');
  return address;
}

test('an address names a file, or memory', () => {
  assert.equal(sqlite('sqlite:./duly.db').path, './duly.db');
  assert.equal(sqlite('sqlite:///var/lib/duly.db').path, '/var/lib/duly.db');
  assert.equal(sqlite('sqlite:/var/lib/duly.db').path, '/var/lib/duly.db');
  assert.equal(sqlite('sqlite:duly.db?busy=2s').busyMs, 2_000);
  assert.equal(sqlite('sqlite:duly.db?exclusive=1').exclusive, true);
  assert.equal(sqlite('sqlite::memory:').inline, true);
  assert.equal(sqlite('sqlite:duly.db').inline, false);
});

test('an address names a server and a schema; what is not ours is left to the driver', () => {
  assert.deepEqual(postgres('postgres://me:secret@db:5433/app'), {
    kind: 'postgres',
    connection: 'postgres://me:secret@db:5433/app',
    place: 'postgres://db:5433/app?schema=duly',
    schema: 'duly',
    listenUrl: null,
    poolSize: 10,
    inline: false,
    existing: false,
  });
  const direct = encodeURIComponent('postgres://me:secret@direct/app');
  const full = postgres(
    `postgresql://me@db/app?sslmode=require&schema=jobs_2&pool=3&inline=1&existing=1&listenUrl=${direct}`,
  );
  assert.equal(full.connection, 'postgresql://me@db/app?sslmode=require');
  assert.equal(full.place, 'postgres://db/app?schema=jobs_2');
  assert.deepEqual(
    [full.schema, full.poolSize, full.inline, full.existing, full.listenUrl],
    ['jobs_2', 3, true, true, 'postgres://me:secret@direct/app'],
  );
});

test('a server may be a folder with its socket, or left to the environment', () => {
  const socket = postgres('postgres://me:secret@/app?host=/run/postgresql&schema=jobs');
  assert.equal(socket.connection, 'postgres://me:secret@/app?host=%2Frun%2Fpostgresql');
  assert.equal(socket.place, 'postgres://%2Frun%2Fpostgresql/app?schema=jobs');
  assert.equal(withoutPassword('postgres://me:hidden@/app?schema=jobs'), 'postgres://me@/app?schema=jobs');
  const open = postgres('postgres:///app');
  assert.deepEqual([open.connection, open.place], ['postgres:///app', 'postgres:///app?schema=duly']);
});

test('what is nearly a parameter of ours is told, and what is wrong with the address for notifications', () => {
  const refused = (url: string, message: RegExp) =>
    assert.throws(
      () => parseStoreAddress(url),
      (error) => isDulyError(error, 'unknown_store') && message.test(`${error.message} ${error.hint}`),
    );
  refused('postgres://h/db?schma=jobs', /"schma".*Did you mean "schema"/);
  refused('postgres://h/db?listenurl=x', /Did you mean "listenUrl"/);
  refused('postgres://h/db?listenUrl=nowhere', /"listenUrl"/);
  assert.equal(
    postgres('postgres://h/db?host=a&port=1&options=-c%20x&application_name=a&ssl=1').schema,
    'duly',
  );
});

test('a password is not shown', () => {
  const direct = encodeURIComponent('postgres://me:hidden@direct/app');
  const shown = withoutPassword(`postgres://me:hidden@db/app?schema=x&listenUrl=${direct}`);
  assert.equal(shown, 'postgres://me@db/app?schema=x');
  assert.equal(withoutPassword('sqlite:./duly.db'), 'sqlite:./duly.db');
});

for (const url of ['redis://user:secret@host', 'rediss://host']) {
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
  'postgres://u:secret@h:notaport/db',
  'postgres://u:secret@h/db?schema=Duly',
  'postgres://u:secret@h/db?schema=a";--',
  'postgres://u:secret@h/db?schema=pg_catalog',
  `postgres://u:secret@h/db?schema=${'x'.repeat(49)}`,
  'postgres://u:secret@h/db?pool=0',
  'postgres://u:secret@h/db?pool=many',
  'postgres://u:secret@h/db?listenUrl=mysql://u:secret@h',
]) {
  test(`"${url.slice(0, 60)}" is refused as a store address`, async () => {
    await assert.rejects(
      openStore(url),
      (error) => isDulyError(error, 'unknown_store') && !error.message.includes('secret'),
    );
  });
}
