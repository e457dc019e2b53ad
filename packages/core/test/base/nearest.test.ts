import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { nearest } from '../../src/base/nearest.ts';

const words = ['skip', 'latest', 'all', 'video_transcode', 'bufferOne', 'bufferAll'];

for (const [word, expected] of [
  ['latst', 'latest'],
  ['latset', 'latest'],
  ['LATEST', 'latest'],
  ['skips', 'skip'],
  ['al', 'all'],
  ['video-transcode', 'video_transcode'],
  ['vidoe_transcod', 'video_transcode'],
  ['bufferone', 'bufferOne'],
  ['serialize', undefined],
  ['x', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
] as const) {
  test(`"${word.slice(0, 20)}" is nearest to ${expected}`, () => {
    assert.equal(nearest(word, words), expected);
  });
}

test('of equally close words the first is taken, and of none there is none', () => {
  assert.equal(nearest('cat', ['car', 'can']), 'car');
  assert.equal(nearest('cat', []), undefined);
});

test('one slip in a long enough word is forgiven', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{4,20}$/), fc.nat(19), (word, at) => {
      const i = at % word.length;
      assert.equal(nearest(word.slice(0, i) + word.slice(i + 1), [word]), word);
      assert.equal(nearest(`${word.slice(0, i)}_${word.slice(i + 1)}`, [word]), word);
      assert.equal(nearest(`${word.slice(0, i)}_${word.slice(i)}`, [word]), word);
    }),
    cases(100),
  );
});
