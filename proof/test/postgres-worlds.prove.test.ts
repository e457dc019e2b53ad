import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPostgresWorlds } from '../simulation/postgres/worlds.ts';
import { testRegressions, testWorlds } from './worlds.ts';

const worlds = await startPostgresWorlds();
after(() => worlds.stop());

testWorlds('postgres', { count: 40, chunkSize: 10 }, { open: worlds.open });
testRegressions({ open: worlds.open });

test('the worlds lose replies, cut connections and crash the server', () => {
  const needed = [
    ...['cut before the request', 'cut in the request', 'cut before the reply', 'cut in the reply'],
    ...['late request', 'late reply', 'reply in pieces', 'crash before the reply'],
  ];
  const missing = needed.filter((fault) => !worlds.faults.has(fault));
  assert.deepEqual(missing, []);
});
