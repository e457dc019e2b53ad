import { hostname } from 'node:os';
import { type Clock, type Duly, formatDuration } from '@duly/core';

/** Whether this process can do its work now, and if not, why. */
export interface Readiness {
  ready: boolean;
  /** What is wrong, in words; empty: nothing. */
  reasons: string[];
  /** How long the store took to answer and to confirm a write; null: it did not. */
  storeMs: number | null;
  /** The nodes of this process: how long ago the store got the last heartbeat of each. */
  nodes: { id: string; heartbeatAgeMs: number; notReady: string | null }[];
}

/** So long the store may take to answer, and to confirm a write. */
export const storePatienceMs = 2_000;
// Nodes send a heartbeat every 10 s; two that are missing mean that the loop stands still or its writes do not arrive.
const heartbeatAgeMsMax = 20_000;

/**
 * Looks: has the store confirm a write, and asks whether the loops of this process move. That it can be read says little: while a synchronous
 * standby is away, or a disk is full, everything can be read and nothing is kept. Answers in time, also when the store does not.
 */
export async function readReadiness({ duly, clock }: { duly: Duly; clock: Clock }): Promise<Readiness> {
  const sinceElapsed = clock.elapsed();
  const over = new AbortController();
  const late = clock.sleep(storePatienceMs, over.signal).then(() => null);
  try {
    // A little less than the whole, so that who asks hears which question had no answer.
    const patience = storePatienceMs - 200;
    const asked = Promise.all([duly.health({ scope: 'store', patience }), duly.counts(), duly.nodes()]);
    const answer = await Promise.race([asked, late]);
    if (answer === null) {
      return unready(`The store has not answered for ${formatDuration(storePatienceMs)}.`);
    }
    const [{ checks }, { now }, all] = answer;
    const failing = checks.find(({ state }) => state === 'failing');
    if (failing !== undefined) return unready(failing.message);
    const nodes = all
      .filter(({ pid, host }) => pid === process.pid && host === hostname())
      .map(({ id, heartbeatAt, notReady, drainRequestedAt }) => ({
        id,
        heartbeatAgeMs: Math.max(0, now.getTime() - heartbeatAt.getTime()),
        notReady: drainRequestedAt === null ? notReady : 'It was asked to drain and takes no more work.',
      }));
    const reasons = nodes.flatMap(({ id, heartbeatAgeMs, notReady }) => [
      ...(notReady === null ? [] : [`Node ${id}: ${notReady}`]),
      ...(heartbeatAgeMs <= heartbeatAgeMsMax
        ? []
        : [`Node ${id} has sent no heartbeat for ${formatDuration(heartbeatAgeMs)}.`]),
    ]);
    return {
      ready: reasons.length === 0,
      reasons,
      storeMs: Math.round(clock.elapsed() - sinceElapsed),
      nodes,
    };
  } catch (error) {
    return unready(`The store failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    over.abort();
  }
}

/** Not ready for this reason, without an answer of the store. */
export function unready(reason: string): Readiness {
  return { ready: false, reasons: [reason], storeMs: null, nodes: [] };
}
