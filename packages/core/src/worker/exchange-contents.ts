import type { Exchange } from './exchange-line.ts';
import type { Intake } from './intake.ts';
import type { Batch, Outbox } from './outbox.ts';

/** What exchanges carry: settlements of the outbox, and claims of the intake. */
export interface ExchangeContents {
  /** The next exchange; null: there is nothing to send. */
  compose(): Exchange | null;
  /** An exchange beside another on its way: it only claims. null: there is no free capacity. */
  composeBeside(): Exchange | null;
  /** The store refused an exchange: finds out which part of it. */
  refused(exchange: Exchange): void;
}

/** The settlements of an exchange that only claims. */
export const nothingToSettle: Batch = { settle: [], isIsolated: false };

/** Creates the contents of one worker's exchanges. */
export function createExchangeContents(
  outbox: Pick<Outbox, 'isIsolating' | 'takeBatch' | 'refused'>,
  intake: Pick<Intake, 'nextClaim' | 'claimBeside' | 'answered' | 'lost'>,
): ExchangeContents {
  return {
    compose() {
      const isIsolating = outbox.isIsolating();
      const batch = outbox.takeBatch();
      const next = isIsolating ? null : intake.nextClaim();
      if (next !== null) return { batch, ...next };
      return batch.settle.length === 0 ? null : { batch, claim: null, isRepeated: false, isInternal: false };
    },
    composeBeside() {
      // All capacity is reserved for the other exchange, which usually finds nothing. If both bring jobs,
      // some wait or are released.
      const claim = intake.claimBeside();
      return claim === null ? null : { batch: nothingToSettle, claim, isRepeated: false, isInternal: false };
    },
    refused({ batch, claim, isRepeated }) {
      // The store may have granted leases to a repeated claim before, so it is sent again without the rest.
      if (claim !== null && isRepeated) intake.lost(claim, { isFirst: true });
      else if (claim !== null) intake.answered(claim);
      outbox.refused(batch, { isMixed: claim !== null });
    },
  };
}
