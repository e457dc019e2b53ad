import { hostname } from 'node:os';
import type { Engine, NodeInfo } from '../contract/engine.ts';
import { nodeHeartbeatMs, nodeSilentMs } from '../contract/timings.ts';

/** What the heartbeat of a node needs. */
export interface NodeHeartbeatOptions {
  engine: Pick<Engine, 'nodes'>;
  /** What the node says of itself, read at every heartbeat. */
  info(): NodeInfo;
  /** Told once when somebody asked this node to drain. */
  onDrainAsked(requestedAt: number): void;
}

/** A node that is known to the store. */
export interface NodeHeartbeat {
  /** Sends one heartbeat; a pass for a loop. */
  pass(): Promise<number>;
  /** Takes the node off the list, at its end. */
  leave(): Promise<void>;
}

/** A node silent for less may still come back with outcomes, after an outage: a new node then gives it time. */
export const nodeAwayMs = 10 * 60_000;

/** Whether a listed node may still be there: one of this host whose process is gone is not. */
export function mayBeAlive({ host, pid }: Pick<NodeInfo, 'host' | 'pid'>): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Makes the pass that keeps a node listed and hears when it is asked to drain. */
export function createNodeHeartbeat(options: NodeHeartbeatOptions): NodeHeartbeat {
  const { engine, info, onDrainAsked } = options;
  let isDrainReported = false;

  return {
    async pass() {
      const heartbeat = info();
      const { nodes } = await engine.nodes({
        heartbeat,
        leave: null,
        drain: null,
        forgetAfterMs: nodeSilentMs,
      });
      const requestedAt = nodes.find(({ id }) => id === heartbeat.id)?.drainRequestedAt ?? null;
      if (requestedAt !== null && !isDrainReported) {
        isDrainReported = true;
        onDrainAsked(requestedAt);
      }
      return nodeHeartbeatMs;
    },
    async leave() {
      await engine.nodes({ heartbeat: null, leave: info().id, drain: null, forgetAfterMs: nodeSilentMs });
    },
  };
}
