import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playKill } from './killed-primary.ts';
import { isExact } from './lateness.ts';

test('schedules that fall due while their primary is killed run exactly once after its return, none early', async (t) => {
  const round = await playKill({ count: 500, killBeforeMs: 400, startAfterMs: 1_000 });
  const text = JSON.stringify(round);
  t.diagnostic(text);
  assert.ok(isExact(round), text);
  assert.ok(round.killedMs < 0 && round.returnedMs > 1_000, text);
  assert.ok(round.fromReturn.p50 > 0 && round.fromReturn.last < 30_000, text);
});
