// The long form of the race in one-id.test.ts.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPairs } from './pairs.ts';

for (const processCount of [1, 2] as const) {
  it(`none of 10,000 ids that are created twice at once, from ${processCount} process(es), becomes two jobs`, async () => {
    assert.deepEqual(await createPairs({ pairCount: 10_000, processCount }), { doubled: 0, startedTwice: 0 });
  });
}
