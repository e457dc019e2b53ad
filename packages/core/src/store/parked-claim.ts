import type { ClaimRequest, ExchangeReply } from '../contract/engine.ts';

/**
 * Where a worker's claim stands while it has nothing to do: with the store's thread, which hears of jobs first and then claims without
 * asking. Every claim of an idle worker that found nothing stands, until the worker's next claim of any kind goes out.
 */
export interface ParkedClaim {
  /** While a notification is delivered: whether the claim is used because of it, so that nothing is left to be asked. */
  isUsed(): boolean;
  /** Lets no claim stand any more. Once it resolves nothing more is given; rejects if the store could not be asked. */
  close(): Promise<void>;
}

/** What a parked claim needs, and whom it tells. */
export interface ParkedClaimOptions {
  node: string;
  /** The claim was used; null: what it was given went back, because this thread had no time for it. */
  onDelivered(claim: ClaimRequest, reply: ExchangeReply | null, tookMs: number): void;
  /** The claim was used and failed; it stands no more. */
  onFailed(claim: ClaimRequest, error: Error, tookMs: number): void;
}
