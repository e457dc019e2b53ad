// Functions of `once` that run after a result was recorded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onceRecorded } from '../checker/once-recorded.ts';
import type { HistoryEvent } from '../history.ts';
import { judge } from './judge.ts';

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
