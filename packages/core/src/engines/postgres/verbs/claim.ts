import type { ClaimedJob, JobFieldValue } from '../../../contract/engine.ts';
import { toSlot } from '../rows.ts';
import type { Work } from '../work.ts';

/** Jobs under lease as the store lists them: by columns, each as long as there are jobs; [] is none. */
export type LeasedColumns =
  | []
  | [
      // {{job.claim | %field: JobFieldValue<'%field'>[], | policy=policy: string[], | begunAt=begun: boolean[],
      //   | claimedAt=claimedAt: number[], | slot*2=slot: JobFieldValue<'slot'>[],\nslotDetails: JobFieldValue<'slot'>[],}}
      id: JobFieldValue<'id'>[],
      type: JobFieldValue<'type'>[],
      version: JobFieldValue<'version'>[],
      queue: JobFieldValue<'queue'>[],
      tenant: JobFieldValue<'tenant'>[],
      priority: JobFieldValue<'priority'>[],
      input: JobFieldValue<'input'>[],
      metadata: JobFieldValue<'metadata'>[],
      policy: string[],
      fence: JobFieldValue<'fence'>[],
      attempt: JobFieldValue<'attempt'>[],
      spent: JobFieldValue<'spent'>[],
      maxAttempts: JobFieldValue<'maxAttempts'>[],
      losses: JobFieldValue<'losses'>[],
      begunLosses: JobFieldValue<'begunLosses'>[],
      begun: boolean[],
      createdAt: JobFieldValue<'createdAt'>[],
      dueAt: JobFieldValue<'dueAt'>[],
      claimedAt: number[],
      origin: JobFieldValue<'origin'>[],
      slot: JobFieldValue<'slot'>[],
      slotDetails: JobFieldValue<'slot'>[],
      parentId: JobFieldValue<'parentId'>[],
      parentKey: JobFieldValue<'parentKey'>[],
      cancelRequestedAt: JobFieldValue<'cancelRequestedAt'>[],
      // {{/job}}
    ];

/** Jobs that were just taken and share most fields: what they have in common once, the rest by columns; a column that is null is null for all. */
export interface UniformClaim {
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
    // {{job.claimRest | %field?: JobFieldValue<'%field'>[],}}
    // {{/job}}
  ];
  // {{job.claim +shared | %field: JobFieldValue<'%field'>; | policy=policy: string; | claimedAt=claimedAt: number;}}
  type: JobFieldValue<'type'>;
  version: JobFieldValue<'version'>;
  queue: JobFieldValue<'queue'>;
  priority: JobFieldValue<'priority'>;
  policy: string;
  attempt: JobFieldValue<'attempt'>;
  spent: JobFieldValue<'spent'>;
  maxAttempts: JobFieldValue<'maxAttempts'>;
  losses: JobFieldValue<'losses'>;
  begunLosses: JobFieldValue<'begunLosses'>;
  claimedAt: number;
  origin: JobFieldValue<'origin'>;
  // {{/job}}
}

function uniformToClaimedJobs(work: Work, taken: UniformClaim): ClaimedJob[] {
  const [
    ids,
    fences,
    inputs,
    createdAts,
    dueAts,
    tenants,
    metadata,
    slots,
    details,
    // {{job.claimRest | %field,}}
    // {{/job}}
  ] = taken.columns;
  const {
    // {{job.claim +shared -policy | %field,}}
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
    // {{/job}}
  } = taken;
  const policy = work.policy(taken.policy);
  work.scanHints?.noteLane(taken);

  return ids.map((id, i) => ({
    id,
    tenant: tenants?.[i] ?? null,
    input: inputs[i] as string,
    metadata: metadata?.[i] ?? null,
    fence: fences[i] as number,
    createdAt: createdAts[i] as number,
    dueAt: dueAts[i] as number,
    // {{job.claimRest | %field: (%field?.[i] ?? null) as JobFieldValue<'%field'>,}}
    // {{/job}}
    // {{job.claim +shared | %field,}}
    type,
    version,
    queue,
    priority,
    policy,
    attempt,
    spent,
    maxAttempts,
    losses,
    begunLosses,
    claimedAt,
    origin,
    // {{/job}}
    begun: false,
    slot: toSlot(slots?.[i] ?? null, details?.[i] ?? null),
    parent: null,
    cancelRequestedAt: null,
  }));
}

/** Leased jobs as the contract has them. */
export function toClaimedJobs(work: Work, columns: LeasedColumns | UniformClaim): ClaimedJob[] {
  if (!Array.isArray(columns)) return uniformToClaimedJobs(work, columns);
  if (columns.length === 0) return [];
  const at = <Item>(column: readonly Item[], i: number): Item => column[i] as Item;
  return columns[0].map((id, i) => {
    work.scanHints?.noteLane({
      type: at(columns[1], i),
      version: at(columns[2], i),
      queue: at(columns[3], i),
    });
    return {
      // {{job.claim | %field: at(columns[%n], i), | id=id, | policy=policy: work.policy(at(columns[%n], i)),
      //   | begunAt=begun: at(columns[%n], i), | slot*2=slot: toSlot(at(columns[%n], i), at(columns[%next], i)),
      //   | parentId=parent: parentOf(at(columns[%n], i), at(columns[%next], i)), | parentKey=}}
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
      parent: parentOf(at(columns[22], i), at(columns[23], i)),
      cancelRequestedAt: at(columns[24], i),
      // {{/job}}
    };
  });
}

function parentOf(id: string | null, key: string | null): ClaimedJob['parent'] {
  return id === null ? null : { id, key };
}
