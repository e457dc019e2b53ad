import type { ClaimedJob, Origin } from '../../../contract/engine.ts';
import { toSlot } from '../rows.ts';
import type { Work } from '../work.ts';

/** Jobs under lease as the store lists them: by columns, each as long as there are jobs; [] is none. */
export type LeasedColumns =
  | []
  | [
      id: string[],
      type: string[],
      version: number[],
      queue: string[],
      tenant: (string | null)[],
      priority: number[],
      input: string[],
      metadata: (string | null)[],
      policy: string[],
      fence: number[],
      attempt: number[],
      spent: number[],
      max_attempts: number[],
      losses: number[],
      begun_losses: number[],
      begun: boolean[],
      created_at: number[],
      due_at: number[],
      claimed_at: number[],
      origin: Origin[],
      slot: (string | null)[],
      slot_details: (string | null)[],
      parent_id: (string | null)[],
      parent_key: (string | null)[],
      cancel_requested_at: (number | null)[],
    ];

/** Jobs that were just taken and are alike: what they have in common once, the rest by columns; a column that is null is null for all. */
export interface TakenAlike {
  columns: [
    id: string[],
    fence: number[],
    input: string[],
    created_at: number[],
    due_at: number[],
    tenant: string[] | null,
    metadata: string[] | null,
    slot: string[] | null,
    slot_details: string[] | null,
  ];
  claimedAt: number;
  type: string;
  version: number;
  queue: string;
  priority: number;
  policy: string;
  attempt: number;
  spent: number;
  maxAttempts: number;
  losses: number;
  begunLosses: number;
  origin: Origin;
}

function alikeToClaimedJobs(work: Work, taken: TakenAlike): ClaimedJob[] {
  const [ids, fences, inputs, createdAts, dueAts, tenants, metadata, slots, details] = taken.columns;
  const {
    type,
    version,
    queue,
    priority,
    attempt,
    spent,
    maxAttempts,
    losses,
    begunLosses,
    claimedAt,
    origin,
  } = taken;
  const policy = work.policy(taken.policy);
  work.scanHints?.noteLane(taken);
  return ids.map((id, i) => ({
    id,
    type,
    version,
    queue,
    tenant: tenants?.[i] ?? null,
    priority,
    input: inputs[i] as string,
    metadata: metadata?.[i] ?? null,
    policy,
    fence: fences[i] as number,
    attempt,
    spent,
    maxAttempts,
    losses,
    begunLosses,
    begun: false,
    createdAt: createdAts[i] as number,
    dueAt: dueAts[i] as number,
    claimedAt,
    origin,
    slot: toSlot(slots?.[i] ?? null, details?.[i] ?? null),
    parent: null,
    cancelRequestedAt: null,
  }));
}

/** Leased jobs as the contract has them. */
export function toClaimedJobs(work: Work, columns: LeasedColumns | TakenAlike): ClaimedJob[] {
  if (!Array.isArray(columns)) return alikeToClaimedJobs(work, columns);
  if (columns.length === 0) return [];
  const at = <Item>(column: readonly Item[], i: number): Item => column[i] as Item;
  return columns[0].map((id, i) => {
    const parentId = at(columns[22], i);
    work.scanHints?.noteLane({
      type: at(columns[1], i),
      version: at(columns[2], i),
      queue: at(columns[3], i),
    });
    return {
      id,
      type: at(columns[1], i),
      version: at(columns[2], i),
      queue: at(columns[3], i),
      tenant: at(columns[4], i),
      priority: at(columns[5], i),
      input: at(columns[6], i),
      metadata: at(columns[7], i),
      policy: work.policy(at(columns[8], i)),
      fence: at(columns[9], i),
      attempt: at(columns[10], i),
      spent: at(columns[11], i),
      maxAttempts: at(columns[12], i),
      losses: at(columns[13], i),
      begunLosses: at(columns[14], i),
      begun: at(columns[15], i),
      createdAt: at(columns[16], i),
      dueAt: at(columns[17], i),
      claimedAt: at(columns[18], i),
      origin: at(columns[19], i),
      slot: toSlot(at(columns[20], i), at(columns[21], i)),
      parent: parentId === null ? null : { id: parentId, key: at(columns[23], i) },
      cancelRequestedAt: at(columns[24], i),
    };
  });
}
