import type {
  ActiveRun,
  AppliedSchedule,
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimedJob,
  ClaimedSchedule,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  CompactedSlots,
  FireGroup,
  FireInput,
  FireReply,
  JobSlot,
  JobSpec,
  Origin,
  SchedulesInput,
  SchedulesReply,
  SlotRow,
  SlotsInput,
  SlotsReply,
} from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { type ScheduleColumns, toScheduleRecord } from '../../shared/schedule-row.ts';
import { numberArray, textArray } from '../arrays.ts';
import { statements } from '../generated.ts';
import { checkedDue, isPlain, policyText, slotText, writtenSpec } from '../job-columns.ts';
import { Bound } from '../job-where.ts';
import {
  type AnsweredGroup,
  eachGroup,
  keepable,
  notTogether,
  ofSet,
  sqlStateBehind,
  uniqueViolation,
  type Value,
  type Work,
} from '../work.ts';
import { type LeasedColumns, toClaimedJobs, type UniformClaim } from './claim.ts';

/** See the contract. */
export function applySchedules(work: Work, input: ApplySchedulesInput): Promise<ApplySchedulesReply> {
  return eachGroup(
    input.groups,
    ({ actor, changes }) => ({
      actor,
      changes: changes.map((change) => ({
        ...change,
        note: keepable(change.note ?? null),
        ...(change.op === 'put' && { jobs: change.jobs.map(writtenSpec) }),
      })),
    }),
    (groups) =>
      work.call<{ groups: AnsweredGroup<AppliedSchedule>[] }>(statements.call.applySchedules, [
        input.now ?? null,
        JSON.stringify(groups),
      ]),
  );
}

/** Schedules under lease as the store lists them, by columns; one that is null is null for all. */
type ClaimedColumns = [
  id: string[],
  app: (string | null)[] | null,
  tenant: (string | null)[] | null,
  name: string[],
  generation: number[],
  version: number[],
  due_at: (number | null)[],
  waits_for: (string | null)[] | null,
  created_at: number[],
  updated_at: number[],
];

/** Where the schedule stands in the columns, and one of its unfinished jobs. */
type ListedRun = [
  place: number,
  id: string,
  status: JobStatus,
  slotAt: number | null,
  origin: Origin,
  dueAt: number,
  cancelRequestedAt: number | null,
];

interface ClaimAnswer extends Omit<ClaimSchedulesReply, 'schedules'> {
  fence: number | null;
  columns: ClaimedColumns | null;
  runs: ListedRun[] | null;
  /** How many unfinished jobs those have of which not all are listed. */
  counts: [place: number, count: number][] | null;
  waited: [place: number, id: string, status: JobStatus, finishedAt: number][] | null;
  /** Their specs, and then their states. */
  texts: string[];
}

/** See the contract. */
export async function claimSchedules(work: Work, input: ClaimSchedulesInput): Promise<ClaimSchedulesReply> {
  const answer = await work.call<ClaimAnswer>(statements.call.claimSchedules, [
    input.now ?? null,
    input.node,
    input.token,
    input.limit,
    input.leaseMs,
    input.ids === null ? null : JSON.stringify(input.ids),
  ]);
  const { now, nextDueAt, more } = answer;
  return { now, schedules: toClaimedSchedules(answer), nextDueAt, more };
}

function toClaimedSchedules({ fence, columns, runs, counts, waited, texts }: ClaimAnswer): ClaimedSchedule[] {
  if (columns === null) return [];
  const [ids, apps, tenants, names, generations, versions, dueAts, waitsFors, createdAts, updatedAts] =
    columns;
  const schedules = ids.map(
    (id, i): ClaimedSchedule => ({
      id,
      app: apps?.[i] ?? null,
      tenant: tenants?.[i] ?? null,
      name: names[i] as string,
      generation: generations[i] as number,
      version: versions[i] as number,
      spec: texts[i] as string,
      state: texts[ids.length + i] as string,
      dueAt: dueAts[i] as number | null,
      waitsFor: waitsFors?.[i] ?? null,
      createdAt: createdAts[i] as number,
      updatedAt: updatedAts[i] as number,
      fence: fence as number,
      active: noRuns,
      activeCount: 0,
      waited: null,
    }),
  );
  const at = (place: number) => schedules[place] as ClaimedSchedule;
  for (const [place, id, status, slotAt, origin, dueAt, cancelRequestedAt] of runs ?? []) {
    const one = at(place);
    one.active = [...one.active, { id, status, slotAt, origin, dueAt, cancelRequestedAt }];
    one.activeCount = one.active.length;
  }
  for (const [place, count] of counts ?? []) at(place).activeCount = count;
  for (const [place, id, status, finishedAt] of waited ?? []) at(place).waited = { id, status, finishedAt };
  return schedules;
}

