import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { createIds, jobIdAt } from '../../src/base/ids.ts';
import { type Random, seededRandom, systemRandom } from '../../src/base/random.ts';

function setup(nowAt: number, random: Random = seededRandom(1)) {
  const clock = { nowAt, now: () => clock.nowAt };
  return { clock, ids: createIds({ clock, random }) };
}

test('a job id has its prefix, 26 characters without i, l, o and u, and its instant inside', () => {
  const { ids } = setup(1_800_000_000_000);
  const id = ids.jobId();
  assert.match(id, /^job_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.equal(jobIdAt(id), 1_800_000_000_000);
  assert.match(ids.newId('node'), /^node_[0-9a-hjkmnp-tv-z]{26}$/);
});

test('the instant is read back from any id', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (at) => {
      assert.equal(jobIdAt(setup(at).ids.jobId()), at);
    }),
    cases(100),
  );
});

for (const id of [
  '',
  'job_',
  'node_01k9aaaaaaaaaaaaaaaaaaaaaa',
  'job_01k9aaaaaaaaaaaaaaaaaaaaa',
  'job_01k9aaaaaaaaaaaaaaaaaaaaaaa',
  'job_01k9aaaaaaaaaaaaaaaaaaaaau',
  'job_01K9AAAAAAAAAAAAAAAAAAAAAA',
  'job_81k9aaaaaaaaaaaaaaaaaaaaaa',
]) {
  test(`"${id}" is not a job id`, () => {
    assert.equal(jobIdAt(id), null);
  });
}

test('ids grow in the order they were created, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 100 }), fc.nat(), (steps, seed) => {
      const { clock, ids } = setup(1_800_000_000_000, seededRandom(seed));
      let previous = ids.jobId();
      for (const step of steps) {
        clock.nowAt += step;
        const id = ids.jobId();
        assert.ok(id > previous, `${previous} then ${id}`);
        previous = id;
      }
    }),
    cases(100),
  );
});

test('the count carries over when a half is full, and into the next millisecond when both are', () => {
  const nearlyOne = 1 - 2 ** -41;
  const sequence = (numbers: number[]): Random => ({ next: () => numbers.shift() ?? 0 });

  const carrying = setup(1_000, sequence([0, nearlyOne])).ids;
  assert.match(carrying.jobId(), /0{8}z{8}$/);
  assert.match(carrying.jobId(), /0{7}10{8}$/);

  const full = setup(1_000, sequence([nearlyOne, nearlyOne])).ids;
  const last = full.jobId();
  assert.match(last, /z{16}$/);
  const next = full.jobId();
  assert.equal(jobIdAt(next), 1_001);
  assert.ok(next > last);
});

test('many ids of many makers are all different', () => {
  const seen = new Set<string>();
  for (let creator = 0; creator < 100; creator++) {
    const { ids } = setup(1_800_000_000_000, systemRandom);
    for (let i = 0; i < 100; i++) seen.add(ids.jobId());
  }
  assert.equal(seen.size, 10_000);
});
