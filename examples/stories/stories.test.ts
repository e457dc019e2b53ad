import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineStories } from './stories.ts';

function createStudio() {
  const media = new Set(['beach.jpg']);
  const index = new Set(['ada/s1']);
  let failures = 0;
  return {
    media,
    index,
    failOnce: () => (failures = 1),
    deleteMedia: async (path: string) => void media.delete(path),
    removeFromIndex: async (user: string, id: string) => {
      if (failures-- > 0) throw new Error('The index is away.');
      index.delete(`${user}/${id}`);
    },
  };
}

test('a story is gone for readers after 24 hours to the millisecond, and then cleaned up', async () => {
  const t = createTestDuly();
  const studio = createStudio();
  const stories = defineStories(t, studio);
  await stories.post('s1', { user: 'ada', media: 'beach.jpg' });
  await t.advance('23h59m59s');
  assert.deepEqual(await stories.read('s1'), { user: 'ada', media: 'beach.jpg' });
  await t.advance(999);
  assert.notEqual(await stories.read('s1'), null);
  await t.advance(1);
  assert.equal(await stories.read('s1'), null);
  assert.deepEqual([[...studio.media], [...studio.index]], [[], []]);
  await t.stop();
});

test('nobody was there at the time: the story is gone all the same, and is cleaned up when somebody is back', async () => {
  const t = createTestDuly();
  const studio = createStudio();
  const stories = defineStories(t, studio);
  await stories.post('s1', { user: 'ada', media: 'beach.jpg' });
  await t.outage('3 days');
  assert.equal(await stories.read('s1'), null);
  await t.runDue();
  assert.deepEqual([[...studio.media], [...studio.index]], [[], []]);
  await t.stop();
});

test('a clean-up that fails half way is repeated until it is whole', async () => {
  const t = createTestDuly();
  const studio = createStudio();
  const stories = defineStories(t, studio);
  await stories.post('s1', { user: 'ada', media: 'beach.jpg' });
  studio.failOnce();
  await t.advance('25h');
  assert.deepEqual([[...studio.media], [...studio.index]], [[], []]);
  await t.stop();
});

test('a story that is taken back needs no clean-up', async () => {
  const t = createTestDuly();
  const studio = createStudio();
  const stories = defineStories(t, studio);
  await stories.post('s1', { user: 'ada', media: 'beach.jpg' });
  assert.equal(await stories.takeBack('s1'), true);
  assert.equal(await stories.takeBack('s1'), false);
  assert.deepEqual(await t.advance('2 days'), []);
  await t.stop();
});