// One list for all: many schedules in one message carry it once.
const noRuns: ActiveRun[] = [];

/** See the contract. */
export async function fire(work: Work, input: FireInput): Promise<FireReply> {
  const together = firedTogether(input);
  if (together.length < togetherMin) return send(work, input, []);
  try {
    return await send(work, input, together);
  } catch (error) {
    // A schedule was taken meanwhile, or an id or a slot is there already, and nothing was done: one by one tells which.
    const state = sqlStateBehind(error);
    if (state !== notTogether && state !== uniqueViolation) throw error;
    return send(work, input, []);
  }
}

/** So few are written one by one, in their order. */
const togetherMin = 4;
/** Each decision is compared with the kinds that there are. */
const kindsMax = 50;

/** A decision that touches nothing but its own schedule, one slot and one new, plain job. */
interface SoleDecision {
  group: FireGroup;
  job: JobSpec;
  slot: SlotRow;
}

/** The decisions that can be written together: those of one claim, each schedule once. */
function firedTogether({ groups }: FireInput): SoleDecision[] {
  const fence = groups[0]?.fence;
  const seen = new Set<string>();
  const together: SoleDecision[] = [];
  for (const group of groups) {
    if (seen.has(group.scheduleId)) return [];
    seen.add(group.scheduleId);
    const { jobs, slots, cancel, slotDetails, waitsFor } = group;
    const [job] = jobs;
    const [slot] = slots;
    if (job === undefined || slot === undefined || jobs.length > 1 || slots.length > 1) continue;
    const isSole =
      group.fence === fence &&
      cancel.length === 0 &&
      (slotDetails === undefined || slotDetails.length === 0) &&
      (waitsFor === null || waitsFor === job.id) &&
      isPlain(job) &&
      'at' in job.due &&
      job.slot?.scheduleId === group.scheduleId &&
      job.slot.slotAt === slot.fromAt;
    const isOneSlot = slot.jobId === job.id && slot.toAt === slot.fromAt && slot.count === 1;
    if (isSole && isOneSlot) together.push({ group, job, slot });
  }
  return together;
}

async function send(work: Work, input: FireInput, together: SoleDecision[]): Promise<FireReply> {
  const { groups, claim } = input;
  const { lists, count } = writtenTogether(together);
  const isTogether = new Set(together.slice(0, count).map(({ group }) => group));
  const others = groups.map((group, i) => ({ group, i })).filter(({ group }) => !isTogether.has(group));
  const isAllPlain = groups.every(({ jobs, cancel }) => cancel.length === 0 && jobs.every(isPlain));
  const created = claim !== undefined && isAllPlain ? groups.flatMap(({ jobs }) => jobs) : null;
  const reply = await work.call<{
    groups: FireReply['groups'];
    claimed: LeasedColumns | UniformClaim | TakenAsCreated;
  }>(statements.call.fire, [
    input.now ?? null,
    input.node,
    ...lists,
    JSON.stringify(others.map(({ group }) => ({ ...group, jobs: group.jobs.map(writtenSpec) }))),
    numberArray([...new Set(groups.map(({ fence }) => fence))]),
    claim === undefined ? null : JSON.stringify(claim),
    created === null ? null : textArray(created.map(({ id }) => id)),
  ]);
  const outcomes: FireReply['groups'] = groups.map(() => 'fired');
  for (const [n, { i }] of others.entries()) outcomes[i] = reply.groups[n] as FireReply['groups'][number];
  const { now, claimed } = reply;
  const taken =
    'created' in claimed ? takenAsCreated(work, together, claimed, now) : toClaimedJobs(work, claimed);
  return { now, groups: outcomes, claimed: taken };
}

/** Jobs that were created as RUNNING: all of those that were written together, which this process knows. */
interface TakenAsCreated {
  created: [id: string[], fence: number[]];
}

