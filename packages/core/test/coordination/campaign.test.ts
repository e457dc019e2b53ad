import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import type { AcquireInput, AcquireReply, Engine } from '../../src/contract/engine.ts';
import { startCampaign } from '../../src/coordination/campaign.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

const ttlMs = 30_000;
const other = { host: 'other', pid: 1, node: 'n2' };

/** A campaign at a store that answers `acquire` as the test says. */
function setup() {
  const clock = createManualClock();
  const notes: string[] = [];
  const state = { holder: null as typeof other | null, error: null as Error | null, kept: true };
  let fence = 0;
  const engine = {
    async acquire({ name }: AcquireInput): Promise<AcquireReply> {
      notes.push(`acquire ${name}`);
      if (state.error !== null) throw state.error;
      const now = clock.now();
      if (state.holder === null) return { now, acquired: true, fence: ++fence } as AcquireReply;
      return { now, acquired: false, holder: state.holder, fence, untilAt: now + 60_000 } as AcquireReply;
    },
    renew: async () => ({ now: clock.now(), locks: [state.kept ? 'kept' : 'lost'] }),
    async release() {
      notes.push('release');
      return { now: clock.now(), locks: ['kept'] };
    },
    subscribe: () => () => void notes.push('unsubscribe'),
  } as unknown as Engine;
  const campaign = startCampaign(
    {
      engine: async () => engine,
      clock,
      holder: () => ({ host: 'here', pid: 2, node: 'n1' }),
      newToken: () => 'token',
      renewals: () => null,
      maxSleepMs: () => 1_000,
      closed: new AbortController().signal,
      abandoned: new AbortController().signal,
      held: new Set(),
    },
    {
      name: 'reports',
      ttlMs,
      onElected: (term) => void notes.push(`elected ${term.fence}`),
      onLost: (error) => void notes.push(`lost ${(error as { code?: string } | null)?.code ?? null}`),
      onError: (error) => void notes.push(`error ${(error as Error).message}`),
    },
  );
  return { clock, notes, state, campaign };
}

test('a campaign leads until it is ended, and releases its lock then', async () => {
  const { clock, notes, campaign } = setup();
  assert.equal(campaign.lock(), null);
  assert.equal((await campaign.nextTerm()).fence, 1);
  assert.equal(campaign.lock()?.fence, 1);
  campaign.end('resigned');
  await campaign.finished;
  assert.deepEqual([campaign.lock(), campaign.ended.reason], [null, 'resigned']);
  assert.deepEqual(notes, ['acquire leader:reports', 'elected 1', 'release', 'lost null', 'unsubscribe']);
  assert.equal(clock.pendingCount(), 0);
});

test('after a lost term it stands again', async () => {
  const { clock, notes, state, campaign } = setup();
  await campaign.nextTerm();
  state.kept = false;
  await clock.advance(ttlMs / 3);
  await clock.settle();
  assert.deepEqual(notes.slice(2), ['lost lock_lost', 'acquire leader:reports', 'elected 2']);
  campaign.end('over');
  await campaign.finished;
});

test('while another process leads it asks every 5 s, and knows that process', async () => {
  const { clock, notes, state, campaign } = setup();
  state.holder = other;
  const next = campaign.nextTerm();
  await clock.advance(4_999);
  assert.deepEqual([notes.length, campaign.leader(), campaign.lock()], [1, other, null]);
  state.holder = null;
  await clock.advance(1);
  assert.equal((await next).fence, 1);
  assert.equal(campaign.leader(), null);
  campaign.end('over');
  await campaign.finished;
});

test('a store that fails is asked again after a second; one that is closed ends the campaign', async () => {
  const { clock, notes, state, campaign } = setup();
  state.error = new Error('away');
  const rejected = assert.rejects(campaign.nextTerm(), { code: 'store_closed' });
  await clock.advance(999);
  assert.deepEqual(notes, ['acquire leader:reports', 'unsubscribe', 'error away']);
  state.error = dulyError('store_closed', { message: 'The store was closed.' });
  await clock.advance(1);
  await rejected;
  await campaign.finished;
  assert.equal(campaign.ended.aborted, true);
  assert.deepEqual(notes.slice(3), ['acquire leader:reports', 'unsubscribe']);
});
