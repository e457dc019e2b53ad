import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldRows, newCountOf } from '../src/pages/jobs/held-rows.ts';

test('held rows keep their places and take what is known of them; newer ones are counted', () => {
  const shown = [
    { id: 'c', n: 1 },
    { id: 'b', n: 1 },
  ];
  const fresh = [
    { id: 'e', n: 2 },
    { id: 'd', n: 2 },
    { id: 'c', n: 2 },
  ];
  assert.deepEqual(heldRows(shown, fresh), [
    { id: 'c', n: 2 },
    { id: 'b', n: 1 },
  ]);
  assert.equal(newCountOf(shown, fresh), 2);
  assert.equal(newCountOf([], fresh), 3);
});
