// Claims that are parked in the thread of a store, as the main loop sees them.

import { fromPlainError } from '../../base/errors.ts';
import type { ExchangeReply } from '../../contract/engine.ts';
import type { ParkedClaim, ParkedClaimOptions } from '../parked-claim.ts';
import { unpackReply } from './packed.ts';
import { type Delivery, noDelivery } from './parked-claims.ts';
import type { StoreThread, ThreadNews } from './store-thread.ts';

interface OpenParkedClaim extends ParkedClaimOptions {
  delivered: Int32Array;
}

/** The parked claims of a store in a thread, one for each node. */
export class ThreadClaims {
  readonly #thread: () => StoreThread;
  readonly #parked = new Map<string, OpenParkedClaim>();
  /** Nodes whose claims are used for the notification that is being delivered. */
  #usedFor: readonly string[] = [];

  /** Created when the store is opened. */
  constructor(thread: () => StoreThread) {
    this.#thread = thread;
  }

  /** Delivers a notification for which the claims of these nodes are used. */
  using(nodes: readonly string[], deliver: () => void): void {
    this.#usedFor = nodes;
    deliver();
    this.#usedFor = [];
  }

  /** Parks the claims of a node. */
  open(options: ParkedClaimOptions): ParkedClaim {
    const { node } = options;
    const delivered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#parked.set(node, { ...options, delivered });
    this.#thread().post({ kind: 'parked-open', node, delivered });
    return {
      isUsed: () => this.#usedFor.includes(node),
      close: async () => {
        await this.#thread()
          .ask((id) => ({ kind: 'parked-close', id, node }))
          .finally(() => this.#parked.delete(node));
      },
    };
  }

  /** The thread has used a claim. */
  deliver({ claim, number, reply: packed, tookMs }: Delivery): void {
    const one = this.#parked.get(claim.node);
    if (one === undefined) return;
    const reply = unpackReply('exchange', packed) as ExchangeReply;
    const isTaken =
      reply.claimed.length === 0 || Atomics.compareExchange(one.delivered, 0, number, noDelivery) === number;
    one.onDelivered(claim, isTaken ? reply : null, tookMs);
  }

  /** The thread could not use a claim. */
  failed({ claim, error, tookMs }: Extract<ThreadNews, { kind: 'claim-failed' }>): void {
    this.#parked.get(claim.node)?.onFailed(claim, fromPlainError(error), tookMs);
  }

  /** Parks the claims in another thread. Jobs that the old one claimed and did not report end with their leases. */
  resume(): void {
    for (const [node, { delivered }] of this.#parked)
      this.#thread().post({ kind: 'parked-open', node, delivered });
  }
}
