import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimRequest } from '../../src/contract/engine.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createLostClaims } from '../../src/worker/lost-claims.ts';

function setup() {
  const clock = createManualClock();
  const expired: string[] = [];
  const claims = createLostClaims({ clock, leaseMs: 30_000, onExpired: ({ token }) => expired.push(token) });
  const add = (token: string, isFirst = false) => claims.add({ token } as ClaimRequest, { isFirst });
  return { clock, expired, claims, add, take: () => claims.take()?.token ?? null };
}

test('lost claims are sent again in their order, and those that were refused before the others', () => {
  const { claims, add, take } = setup();
  add('one');
  add('two');
  add('first', true);
  assert.equal(claims.count(), 3);
  assert.deepEqual([take(), take(), take(), take()], ['first', 'one', 'two', null]);
});

test('after a lease has passed a claim is not sent again', () => {
  const { clock, expired, claims, add, take } = setup();
  add('old');
  clock.jump(1);
  add('new');
  clock.jump(29_999);
  assert.deepEqual([take(), expired, claims.count()], ['new', ['old'], 0]);
});
