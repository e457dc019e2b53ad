import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replyElapsed } from '../../src/base/reply-elapsed.ts';

test('a quick reply counts from its arrival, a slow one from its request', () => {
  assert.equal(replyElapsed(1_000, 1_000), 1_000);
  assert.equal(replyElapsed(1_000, 1_100), 1_100);
  assert.equal(replyElapsed(1_000, 1_101), 1_000);
});
