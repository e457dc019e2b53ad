import type { ClaimedJob, Engine, Settlement } from '../contract/engine.ts';
import { lossSettlement } from '../lifecycle/loss.ts';
import type { Contact } from './contact.ts';

/** What the reaping pass is made of. */
export interface ReapOptions {
  engine: Pick<Engine, 'reap' | 'exchange'>;
  node: string;
  /** How long this node has to settle what it was given. Default 30 s. */
  leaseMs?: number;
  /** Which ended leases may be taken over; left out: all, as on virtual time. */
  contact?: Contact;
  /** Told of every lost lease that was judged, after the store recorded it. */
  onReaped?(reaped: { job: ClaimedJob; settlement: Settlement }): void;
}

const defaultLeaseMs = 30_000;
// One transaction of the store; the pass comes back at once if there is more.
const reapMax = 500;
// Leases that other nodes take after this pass are not in its answer, so it looks again at least this often.
const sweepMsMax = 5_000;
// Nobody holds a lease: one that is given now ends later than this, and is in the answer of the next look.
const idleSweepMs = 10_000;

/**
 * Makes the pass that ends lost leases: the engine takes them over (and promotes and expires what is due), and each job is
 * settled by the rule of losses. A node that dies in between leaves leases of its own, which the next pass of any node takes over.
 */
export function createReapPass(options: ReapOptions): () => Promise<number> {
  const { engine, node, leaseMs = defaultLeaseMs, contact, onReaped = () => {} } = options;
  // An outage that ends leases lasts for most of one, so at least one look falls into it.
  const sweepMs = Math.min(sweepMsMax, leaseMs / 3);

  return async () => {
    const endedBy = contact?.endedBy() ?? null;
    const input = { node, leaseMs, limit: reapMax, ...(endedBy === null ? {} : { endedBy }) };
    const reply = await engine.reap(input).catch((error: unknown) => {
      contact?.failed();
      throw error;
    });
    contact?.answered(reply.now);
    if (reply.jobs.length > 0) {
      const settle = reply.jobs.map(lossSettlement);
      const { settled } = await engine.exchange({ settle, claim: null });
      for (const [i, job] of reply.jobs.entries()) {
        if (settled[i] === 'done') onReaped({ job, settlement: settle[i] as Settlement });
      }
    }
    if (reply.more) return 0;
    if (reply.nextAt === null) return Math.max(sweepMs, Math.min(idleSweepMs, leaseMs));
    // A lease that ended since the last look is taken over with the next one, which comes at once unless the contact holds it back.
    const waitMs = Math.max(reply.nextAt - reply.now, contact?.holdsForMs() ?? 0);
    return Math.min(sweepMs, Math.max(1, waitMs));
  };
}
