import { type DulyError, dulyError } from '../../base/errors.ts';
import type { TransferMark, TransferPart } from '../../contract/engine.ts';
import { movedError } from '../../contract/transfer.ts';

/** A node that was heard of so lately is counted as one that works on the store: one heartbeat, and half of one for a slow store. */
export const liveNodeMs = 15_000;
/** What stands before the names of a store's tables while it is fenced. Whoever does not know of it finds no table. */
export const fencedPrefix = 'moved_';

/** Parts whose rows are the same in every store, by their columns; the first ones are the key. */
export const plainParts = {
  records: { key: 2, columns: ['kind', 'key', 'value', 'version', 'updated_at'] },
  generations: { key: 1, columns: ['id', 'generation'] },
  slots: {
    key: 3,
    columns: [
      ...['schedule_id', 'generation', 'from_at', 'to_at', 'count', 'decision', 'reason', 'node', 'job_id'],
      ...['decided_at', 'last_decided_at'],
    ],
  },
  compacted_months: {
    key: 3,
    columns: ['schedule_id', 'generation', 'start_at', 'from_at', 'to_at', 'counts'],
  },
  dedupes: {
    key: 3,
    columns: [
      'type',
      'tenant',
      'key',
      'job_id',
      'until_at',
      'created_at',
      'ended',
      'follow_id',
      'follow_until',
    ],
  },
  children: { key: 2, columns: ['parent_id', 'key', 'job_id'] },
  logs: { key: 2, columns: ['job_id', 'n', 'attempt', 'line', 'at', 'level', 'message'] },
  expirings: { key: 2, columns: ['name', 'key', 'value', 'expires_at', 'cleanup_id'] },
  journal: { key: 2, columns: ['scope', 'key', 'value', 'until_at'] },
  audit: { key: 1, columns: ['position', 'at', 'actor', 'action', 'subject', 'before', 'after', 'note'] },
} as const satisfies Partial<Record<TransferPart, { key: number; columns: readonly string[] }>>;

/** What a live job and one that is over have in common. */
const jobColumns = [
  'seq',
  // {{job.columns -finishedAt -result | '%column',}}
  'id',
  'type',
  'version',
  'queue',
  'tenant',
  'priority',
  'input',
  'metadata',
  'policy',
  'fence',
  'attempt',
  'spent',
  'max_attempts',
  'losses',
  'begun_losses',
  'begun_at',
  'created_at',
  'due_at',
  'claimed_at',
  'origin',
  'slot',
  'parent_id',
  'parent_key',
  'cancel_requested_at',
  'status',
  'reason',
  'rank_offset',
  'serial',
  'copy_of',
  'dedupe_key',
  'schedule_id',
  'started_at',
  'lateness_ms',
  'updated_at',
  'expire_at',
  'node',
  'percent',
  'message',
  'step',
  'step_of',
  'cancelled_by',
  'error',
  'attempts',
  // {{/job}}
];

/** The columns of a live job that are the same in every store. Beside them: `lease_left_ms`, how long its lease still lasts. */
export const liveColumns = [...jobColumns, 'solo', 'rank'];

/** The columns of a job that is over. */
export const overColumns = [...jobColumns, 'finished_at', 'prune_at', 'result'];

/**
 * The columns of a schedule. Its lease stays behind, whoever decided it does so no more; and its last fence, because the counter goes
 * along.
 */
export const scheduleColumns = [
  ...['seq', 'id', 'app', 'tenant', 'name', 'generation', 'version', 'spec', 'state', 'due_at', 'waits_for'],
  ...['created_at', 'updated_at'],
];

/** Whether a store has this role in this move. */
export function isMarkOf(
  mark: TransferMark | null,
  role: TransferMark['role'],
  { move }: { move: string },
): boolean {
  return mark !== null && mark.role === role && mark.move === move;
}

/** A store takes part in one move at a time. One that arrived may be moved on. */
export function refuseFenced(mark: TransferMark | null, place: string): void {
  if (mark !== null && mark.role !== 'arrived') throw movedError(mark, place);
}

/** Refuses to write where the move does not arrive. */
export function requireArriving(mark: TransferMark | null, { move }: { move: string }): TransferMark {
  if (mark !== null && isMarkOf(mark, 'target', { move })) return mark;
  throw dulyError('store_not_empty', {
    message: 'Nothing of this move can be written here: the store is not the one that it arrives in.',
    hint: 'Begin the move again.',
    details: { move },
  });
}

/** Why a store cannot be moved to: what it holds, or that nodes run on it. */
export function notEmpty(filled: [string, number] | undefined): DulyError {
  return dulyError('store_not_empty', {
    message:
      filled === undefined
        ? 'Nodes run on the store that is to be moved to.'
        : `The store that is to be moved to is not empty: it has ${filled[1]} rows of "${filled[0]}".`,
    hint: 'Name an empty store, and start nodes on it when the move is done.',
    details: filled === undefined ? {} : { part: filled[0], count: filled[1] },
  });
}
