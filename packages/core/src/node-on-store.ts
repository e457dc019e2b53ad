// Puts the node of a Duly together on its open store.

import type { Events } from './base/emitter.ts';
import type { Ids } from './base/ids.ts';
import type { DulyEvents } from './events.ts';
import { mayBeAlive, nodeAwayMs } from './maintenance/node-heartbeat.ts';
import { createNode, type DulyNode } from './node.ts';
import type { ResolvedOptions, ResolvedStart } from './options.ts';
import { createHeartbeats } from './store/heartbeats.ts';
import type { StoreSession } from './store/session.ts';
import type { Store } from './store/store.ts';
import type { StoreAccess } from './store-access.ts';
import type { TaskRegistry } from './tasks/task-registry.ts';

/** What the node of a Duly is put together from. */
export interface NodeOnStoreDeps {
  id: string;
  access: StoreAccess;
  session: StoreSession;
  ids: Ids;
  options: ResolvedOptions;
  start: ResolvedStart;
  registry: TaskRegistry;
  events: Events<DulyEvents>;
  virtual: boolean;
}

/** Creates the node. It does nothing until its `start`. */
export async function createNodeOn({
  id,
  access,
  session,
  ids,
  options,
  start,
  registry,
  events,
  virtual,
}: NodeOnStoreDeps): Promise<DulyNode> {
  const { now, nodes } = await session.engine.nodes({
    heartbeat: null,
    leave: null,
    drain: null,
    forgetAfterMs: nodeAwayMs,
  });
  const { clock, random, leaseMs, heartbeatMs } = options;
  return createNode({
    id,
    engine: session.engine,
    ids,
    options,
    start,
    tasks: registry.resolved,
    declares: () => [...registry.declaredIds],
    events,
    startedAt: now,
    isAlone: !nodes.some(mayBeAlive),
    virtual,
    createHeartbeats: (onHeartbeat, onError) => {
      const heartbeats = { node: id, leaseMs, heartbeatMs, onHeartbeat, onError };
      // On virtual time the heartbeats must go through the instrumented engine, which sets the instant.
      if (virtual) return createHeartbeats({ engine: session.engine, clock, random, ...heartbeats });
      return (access.store as Store).createHeartbeats(heartbeats);
    },
    openParkedClaim: ({ onDelivered, onFailed }) =>
      access.store?.openParkedClaim?.({
        node: id,
        onDelivered(claim, reply, tookMs) {
          session.instrumented.record('exchange', tookMs, null);
          onDelivered(claim, reply, tookMs);
        },
        onFailed(claim, error, tookMs) {
          session.instrumented.record('exchange', tookMs, error);
          onFailed(claim, error, tookMs);
        },
      }) ?? null,
  });
}
