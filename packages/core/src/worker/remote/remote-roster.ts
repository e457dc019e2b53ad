// The remote workers that are heard of here, as nodes of the store.

import type { Engine, NodeInfo } from '../../contract/engine.ts';
import { nodeHeartbeatMs, nodeSilentMs } from '../../contract/timings.ts';
import type { RemoteDeps } from './remote-workers.ts';

/** Lists remote workers among the nodes, and knows the store's instant. */
export interface RemoteRoster {
  /** Notes the store's instant, which every reply carries. */
  received(reply: { now: number }): void;
  /** The store's instant, as far as it is known here: for log lines that tell none. */
  storeNow(engine: Engine): Promise<number>;
  /** Lists a worker among the nodes, and hears whether it is asked to drain. */
  heartbeat(engine: Engine, info: NodeInfo): Promise<boolean>;
  /** The worker of this node as it was listed last; undefined: it was not heard of for long. */
  known(node: string): NodeInfo | undefined;
  /** Takes a worker off the list. */
  leave(engine: Engine, node: string): Promise<void>;
}

// A worker that was not heard of here for long is announced anew when it comes back.
const knownMax = 10_000;

/** Creates an empty one. */
export function createRemoteRoster({ clock }: Pick<RemoteDeps, 'clock'>): RemoteRoster {
  const known = new Map<string, { info: NodeInfo; heartbeatElapsed: number; drain: boolean }>();
  let offset: { storeNow: number; elapsed: number } | null = null;

  function received({ now }: { now: number }): void {
    offset = { storeNow: now, elapsed: clock.elapsed() };
  }

  async function storeNow(engine: Engine): Promise<number> {
    if (offset === null) received(await engine.getExpiring({ keys: [] }));
    const { storeNow: at, elapsed } = offset as NonNullable<typeof offset>;
    return Math.round(at + clock.elapsed() - elapsed);
  }

  async function heartbeat(engine: Engine, info: NodeInfo): Promise<boolean> {
    const before = known.get(info.id);
    const isFresh = before !== undefined && clock.elapsed() - before.heartbeatElapsed < nodeHeartbeatMs / 2;
    if (isFresh && before.info.running === info.running) return before.drain;
    const startedAt = before?.info.startedAt ?? (await storeNow(engine));
    const shown = { ...info, startedAt };
    const reply = await engine.nodes({
      heartbeat: shown,
      leave: null,
      drain: null,
      forgetAfterMs: nodeSilentMs,
    });
    received(reply);
    const drain = (reply.nodes.find(({ id }) => id === info.id)?.drainRequestedAt ?? null) !== null;
    known.delete(info.id);
    if (known.size >= knownMax) known.delete(known.keys().next().value as string);
    known.set(info.id, { info: shown, heartbeatElapsed: clock.elapsed(), drain });
    return drain;
  }

  return {
    received,
    storeNow,
    heartbeat,
    known: (node) => known.get(node)?.info,
    async leave(engine, node) {
      known.delete(node);
      await engine.nodes({ heartbeat: null, leave: node, drain: null, forgetAfterMs: nodeSilentMs });
    },
  };
}
