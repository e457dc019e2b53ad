import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@duly/core';
import type { LiveEvent, LiveStream } from '../../src/live/live-stream.ts';
import { sseResponse } from '../../src/live/sse.ts';

/** A stream whose events are all there. */
function fullStream(count: number, data: string): LiveStream {
  let n = 0;
  const take = (): LiveEvent | null => (n < count ? { event: 'change', id: String(++n), data } : null);
  return { next: async () => take(), more: take, place: () => null, close() {} };
}

async function piecesOf(stream: LiveStream): Promise<string[]> {
  const response = sseResponse(stream, {
    clock: systemClock,
    heartbeatMs: 60_000,
    mayWatch: async () => true,
    signal: new AbortController().signal,
  });
  const pieces: string[] = [];
  for await (const piece of response.body as ReadableStream<Uint8Array>)
    pieces.push(Buffer.from(piece).toString());
  return pieces;
}

test('a burst goes out in few pieces, whole and in order', async () => {
  const [head, ...pieces] = await piecesOf(fullStream(10_000, '{"id":"job_x"}'));
  assert.match(head ?? '', /^retry: \d+\n\n$/);
  assert.ok(pieces.length < 20, `${pieces.length} pieces`);
  const ids = pieces.join('').match(/^id: \d+$/gm) ?? [];
  assert.deepEqual(
    ids,
    Array.from({ length: 10_000 }, (_, i) => `id: ${i + 1}`),
  );
  for (const piece of pieces) assert.ok(piece.endsWith('\n\n'), 'no event is cut in two');
});

test('large events are not gathered: a slow reader holds one of them', async () => {
  const [, ...pieces] = await piecesOf(fullStream(3, `"${'x'.repeat(100_000)}"`));
  assert.equal(pieces.length, 3);
});
