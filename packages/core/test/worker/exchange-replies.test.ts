import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/base/emitter.ts';
import type { ClaimedJob, ClaimRequest, ExchangeReply } from '../../src/contract/engine.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createExchangeReplies } from '../../src/worker/exchange-replies.ts';
import { createNextDue } from '../../src/worker/next-due.ts';
import type { WorkerEvents } from '../../src/worker/worker-events.ts';

const maxSleepMs = 10_000;
const claim = { token: 'claim', limit: 5 } as ClaimRequest;
const job = { id: 'job_1' } as ClaimedJob;
const exchange = { batch: { settle: [], isIsolated: false }, claim, isRepeated: false, isInternal: false };

/** Replies to a worker whose state the test sets. What is called is noted, in its order. */
function setup() {
  const clock = createManualClock();
  const notes: string[] = [];
  const state = { waiting: 0, lost: 0, isFull: false, isPrefetching: false, isQuiet: false };
  const events = createEvents<WorkerEvents>();
  events.on('passes', ({ claimed, settled }) => notes.push(`pass ${claimed} ${settled}`));
  events.on('idle', ({ nextDueAt }) => notes.push(`idle until ${nextDueAt}`));
  const replies = createExchangeReplies({
    clock,
    maxSleepMs: () => maxSleepMs,
    events,
    outbox: {
      recorded: () => void notes.push('recorded'),
      waiting: () => Array.from({ length: state.waiting }),
    } as never,
    intake: {
      answered: ({ token }) => void notes.push(`answered ${token}`),
      learn: (_, { hasClaim, isMore }) => void notes.push(`learn ${hasClaim} ${isMore}`),
      receive: (source, claimed, { sureElapsed }) =>
        void notes.push(`receive ${claimed.length} of ${source} at ${sureElapsed}`),
      isPrefetching: () => state.isPrefetching,
      isFull: () => state.isFull,
      lostCount: () => state.lost,
    },
    nextDue: createNextDue(clock),
    isQuiet: () => state.isQuiet,
    onPrefetching: () => void notes.push('prefetch'),
    onChange: () => void notes.push('change'),
  });
  const take = (reply: Partial<ExchangeReply>, fields: Partial<typeof exchange> | { claim: null } = {}) =>
    replies.take(
      { ...exchange, ...fields },
      { now: 1_000, settled: [], claimed: [], more: false, nextDueAt: null, ...reply } as ExchangeReply,
      clock.elapsed(),
    );
  return { clock, notes, state, replies, take };
}

test('a reply frees the capacity of its claim and records outcomes before its jobs are received', () => {
  const { clock, notes, take } = setup();
  clock.jump(50);
  take({ claimed: [job], more: true });
  assert.deepEqual(notes, [
    'answered claim',
    'recorded',
    'learn true true',
    'receive 1 of exchange at 50',
    'pass 1 0',
    'change',
  ]);
});

test('a repeated exchange says so, and one that was parked too', () => {
  const { notes, replies, take } = setup();
  take({}, { isRepeated: true });
  assert.ok(notes.includes('receive 0 of repeat at 0'));
  const reply = { now: 1_000, settled: [], claimed: [], more: false, nextDueAt: null } as never;
  replies.take(exchange, reply, 7, 'parked');
  assert.ok(notes.includes('receive 0 of parked at 7'));
});

test('the worker is idle when it is quiet, has claimed and no more jobs are due', () => {
  const { notes, state, take } = setup();
  state.isQuiet = true;
  take({ nextDueAt: 2_000 });
  take({ more: true });
  take({}, { claim: null });
  assert.deepEqual(
    notes.filter((note) => note.startsWith('idle')),
    ['idle until 2000'],
  );
});

test('the next exchange is sent at once while outcomes or lost claims wait, or if this one did not claim', () => {
  const { state, take } = setup();
  assert.equal(take({}, { claim: null }), 0);
  state.waiting = 1;
  assert.equal(take({}), 0);
  state.waiting = 0;
  state.lost = 1;
  assert.equal(take({}), 0);
});

test('it is sent at once after jobs if more are due, and soon after none', () => {
  const { state, take } = setup();
  assert.equal(take({ more: true, claimed: [job] }), 0);
  assert.equal(take({ more: true }), 50);
  assert.equal(take({ nextDueAt: 1_000 }), 50);
  state.isFull = true;
  assert.equal(take({ more: true, claimed: [job] }), maxSleepMs, 'an attempt that ends wakes the worker');
});

test('it waits until the next job falls due, but not longer than the worker may sleep', () => {
  const { take } = setup();
  assert.equal(take({ nextDueAt: 4_000 }), 3_000);
  assert.equal(take({ nextDueAt: 61_000 }), maxSleepMs);
  assert.equal(take({}), maxSleepMs);
});

test('a claim with a limit of 0 has no more jobs to bring', () => {
  const { notes, take } = setup();
  assert.equal(take({ more: true }, { claim: { ...claim, limit: 0 } }), maxSleepMs);
  assert.ok(notes.includes('learn true false'));
});

test('while the worker fetches ahead, each reply asks for a second exchange', () => {
  const { notes, state, take } = setup();
  state.isPrefetching = true;
  take({ claimed: [job] });
  assert.ok(notes.includes('prefetch'));
});
