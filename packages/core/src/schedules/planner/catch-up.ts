import type { CatchUpMode } from '../../contract/policy-modes.ts';
import { type ResolvedPolicies, windowMsOf } from '../definition/policies.ts';
import { type Cause, type Reason, reasons } from './decision.ts';

/** What a policy made of the slots that share a cause: those from `firesFromAt` on fire, the older ones are missed. */
export interface Choice {
  mode: CatchUpMode;
  /** How many fire at most. */
  count: number;
  /** The oldest slot that fires; Infinity: none does. */
  firesFromAt: number;
  /** Slots that fell due before this instant are beyond the window. */
  windowFromAt: number;
}

/** The policy that answers for a cause. */
export function modeFor(policies: ResolvedPolicies, cause: Cause): CatchUpMode {
  // There is nobody to run it any more.
  if (cause === 'deleted') return 'skip';
  if (cause === 'paused') return policies.onResume;
  return cause === 'edited' ? policies.onEdit : policies.missed;
}

/** A choice before any slot was looked at. */
export function beginChoice(policies: ResolvedPolicies, cause: Cause, asOfAt: number): Choice {
  const mode = modeFor(policies, cause);
  const windowMs = mode === 'skip' ? null : windowMsOf(policies, mode);
  return {
    mode,
    count: mode === 'skip' ? 0 : mode === 'latest' ? 1 : policies.catchUpLimit,
    firesFromAt: Number.POSITIVE_INFINITY,
    windowFromAt: windowMs === null ? Number.NEGATIVE_INFINITY : asOfAt - windowMs,
  };
}

/** Why a slot was not caught up on, where it is in the window. */
export function missedReason(cause: Cause, mode: CatchUpMode): Reason {
  if (cause === 'deleted') return reasons.deleted;
  if (mode === 'all') return reasons.beyondLimit;
  return mode === 'skip' ? reasons[cause] : reasons[`${cause}NotLatest`];
}

/** How the ledger says that a slot was caught up on. */
export function firedReason(cause: Cause): Reason {
  if (cause === 'paused') return reasons.afterPause;
  return cause === 'edited' ? reasons.beforeEdit : reasons.caughtUp;
}
