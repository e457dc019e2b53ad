import { type DulyError, dulyError } from '../base/errors.ts';
import type { Reply, Stamp } from './shared.ts';

/** A part of what a store holds, as it is transferred to another store. */
export type TransferPart =
  | 'records'
  | 'generations'
  | 'schedules'
  | 'slots'
  | 'compacted_months'
  | 'jobs'
  | 'gates'
  | 'places'
  | 'dedupes'
  | 'children'
  | 'finished'
  | 'dead'
  | 'logs'
  | 'expirings'
  | 'journal'
  | 'locks'
  | 'audit';

/** How many rows each part has. */
export type TransferCounts = Record<TransferPart, number>;

/**
 * A row of a part. Its columns are the same for every engine (engines/shared/transfer-parts.ts); leases and locks are written as the time that
 * is left.
 */
export type TransferRow = Record<string, string | number | null>;

/** Marks a store that was transferred elsewhere, or that a transfer is filling. */
export interface TransferMark {
  /** `source`: the contents are elsewhere now. `target`: not everything has arrived yet. `arrived`: everything has, and the store is in use. */
  role: 'source' | 'target' | 'arrived';
  /** Names the move: the same on both sides. */
  move: string;
  /** Where the other side is, without secrets. */
  place: string;
  at: number;
}

/** Reads the state of a transfer, or takes a step of one. Each step can be repeated. */
export interface TransferInput extends Stamp {
  /**
   * `look`: changes nothing. `leave`: fences the store: from the commit on every other verb is refused with `store_moved`. `arrive`: fences an
   * empty store until `settle`, with `store_arriving`; one that holds something is refused (`store_not_empty`). `clear`: of a store that arrives: what came
   * so far is dropped. `settle`: opens it, with counters that go on where those of the source ended. `reopen`: ends the fence; of a store that arrives what came
   * is dropped.
   */
  step: 'look' | 'leave' | 'arrive' | 'clear' | 'settle' | 'reopen';
  /** For all but `look`. */
  move: string;
  /** The other side's place, for `leave` and `arrive`. */
  place: string;
  /** For `settle`. */
  counters: TransferCounters | null;
}

/** Counters that must not go back. */
export interface TransferCounters {
  fence: number;
  /** The last position of the feed of changes. */
  changes: number;
  /** When the newest job that is no longer stored was created; null: none was pruned. */
  prunedCreatedAt: number | null;
}

/** The answer to `transfer`. */
export interface TransferReply extends Reply {
  mark: TransferMark | null;
  counts: TransferCounts;
  counters: TransferCounters;
  /** How many nodes were heard of in the last 15 s; 0 of a fenced store. */
  nodes: number;
}

/** Reads a page of a part of a fenced store, or of one in use for a look at it. */
export interface ExportRowsInput extends Stamp {
  part: TransferPart;
  /** As the last page named it; null: from the beginning. */
  after: (string | number)[] | null;
  limit: number;
}

/** The answer to `exportRows`. */
export interface ExportRowsReply extends Reply {
  rows: TransferRow[];
  /** The next page; null: that was all. */
  next: (string | number)[] | null;
}

/** Writes rows of a part into a store that arrives; elsewhere it is refused. A row that is there already stays as it is. */
export interface ImportRowsInput extends Stamp {
  move: string;
  part: TransferPart;
  rows: TransferRow[];
}

/** The parts of a store in transfer order: referenced rows go first. */
export const transferParts = [
  'records',
  'generations',
  'schedules',
  'slots',
  'compacted_months',
  'jobs',
  'gates',
  'places',
  'dedupes',
  'children',
  'finished',
  'dead',
  'logs',
  'expirings',
  'journal',
  'locks',
  'audit',
] as const satisfies readonly TransferPart[];

/** The error of every verb at a store that was transferred elsewhere, or has not fully arrived. */
export function movedError(mark: TransferMark, place: string): DulyError {
  const details = { place, other: mark.place, move: mark.move };
  return mark.role === 'source'
    ? dulyError('store_moved', {
        message: `The store at "${place}" was moved to "${mark.place}".`,
        hint: 'Give that address as the store, and start again. Nothing is done here any more.',
        details,
      })
    : dulyError('store_arriving', {
        message: `The store at "${place}" is not all here yet: it is being moved from "${mark.place}".`,
        hint: 'Wait for "duly move" to end, or repeat it if it was interrupted.',
        details,
      });
}