function takenAsCreated(
  work: Work,
  together: SoleDecision[],
  { created }: TakenAsCreated,
  now: number,
): ClaimedJob[] {
  const [ids, fences] = created;
  const jobs = new Map(together.map(({ job }) => [job.id, job]));
  const [first] = together;
  work.scanHints?.noteLane((first as SoleDecision).job);
  // What the store keeps of a policy, as one object for all.
  const policy = work.policy(policyText((first as SoleDecision).job.policy));
  return ids.map((id, i) => {
    const job = jobs.get(id) as JobSpec;
    return {
      // {{job.claim +caller | %field: job.%field, | policy=policy,}}
      id: job.id,
      type: job.type,
      version: job.version,
      queue: job.queue,
      tenant: job.tenant,
      priority: job.priority,
      input: job.input,
      metadata: job.metadata,
      policy,
      origin: job.origin,
      // {{/job}}
      fence: fences[i] as number,
      attempt: 1,
      spent: 0,
      maxAttempts: policy.maxAttempts,
      losses: 0,
      begunLosses: 0,
      begun: false,
      createdAt: now,
      dueAt: (job.due as { at: number }).at,
      claimedAt: now,
      slot: job.slot,
      parent: null,
      cancelRequestedAt: null,
    };
  });
}

/** What decisions have in common; each list is in the order of the decisions. So many of them as there are kinds for. */
function writtenTogether(all: SoleDecision[]): { lists: Value[]; count: number } {
  const kinds = createKinds();
  const kindOf: number[] = [];
  for (const one of all) {
    const kind = kinds.of(one);
    if (kind === null) break;
    kindOf.push(kind);
  }
  const count = kindOf.length;
  const [first] = all;
  if (count < togetherMin || first === undefined) return { lists: new Array(15).fill(null), count: 0 };
  const some = count === all.length ? all : all.slice(0, count);
  const slots = some.map(({ job }) => job.slot as JobSlot);
  const hasTenants = some.some(({ job }) => job.tenant !== null);
  const lists = [
    first.group.fence,
    textArray(some.map(({ group }) => group.scheduleId)),
    numberArray(some.map(({ group }) => group.version)),
    textArray(some.map(({ group }) => group.state)),
    numberArray(some.map(({ group }) => group.dueAt)),
    numberArray(kindOf),
    JSON.stringify(kinds.all),
    textArray(some.map(({ job }) => job.id)),
    numberArray(some.map(({ job }) => (checkedDue(job.due) as { at: number }).at)),
    numberArray(some.map(({ job }) => job.rankOffsetMs)),
    hasTenants ? textArray(some.map(({ job }) => job.tenant)) : null,
    textArray(some.map(({ job }) => job.input)),
    numberArray(some.map(({ slot }) => slot.fromAt)),
    textArray(slots.map(slotText)),
    textArray(slots.map(({ details }) => details)),
  ];
  return { lists, count };
}

/** The kinds of decisions that travel together: what the jobs, and the ledger's rows, of one kind share. */
function createKinds() {
  const all: object[] = [];
  const firsts: SoleDecision[] = [];
  return {
    all,
    /** The number of its kind, from 1; null: there are too many. */
    of(one: SoleDecision): number | null {
      const known = firsts.findIndex((first) => isSameKind(first, one));
      if (known >= 0) return known + 1;
      if (all.length === kindsMax) return null;
      const { group, job, slot } = one;
      const {
        id: _id,
        input: _input,
        tenant: _tenant,
        slot: _slot,
        slotDetails: _details,
        ...shared
      } = writtenSpec(job);
      all.push({
        ...shared,
        waits: group.waitsFor !== null,
        decision: slot.decision,
        reason: slot.reason,
        node: slot.node,
      });
      return firsts.push(one);
    },
  };
}

function isSameKind({ group, job, slot }: SoleDecision, other: SoleDecision): boolean {
  const { job: its } = other;
  // Policies are compared as objects, one for all schedules of a task: to compare their text would cost more than is won.
  // {{job.kind | if (job.%field !== its.%field) return false;}}
  if (job.type !== its.type) return false;
  if (job.version !== its.version) return false;
  if (job.queue !== its.queue) return false;
  if (job.priority !== its.priority) return false;
  if (job.metadata !== its.metadata) return false;
  if (job.policy !== its.policy) return false;
  if (job.origin !== its.origin) return false;
  if (job.copyOf !== its.copyOf) return false;
  // {{/job}}
  return (
    job.startDeadlineMs === its.startDeadlineMs &&
    (job.slot?.allow === true) === (its.slot?.allow === true) &&
    (group.waitsFor === null) === (other.group.waitsFor === null) &&
    slot.decision === other.slot.decision &&
    slot.reason === other.slot.reason &&
    slot.node === other.slot.node
  );
}

