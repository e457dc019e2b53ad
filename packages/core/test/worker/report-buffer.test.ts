import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReportBuffer } from '../../src/worker/report-buffer.ts';

const progress = (percent: number, message: string | null = null) => ({
  percent,
  message,
  step: null,
  of: null,
});

test('a report takes what was shown and logged since the last one', () => {
  const buffer = createReportBuffer();
  assert.deepEqual([buffer.isEmpty(), buffer.take()], [true, null]);
  buffer.show(progress(60, 'Halfway'));
  buffer.show(progress(40));
  buffer.addLine('info', 'first', 5);
  assert.equal(buffer.isEmpty(), false);
  assert.deepEqual(buffer.take()?.body, {
    progress: progress(60, 'Halfway'),
    logs: [{ line: 1, at: 5, level: 'info', message: 'first' }],
  });
  assert.deepEqual([buffer.isEmpty(), buffer.take()], [true, null]);
  buffer.addLine('warn', 'second', 6);
  assert.deepEqual(buffer.take()?.body, {
    progress: null,
    logs: [{ line: 2, at: 6, level: 'warn', message: 'second' }],
  });
});

test('what did not arrive goes before what came meanwhile, with the latest progress', () => {
  const buffer = createReportBuffer();
  buffer.show(progress(10));
  buffer.addLine('info', 'first', 1);
  const taken = buffer.take();
  assert.ok(taken !== null);
  buffer.addLine('info', 'second', 2);
  buffer.putBack(taken);
  const { body } = buffer.take() ?? {};
  assert.deepEqual(body?.progress, progress(10));
  assert.deepEqual(
    body?.logs.map(({ line, message }) => [line, message]),
    [
      [1, 'first'],
      [2, 'second'],
    ],
  );
});

test('beyond 1,000 lines the oldest half is dropped, and a line says how many', () => {
  const buffer = createReportBuffer();
  for (let i = 1; i <= 1_001; i++) buffer.addLine('info', `line ${i}`, i);
  const taken = buffer.take();
  assert.ok(taken !== null);
  const { logs } = taken.body;
  assert.deepEqual(
    [logs.length, logs[0]?.line, logs[0]?.at, logs[0]?.level, logs[1]?.message],
    [501, 501, 502, 'warn', 'line 502'],
  );
  assert.match(logs[0]?.message ?? '', /^501 lines before this one were dropped/);

  // The note is written anew for what is put back.
  for (let i = 1_002; i <= 1_502; i++) buffer.addLine('info', `line ${i}`, i);
  buffer.putBack(taken);
  const again = buffer.take()?.body.logs ?? [];
  assert.deepEqual([again.length, again[0]?.line, again.at(-1)?.message], [501, 1_002, 'line 1502']);
  assert.match(again[0]?.message ?? '', /^1002 lines before this one were dropped/);
});
