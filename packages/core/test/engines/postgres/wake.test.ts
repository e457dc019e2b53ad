// Which nodes a job wakes: engines and workers of several processes on one store, with real notifications between them.

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import { freshSchema } from '../../../../../test/servers/postgres.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/engine.ts';
import { createHeartbeats } from '../../../src/store/heartbeats.ts';
import { createWorker } from '../../../src/worker/worker.ts';
import { task } from '../../worker/setup.ts';
import { open } from './setup.ts';

const leaseMs = 30_000;

/** A worker of a process of its own, as far as the store knows. */
async function startNode(t: TestContext, schema: string, node: string, type: string, run: () => void) {
  const store = createPostgresEngine(await open({ schema }));
  let exchanges = 0;
  const engine: Engine = {
    ...store,
    exchange(input) {
      exchanges++;
      return store.exchange(input);
    },
  };
  const seen = new Set<string>();
  const waits = new Map<string, () => void>();
  const proven = Promise.withResolvers<void>();
  store.subscribe(({ kind, types = [] }) => {
    if (kind === 'probe') proven.resolve();
    for (const one of types) {
      seen.add(one);
      waits.get(one)?.();
    }
  });
  await proven.promise;
  const parts = { engine, clock: systemClock, random: systemRandom, node, leaseMs };
  const heartbeats = createHeartbeats({
    ...parts,
    heartbeatMs: leaseMs / 6,
    onHeartbeat: (news) => worker.onHeartbeat(news),
  });
  // Nothing but a notification wakes it while the test runs.
  const maxSleepMs = () => 3_600_000;
  const worker = createWorker({
    ...parts,
    tasks: new Map([[type, task(type, run)]]),
    heartbeats,
    maxSleepMs,
  });
  t.after(async () => {
    await worker.drain({ limitMs: 0 });
    heartbeats.close();
    await store.close();
  });
  const idle = worker.events.next('idle');
  worker.start();
  await idle;
  return {
    exchanges: () => exchanges,
    /** Resolves once jobs of a type were announced here. */
    hears: (one: string) =>
      new Promise<void>((resolve) => {
        if (seen.has(one)) resolve();
        else waits.set(one, resolve);
      }),
  };
}

it('nodes without a task make no exchange for its jobs, and the node that has it runs them', async (t) => {
  const schema = freshSchema();
  const creator = createPostgresEngine(await open({ schema }));
  t.after(() => creator.close());
  const count = 40;
  let ran = 0;
  const done = Promise.withResolvers<void>();
  const others = await Promise.all(
    ['b', 'c', 'd'].map((type) => startNode(t, schema, `node-${type}`, type, () => assert.fail())),
  );
  await startNode(t, schema, 'node-a', 'a', () => {
    ran++;
    if (ran === count) done.resolve();
  });
  const before = others.map(({ exchanges }) => exchanges());
  for (let n = 0; n < count; n++) {
    const serial = n % 3 === 0 ? `line ${n % 2}` : null;
    await creator.enqueue({ groups: [{ jobs: [jobSpec({ type: 'a', due: { inMs: n % 4 }, serial })] }] });
  }
  await done.promise;
  // On one connection notifications arrive in the order of their commits: with the last one all others were heard of.
  await creator.enqueue({ groups: [{ jobs: [jobSpec({ type: 'last', due: { inMs: 0 } })] }] });
  await Promise.all(others.map((node) => node.hears('last')));
  assert.deepEqual(
    others.map(({ exchanges }) => exchanges()),
    before,
  );
});