/** See the contract. */
export async function schedules(work: Work, input: SchedulesInput): Promise<SchedulesReply> {
  const { filter, cursor, limit, order = 'name' } = input;
  const bound = new Bound();
  const now = `${ofSet('now')}(${bound.add(input.now ?? null)}::bigint)`;
  const parts: string[] = [];
  const addText = (column: string, value: string | null | undefined) => {
    if (value === null) parts.push(`${column} IS NULL`);
    else if (value !== undefined) parts.push(`${column} = ${bound.add(value)}::text`);
  };
  if (filter.ids !== undefined) parts.push(`p.id = ANY (${bound.list(filter.ids)})`);
  addText('p.app', filter.app);
  addText('p.tenant', filter.tenant);
  addText('p.name', filter.name);
  if (order === 'due') parts.push('c.due_at IS NOT NULL');
  else if (cursor !== null) {
    const [name, id] = JSON.parse(cursor) as [string, string];
    parts.push(`(p.name, p.id) > (${bound.add(name)}::text, ${bound.add(id)}::text)`);
  }
  const where = parts.length === 0 ? 'TRUE' : parts.join(' AND ');
  const rows = await work.rowsOnce<{ at: number } & ScheduleColumns>(
    `SELECT ${now} AS at, s.* FROM (SELECT 1) one LEFT JOIN LATERAL (
       SELECT p.id, p.app, p.tenant, p.name, c.generation, c.version, p.spec, c.state, c.due_at, c.waits_for, p.created_at, c.updated_at
       FROM duly.specs p JOIN duly.schedules c ON c.id = p.id
       WHERE ${where} ORDER BY ${order === 'due' ? 'c.due_at' : 'p.name'}, p.id LIMIT ${bound.add(limit + 1)}::bigint) s ON true
     ORDER BY ${order === 'due' ? 's.due_at' : 's.name'}, s.id`,
    bound.values,
  );
  const found = rows.filter(({ id }) => id !== null);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const isMore = order === 'name' && found.length > limit && last !== undefined;
  const nextCursor = isMore ? JSON.stringify([last.name, last.id]) : null;
  return { now: (rows[0] as { at: number }).at, schedules: page.map(toScheduleRecord), nextCursor };
}

interface SlotTableRow {
  now: number;
  generation: number | null;
  from_at: number;
  to_at: number;
  count: number | null;
  decision: string;
  reason: string | null;
  node: string;
  job_id: string | null;
  decided_at: number;
  last_decided_at: number;
}

/** See the contract. */
export async function slots(work: Work, input: SlotsInput): Promise<SlotsReply> {
  const { scheduleId, fromAt, beforeAt, limit } = input;
  const rows = await work.rows<SlotTableRow>(statements.schedule.slots, [
    input.now ?? null,
    scheduleId,
    fromAt,
    beforeAt,
    limit,
  ]);
  const compactedRows = await work.rows<Omit<CompactedSlots, 'counts'> & { counts: string }>(
    statements.schedule.compactedRows,
    [scheduleId, fromAt, beforeAt, limit],
  );
  return {
    now: (rows[0] as SlotTableRow).now,
    slots: rows
      .filter(({ generation }) => generation !== null)
      .map((row) => ({
        generation: row.generation as number,
        fromAt: row.from_at,
        toAt: row.to_at,
        count: row.count,
        decision: row.decision,
        reason: row.reason,
        node: row.node,
        jobId: row.job_id,
        decidedAt: row.decided_at,
        ...(row.last_decided_at === row.decided_at ? {} : { lastDecidedAt: row.last_decided_at }),
      })),
    compacted: compactedRows.map(({ generation, startAt, fromAt: from, toAt, counts }) => ({
      ...{ generation, startAt, fromAt: from, toAt },
      counts: (JSON.parse(counts) as [string, number, 0 | 1][]).map(([decision, count, exact]) => ({
        decision,
        count,
        exact: exact === 1,
      })),
    })),
  };
}
