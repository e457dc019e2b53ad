import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newCountOf, pausedRows } from '../src/pages/jobs/paused-rows.ts';

test('paused rows keep their order and show new contents; newer rows are counted', () => {
  const shown = [
    { id: 'c', n: 1 },
    { id: 'b', n: 1 },
  ];
  const fresh = [
    { id: 'e', n: 2 },
    { id: 'd', n: 2 },
    { id: 'c', n: 2 },
  ];
  assert.deepEqual(pausedRows(shown, fresh), [
    { id: 'c', n: 2 },
    { id: 'b', n: 1 },
  ]);
  assert.equal(newCountOf(shown, fresh), 2);
  assert.equal(newCountOf([], fresh), 3);
});
