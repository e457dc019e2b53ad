import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createThroughputEstimate } from '../../src/worker/throughput.ts';

async function setup() {
  const clock = createManualClock();
  const throughput = createThroughputEstimate(clock);
  /** So many run for so long, one after the other, and then there is nothing left. */
  async function run(count: number, ms: number): Promise<void> {
    throughput.begin();
    await clock.advance(ms);
    for (let i = 0; i < count; i++) throughput.count();
    throughput.rest();
  }
  return { clock, throughput, run };
}

test('how many could run counts only the time in which something ran', async () => {
  const { clock, throughput, run } = await setup();
  for (let i = 0; i < 4; i++) {
    await run(20, 2);
    await clock.advance(100);
  }
  assert.equal(throughput.recentCount(), 0);
  assert.equal(throughput.possibleCount(), 500, '80 in 8 ms');
});

test('a few jobs, or jobs of long ago, give no estimate', async () => {
  const { clock, throughput, run } = await setup();
  await run(15, 1);
  assert.equal(throughput.possibleCount(), 0);
  await run(15, 1);
  assert.equal(throughput.possibleCount(), 750);
  await clock.advance(1_001);
  assert.equal(throughput.possibleCount(), 0);
});

test('jobs that become slow are known to be slow while they run, and soon afterwards', async () => {
  const { clock, throughput, run } = await setup();
  await run(400, 10);
  assert.equal(throughput.possibleCount(), 2_000);
  throughput.begin();
  await clock.advance(390);
  assert.equal(throughput.possibleCount(), 50, '400 in 400 ms');
  throughput.count();
  throughput.rest();
  for (let i = 0; i < 8; i++) await run(20, 200);
  assert.ok(throughput.possibleCount() <= 6, `${throughput.possibleCount()}; 20 in 200 ms are 5 in 50`);
});
