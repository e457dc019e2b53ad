import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/base/emitter.ts';

test('listeners are told in order until they leave', () => {
  const events = createEvents<{ said: string }>();
  const received: string[] = [];
  const leave = events.on('said', (word) => received.push(`first ${word}`));
  events.on('said', (word) => received.push(`second ${word}`));
  assert.equal(events.has('said'), true);
  events.emit('said', 'a');
  leave();
  events.emit('said', 'b');
  assert.deepEqual(received, ['first a', 'second a', 'second b']);
});

test('next resolves with the first event that fits, and listens no longer', async () => {
  const events = createEvents<{ counted: number }>();
  const next = events.next('counted', (n) => n > 1);
  for (const n of [1, 2, 3]) events.emit('counted', n);
  assert.equal(await next, 2);
  assert.equal(events.has('counted'), false);
});

test('a listener that throws hinders nobody and is told', () => {
  const reported: unknown[] = [];
  const events = createEvents<{ said: string }>((error, name) =>
    reported.push([name, (error as Error).message]),
  );
  const received: string[] = [];
  events.on('said', () => {
    throw new Error('broken');
  });
  events.on('said', (word) => received.push(word));
  events.emit('said', 'a');
  assert.deepEqual(received, ['a']);
  assert.deepEqual(reported, [['said', 'broken']]);
});

test('a listener whose promise is rejected is told like one that throws', async () => {
  const reported = Promise.withResolvers<unknown>();
  const events = createEvents<{ said: string }>((error, name) =>
    reported.resolve([name, (error as Error).message]),
  );
  events.on('said', async () => {
    throw new Error('broken later');
  });
  events.emit('said', 'a');
  assert.deepEqual(await reported.promise, ['said', 'broken later']);
});
