/** The contract for values that end by themselves and for the journal of `once`. */
import type { JobSpec } from './jobs.ts';
import type { Actor, Due, GroupReply, JsonText, Reply, Stamp } from './shared.ts';

/** Puts, extends or deletes an expiring value, and its clean-up job with it. */
export interface PutExpiringInput extends Stamp {
  groups: {
    actor: Actor;
    changes: (
      | { op: 'put'; name: string; key: string; value: JsonText; due: Due; cleanup: JobSpec | null }
      | { op: 'extend'; name: string; key: string; due: Due }
      | { op: 'delete'; name: string; key: string }
    )[];
  }[];
}

/** What became of one change to an expiring value; `missing`: it was not there, or gone already. */
export interface PutExpiringItem {
  result: 'changed' | 'missing';
  expiresAt: number | null;
}

/** The answer to `putExpiring`. */
export interface PutExpiringReply extends Reply {
  groups: GroupReply<PutExpiringItem>[];
}

/** Reads expiring values. */
export interface GetExpiringInput extends Stamp {
  keys: { name: string; key: string }[];
}

/** The answer to `getExpiring`, per key; null: not there, or its instant has come. */
export interface GetExpiringReply extends Reply {
  values: ({ value: JsonText; expiresAt: number } | null)[];
}

/** Reads or writes the journal of `once`. */
export interface RememberInput extends Stamp {
  /** `job:<id>` for a step of one job, `once` for the store-wide journal. */
  scope: string;
  key: string;
  /** null: read only. Otherwise written unless a value is there already. */
  put: {
    value: JsonText;
    forMs: number | null;
    guard: { lock: string; fence: number } | { job: string; fence: number };
  } | null;
}

/** The answer to `remember`. */
export interface RememberReply extends Reply {
  /** The value that stands; null: none. */
  value: JsonText | null;
  /** `written`: by this call. `present`: it was there. `absent`: nothing there. `lost`: the guard no longer holds. */
  result: 'written' | 'present' | 'absent' | 'lost';
}
