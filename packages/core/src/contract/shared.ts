/** What all verbs of the contract share. */
import type { PlainError } from '../base/errors.ts';

/** What every verb takes. */
export interface Stamp {
  /** The instant that rules this call; left out, the store's own clock. */
  now?: number;
}

/** What every verb answers. */
export interface Reply {
  /** The store's instant while the verb ran, epoch milliseconds. */
  now: number;
}

/** The answer to one group: its items in the order asked, or the error that refused the whole group. */
export type GroupReply<Item> = { ok: true; items: Item[] } | { ok: false; error: PlainError };

/** When something falls due: at an instant, or so long after the store's `now`. */
export type Due = { at: number } | { inMs: number };

/** JSON text. The engine keeps it as it came and never looks inside, filters on input paths excepted. */
export type JsonText = string;

/** Who asked: a key id, an app, a node or a person at a terminal. Kept in the audit row. */
export type Actor = string;

/** Why a job is BLOCKED. Limits, flows and batches become further kinds, not further verbs. */
export type GateKind = 'overlap' | 'serial' | 'parent' | 'dedupe';

/**
 * A shut gate. `overlap`, `parent` and `dedupe` name a job and open when it is terminal; `serial` names a place (by the
 * store's own name for tenant and key) and opens for one job at a time, in due order.
 */
export interface Gate {
  kind: GateKind;
  ref: string;
}

/** Where a job came from. */
export type Origin = 'event' | 'schedule' | 'trigger' | 'backfill' | 'retry' | 'child';
