import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/base/emitter.ts';
import { dulyError } from '../../src/base/errors.ts';
import type { ClaimRequest, ExchangeReply } from '../../src/contract/engine.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createParkedReplies } from '../../src/worker/parked-replies.ts';
import type { WorkerEvents } from '../../src/worker/worker-events.ts';

const claim = { token: 'parked', limit: 5 } as ClaimRequest;

function setup({ waitMs = 0 } = {}) {
  const clock = createManualClock();
  const notes: string[] = [];
  const events = createEvents<WorkerEvents>();
  events.on('error', ({ doing }) => notes.push(`error ${doing}`));
  const parked = createParkedReplies({
    clock,
    events,
    intake: {
      reserve: ({ token }) => void notes.push(`reserve ${token}`),
      lost: ({ token }) => void notes.push(`lost ${token}`),
    },
    replies: {
      take(exchange, _reply, sentElapsed, source) {
        notes.push(`take ${exchange.claim?.token} of ${source} at ${sentElapsed}`);
        return waitMs;
      },
    },
    loops: {
      wake: () => void notes.push('wake'),
      wakeWithin: (ms) => void notes.push(`wake within ${ms}`),
    },
  });
  return { clock, notes, parked };
}

test('the reply to a parked claim is taken as that of an exchange, whose capacity is reserved first', () => {
  const { clock, notes, parked } = setup();
  clock.jump(100);
  parked.onDelivered(claim, { nextDueAt: null } as ExchangeReply, 30);
  assert.deepEqual(notes, ['reserve parked', 'take parked of parked at 70', 'wake']);
});

test('the loop sleeps until the job that the reply announces, if there is one', () => {
  const { notes, parked } = setup({ waitMs: 500 });
  parked.onDelivered(claim, { nextDueAt: 1 } as ExchangeReply, 0);
  assert.equal(notes.at(-1), 'wake within 500');
  parked.onDelivered(claim, { nextDueAt: null } as ExchangeReply, 0);
  assert.equal(notes.at(-1), 'take parked of parked at 0');
});

test('a claim that was not sent only wakes the loop', () => {
  const { notes, parked } = setup();
  parked.onDelivered(claim, null, 0);
  assert.deepEqual(notes, ['wake']);
});

test('a claim whose reply was lost is sent again, and a refused one is not', () => {
  const { notes, parked } = setup();
  parked.onFailed(claim, dulyError('store_unavailable', { message: 'no reply' }), 0);
  const error = 'error claiming what was just notified';
  assert.deepEqual(notes, [error, 'reserve parked', 'lost parked', 'wake']);
  parked.onFailed(claim, dulyError('internal', { message: 'refused' }), 0);
  assert.deepEqual(notes.slice(4), [error, 'wake']);
});
