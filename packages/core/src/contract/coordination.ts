/** The contract for locks. */
import type { Reply, Stamp } from './shared.ts';

/** Who holds a lock. */
export interface LockHolder {
  host: string;
  pid: number;
  node: string;
}

/** Asks for a lock. */
export interface AcquireInput extends Stamp {
  name: string;
  /** Created by the client; the same token answers with the same lock. */
  token: string;
  holder: LockHolder;
  ttlMs: number;
}

/** The answer to `acquire`. */
export type AcquireReply = Reply &
  (
    | { acquired: true; fence: number; untilAt: number }
    | { acquired: false; holder: LockHolder; fence: number; untilAt: number }
  );

/** Renews or releases locks by their fences. */
export interface LocksInput extends Stamp {
  locks: { name: string; fence: number }[];
}

/** The answer to `renew` and `release`, per lock. A release of a lock that is not ours any more is `lost`. */
export interface LocksReply extends Reply {
  locks: ('kept' | 'lost')[];
}

/** Reads held locks whose names begin with `prefix` ('': all), by name. An expired lock is not held. */
export interface HeldLocksInput extends Stamp {
  prefix: string;
  /** Only names behind this one; null: from the first. */
  after: string | null;
  limit: number;
}

/** The answer to `heldLocks`. Fewer than `limit`: there are no more. */
export interface HeldLocksReply extends Reply {
  locks: { name: string; fence: number; holder: LockHolder; untilAt: number }[];
}
