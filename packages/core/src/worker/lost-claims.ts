import type { Clock } from '../base/clock.ts';
import type { ClaimRequest } from '../contract/engine.ts';

/** Claims whose answers were lost, and which are sent again. */
export interface LostClaims {
  /** Adds one: as the next to be sent with `isFirst`, else as the last. */
  add(claim: ClaimRequest, options: { isFirst: boolean }): void;
  /** Removes and returns the next one; null: there is none. */
  take(): ClaimRequest | null;
  count(): number;
}

/** What they are made of. */
export interface LostClaimsOptions {
  clock: Pick<Clock, 'elapsed'>;
  /** After this long the leases of a claim have ended, and it is not sent again. */
  leaseMs: number;
  /** Called with a claim that is not sent again. */
  onExpired(claim: ClaimRequest): void;
}

/** Creates an empty list. */
export function createLostClaims({ clock, leaseMs, onExpired }: LostClaimsOptions): LostClaims {
  const claims: { claim: ClaimRequest; sinceElapsed: number }[] = [];
  return {
    add(claim, { isFirst }) {
      const entry = { claim, sinceElapsed: clock.elapsed() };
      if (isFirst) claims.unshift(entry);
      else claims.push(entry);
    },
    take() {
      for (let next = claims.shift(); next !== undefined; next = claims.shift()) {
        if (clock.elapsed() - next.sinceElapsed < leaseMs) return next.claim;
        onExpired(next.claim);
      }
      return null;
    },
    count: () => claims.length,
  };
}
