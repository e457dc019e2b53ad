import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../src/base/emitter.ts';
import { dulyError } from '../src/base/errors.ts';
import { createIds } from '../src/base/ids.ts';
import { quietLogger } from '../src/base/logger.ts';
import { seededRandom } from '../src/base/random.ts';
import type { Engine } from '../src/contract/engine.ts';
import type { DulyEvents } from '../src/events.ts';
import { createNode } from '../src/node.ts';
import { createManualClock } from '../src/testing/manual-clock.ts';

test('while the store is away, a scheduler asks it again within half a second, however long it is away', async () => {
  const clock = createManualClock();
  const random = seededRandom(1);
  const askedElapsed: number[] = [];
  const events = createEvents<DulyEvents>(() => {});
  const node = createNode({
    id: 'node',
    engine: {
      info: () => ({ wake: 'poll', durable: true }),
      subscribe: () => () => {},
      nodes: async () => ({ nodes: [], now: 0 }),
      async claimSchedules() {
        askedElapsed.push(clock.elapsed());
        throw dulyError('store_unavailable', { message: 'away' });
      },
    } as unknown as Engine,
    ids: createIds({ clock, random }),
    options: {
      clock,
      random,
      leaseMs: 30_000,
      heartbeatMs: 5_000,
      drainMs: 0,
      logger: quietLogger,
      store: 'sqlite::memory:',
      app: 'test',
      release: null,
      concurrency: 1,
      queues: null,
      tracing: null,
      actor: 'test',
      inputBytesMax: 1,
      retention: { changesMs: 1, auditMs: 1, ledgerMs: 1 },
    },
    start: { roles: ['scheduler'], concurrency: 1, queues: null, signals: false },
    tasks: new Map(),
    declares: () => [],
    createHeartbeats: () => assert.fail('a scheduler has no leases of jobs'),
    openParkedClaim: () => null,
    events,
    startedAt: 0,
    isAlone: true,
    virtual: false,
  });
  await node.start();
  await clock.advance(60_000);
  const waits = askedElapsed.slice(1).map((at, i) => at - (askedElapsed[i] as number));
  assert.ok(waits.length >= 60_000 / 500, `${waits.length} repeats`);
  assert.ok(Math.max(...waits) <= 500, `waited ${Math.max(...waits)} ms`);
  const last = waits.slice(-10).reduce((sum, ms) => sum + ms, 0);
  assert.ok(last > 2_500, `${last} ms for the last ten: a broken store is asked too often`);
  await node.stop(0);
});
