import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createSkippedJobs, type SkippedCounts } from '../../src/worker/skipped-jobs.ts';

test('the jobs that are skipped in one turn are reported together', async () => {
  const clock = createManualClock();
  const reported: SkippedCounts[] = [];
  const skipped = createSkippedJobs(clock, (counts) => reported.push(counts));
  skipped.count('late');
  skipped.count('released');
  skipped.count('late');
  assert.deepEqual([reported, clock.pendingCount()], [[], 1]);
  await clock.advance(0);
  assert.deepEqual(reported, [{ late: 2, released: 1 }]);
  skipped.count('released');
  await clock.advance(0);
  assert.deepEqual(reported[1], { late: 0, released: 1 });
  assert.equal(clock.pendingCount(), 0);
});
