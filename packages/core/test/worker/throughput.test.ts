import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createPace } from '../../src/worker/throughput.ts';

async function setup() {
  const clock = createManualClock();
  const pace = createPace(clock);
  /** So many run for so long, one after the other, and then there is nothing left. */
  async function run(count: number, ms: number): Promise<void> {
    pace.begin();
    await clock.advance(ms);
    for (let i = 0; i < count; i++) pace.count();
    pace.rest();
  }
  return { clock, pace, run };
}

test('how many could run counts only the time in which something ran', async () => {
  const { clock, pace, run } = await setup();
  for (let i = 0; i < 4; i++) {
    await run(20, 2);
    await clock.advance(100);
  }
  assert.equal(pace.recentCount(), 0);
  assert.equal(pace.possibleCount(), 500, '80 in 8 ms');
});

test('a few jobs, or such as ran long ago, say nothing of the next', async () => {
  const { clock, pace, run } = await setup();
  await run(15, 1);
  assert.equal(pace.possibleCount(), 0);
  await run(15, 1);
  assert.equal(pace.possibleCount(), 750);
  await clock.advance(1_001);
  assert.equal(pace.possibleCount(), 0);
});

test('jobs that become slow are known to be slow while they run, and soon afterwards', async () => {
  const { clock, pace, run } = await setup();
  await run(400, 10);
  assert.equal(pace.possibleCount(), 2_000);
  pace.begin();
  await clock.advance(390);
  assert.equal(pace.possibleCount(), 50, '400 in 400 ms');
  pace.count();
  pace.rest();
  for (let i = 0; i < 8; i++) await run(20, 200);
  assert.ok(pace.possibleCount() <= 6, `${pace.possibleCount()}; 20 in 200 ms are 5 in 50`);
});
