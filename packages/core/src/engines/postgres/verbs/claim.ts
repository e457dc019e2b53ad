import type { ClaimedJob, JobFieldName, JobFieldValue } from '../../../contract/engine.ts';
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

/** The values of one field of several jobs; null: it is null for all of them. */
type ColumnOf<Name extends JobFieldName> =
  | JobFieldValue<Name>[]
  | (null extends JobFieldValue<Name> ? null : never);

/** Jobs that were just taken and share most fields: what they have in common once, the rest by columns. */
export interface UniformClaim {
  columns: [
    // {{job.claimColumns | %field: ColumnOf<'%field'>,
    //   | slot*2=slot: ColumnOf<'slot'>,\nslotDetails: ColumnOf<'slot'>,}}
    id: ColumnOf<'id'>,
    fence: ColumnOf<'fence'>,
    input: ColumnOf<'input'>,
    createdAt: ColumnOf<'createdAt'>,
    dueAt: ColumnOf<'dueAt'>,
    tenant: ColumnOf<'tenant'>,
    metadata: ColumnOf<'metadata'>,
    slot: ColumnOf<'slot'>,
    slotDetails: ColumnOf<'slot'>,
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
  const { columns } = taken;
  const policy = work.policy(taken.policy);
  work.scanHints?.noteLane(taken);

  // Fields are read by position or from `taken`: as names of variables they could be those of others.
  return columns[0].map((id, i) => ({
    // {{job.claimColumns | %field: (columns[%n]?.[i] ?? null) as JobFieldValue<'%field'>, | id=id,
    //   | slot*2=slot: toSlot(columns[%n]?.[i] ?? null, columns[%next]?.[i] ?? null),}}
    id,
    fence: (columns[1]?.[i] ?? null) as JobFieldValue<'fence'>,
    input: (columns[2]?.[i] ?? null) as JobFieldValue<'input'>,
    createdAt: (columns[3]?.[i] ?? null) as JobFieldValue<'createdAt'>,
    dueAt: (columns[4]?.[i] ?? null) as JobFieldValue<'dueAt'>,
    tenant: (columns[5]?.[i] ?? null) as JobFieldValue<'tenant'>,
    metadata: (columns[6]?.[i] ?? null) as JobFieldValue<'metadata'>,
    slot: toSlot(columns[7]?.[i] ?? null, columns[8]?.[i] ?? null),
    // {{/job}}
    // {{job.claim +shared | %field: taken.%field, | policy=policy,}}
    type: taken.type,
    version: taken.version,
    queue: taken.queue,
    priority: taken.priority,
    policy,
    attempt: taken.attempt,
    spent: taken.spent,
    maxAttempts: taken.maxAttempts,
    losses: taken.losses,
    begunLosses: taken.begunLosses,
    claimedAt: taken.claimedAt,
    origin: taken.origin,
    // {{/job}}
    begun: false,
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
