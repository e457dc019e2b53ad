import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, seededRandom, systemRandom } from '../../src/base/random.ts';

function assertEven(random: Random): void {
  const buckets = new Array<number>(10).fill(0);
  const count = 20_000;
  for (let i = 0; i < count; i++) {
    const number = random.next();
    assert.ok(number >= 0 && number < 1);
    const bucket = Math.floor(number * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  // A tenth each; 400 is more than nine standard deviations.
  for (const size of buckets) assert.ok(Math.abs(size - count / 10) < 400, buckets.join(' '));
}

test('numbers of the system are spread evenly from 0 up to 1', () => {
  assertEven(systemRandom);
});

test('numbers of a seed are spread evenly too, whatever the seed', () => {
  for (const seed of [0, 1, -1, 2 ** 31, 123456789]) assertEven(seededRandom(seed));
});

test('a seed gives the same sequence each time, and another seed another one', () => {
  const take = (random: Random): number[] => Array.from({ length: 5 }, () => random.next());
  assert.deepEqual(take(seededRandom(7)), take(seededRandom(7)));
  assert.notDeepEqual(take(seededRandom(7)), take(seededRandom(8)));
});
