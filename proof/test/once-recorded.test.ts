// Functions of `once` that run after a result was recorded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onceRecorded } from '../checker/once-recorded.ts';
import type { HistoryEvent } from '../history.ts';
import { changed, judge } from './judge.ts';

const granted = (at: number, node: string, fence: number): HistoryEvent => ({
  ...{ kind: 'locked', at, node, name: 'once:o', verb: 'acquire', result: 'acquired', fence },
  untilAt: at + 5_000,
});

const ran = (at: number, node: string, fence: number): HistoryEvent => ({
  ...{ kind: 'once', at, node, key: 'o', state: 'ran', value: String(fence) },
});

const written = (at: number, node: string, fence: number): HistoryEvent => ({
  ...{ kind: 'remembered', at, node, scope: 'once', key: 'o', result: 'written', value: String(fence) },
  guard: { lock: 'once:o', fence },
});

const jumped = (at: number, byMs: number): HistoryEvent => ({
  ...{ kind: 'fault', at, node: '*', fault: 'store-clock-jump', detail: '', untilAt: at + byMs + 30_000 },
});

test('a run after the recorded result breaks the invariant, unless the clock of the store jumped over the end of its lock', () => {
  const second = [granted(7_000, 'b', 2), ran(7_001, 'b', 2), written(7_002, 'b', 2)];
  const late = ran(7_500, 'a', 1);
  assert.match(judge(onceRecorded, [granted(1_000, 'a', 1), ...second, late]), /a ran it at/);
  assert.equal(judge(onceRecorded, [granted(1_000, 'a', 1), jumped(2_000, 5_000), ...second, late]), '');
  // Granted after the jump, the lock ends by every clock at the same time.
  assert.match(judge(onceRecorded, [jumped(500, 100), granted(1_000, 'a', 1), ...second, late]), /a ran it/);
  // By then the holder has asked for a renewal.
  const muchLater = ran(60_000, 'a', 1);
  assert.match(
    judge(onceRecorded, [granted(1_000, 'a', 1), jumped(2_000, 5_000), ...second, muchLater]),
    /a ran it/,
  );
});

const step = (
  at: number,
  node: string,
  result: 'absent' | 'written',
  value: string | null,
): HistoryEvent => ({
  ...{ kind: 'remembered', at, node, scope: 'job:job_1', key: 'pay', result, value },
});

const stepRan = (at: number, node: string): HistoryEvent => ({
  ...{ kind: 'once', at, node, scope: 'job:job_1', key: 'pay', state: 'ran', value: node },
});

test('the steps of a job are deleted with it', () => {
  const first = [step(10, 'a', 'absent', null), stepRan(20, 'a'), step(30, 'a', 'written', '"a"')];
  const second = [step(60, 'b', 'absent', null), stepRan(70, 'b'), step(80, 'b', 'written', '"b"')];
  assert.match(judge(onceRecorded, [...first, ...second]), /b found nothing/);
  assert.equal(judge(onceRecorded, [...first, changed(50, 'delete', 'job_1'), ...second]), '');
});

test('two attempts run a step only if each of them found nothing before it ran', () => {
  const [a, b] = [step(10, 'a', 'absent', null), step(11, 'b', 'absent', null)];
  assert.equal(judge(onceRecorded, [a, b, stepRan(20, 'a'), stepRan(21, 'b')]), '');
  // Two attempts on one node.
  assert.equal(
    judge(onceRecorded, [a, step(11, 'a', 'absent', null), stepRan(20, 'a'), stepRan(21, 'a')]),
    '',
  );
  assert.match(judge(onceRecorded, [a, stepRan(20, 'a'), stepRan(21, 'a')]), /a ran it/);
});
