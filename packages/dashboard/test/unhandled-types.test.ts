import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unhandledTypes } from '../src/pages/overview/unhandled-types.ts';

const lane = (type: string, count: number, dueAt: number | null, capped = false) => ({
  lanes: [
    { type, ready: { count, capped }, oldest_due_at: dueAt === null ? null : new Date(dueAt).toISOString() },
  ],
});

test('a task that nobody handles is told once, with all that wait in all queues', () => {
  const queues = [
    lane('mail', 2, 1_000),
    lane('mail', 3, 2_000, true),
    lane('pdf', 1, 1_000),
    lane('video', 1, 9_000),
    lane('idle', 0, null),
  ];
  assert.deepEqual(unhandledTypes(queues, new Set(['pdf']), 5_000), [
    { type: 'mail', ready: { count: 5, capped: true }, queueCount: 2 },
  ]);
});
