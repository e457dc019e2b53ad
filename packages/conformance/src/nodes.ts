import assert from 'node:assert/strict';
import type { Engine, NodesInput } from '@duly/core/internal';
import { hour, minute, nodeInfo, t0 } from './builders.ts';
import { only } from './steps.ts';
import type { DefineTest } from './suite.ts';

const nodes = (engine: Engine, fields: Partial<NodesInput> = {}) =>
  engine.nodes({ now: t0, heartbeat: null, leave: null, drain: null, forgetAfterMs: hour, ...fields });

/** What `nodes` promises. */
export function nodeTests(test: DefineTest): void {
  test('a node that sends heartbeats is listed with what it said and when', async ({ engine }) => {
    assert.deepEqual((await nodes(engine)).nodes, []);
    const info = nodeInfo('node-ä', { queues: ['mail'], notReady: 'every slot is stuck', running: 3 });
    await nodes(engine, { heartbeat: info });
    assert.deepEqual(only((await nodes(engine)).nodes), { ...info, heartbeatAt: t0, drainRequestedAt: null });
  });

  test('a heartbeat replaces what the node said before', async ({ engine }) => {
    await nodes(engine, { heartbeat: nodeInfo('a', { running: 1 }) });
    const reply = await nodes(engine, { now: t0 + minute, heartbeat: nodeInfo('a', { running: 2 }) });
    const node = only(reply.nodes);
    assert.deepEqual([node.running, node.heartbeatAt], [2, t0 + minute]);
  });

  test('a node that leaves is listed no more', async ({ engine }) => {
    await nodes(engine, { heartbeat: nodeInfo('a') });
    await nodes(engine, { heartbeat: nodeInfo('b') });
    const reply = await nodes(engine, { leave: 'a' });
    assert.deepEqual(
      reply.nodes.map(({ id }) => id),
      ['b'],
    );
    assert.equal((await nodes(engine, { leave: 'never' })).nodes.length, 1);
  });

  test('a node that is silent for longer than asked is forgotten', async ({ engine }) => {
    await nodes(engine, { heartbeat: nodeInfo('silent') });
    await nodes(engine, { heartbeat: nodeInfo('alive'), now: t0 + minute });
    const reply = await nodes(engine, { now: t0 + hour + 1 });
    assert.deepEqual(
      reply.nodes.map(({ id }) => id),
      ['alive'],
    );
  });

  test('a node that is asked to drain learns it with its next heartbeat and keeps the first instant', async ({
    engine,
  }) => {
    await nodes(engine, { heartbeat: nodeInfo('a') });
    await nodes(engine, { now: t0 + 5, drain: { id: 'a', actor: 'key:anna' } });
    await nodes(engine, { now: t0 + 6, drain: { id: 'a', actor: 'key:anna' } });
    const reply = await nodes(engine, { now: t0 + 7, heartbeat: nodeInfo('a', { running: 9 }) });
    const node = only(reply.nodes);
    assert.deepEqual([node.drainRequestedAt, node.running], [t0 + 5, 9]);
  });
}
