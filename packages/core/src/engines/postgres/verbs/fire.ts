import type {
  ClaimedJob,
  FireGroup,
  FireInput,
  FireReply,
  JobSlot,
  JobSpec,
  SlotRow,
} from '../../../contract/engine.ts';
import { numberArray, textArray } from '../arrays.ts';
import { statements } from '../generated.ts';
import { checkedDue, isPlain, policyText, slotText, writtenSpec } from '../job-columns.ts';
import { notTogether, sqlStateBehind, uniqueViolation, type Value, type Work } from '../work.ts';
import { type LeasedColumns, toClaimedJobs, type UniformClaim } from './claim.ts';

/** See the contract. */
export async function fire(work: Work, input: FireInput): Promise<FireReply> {
  const together = firedTogether(input);
  if (together.length < togetherMin) return send(work, input, []);
  try {
    return await send(work, input, together);
  } catch (error) {
    // Another node took a schedule, or an id or a slot exists already. Nothing was written, so write one by
    // one.
    const state = sqlStateBehind(error);
    if (state !== notTogether && state !== uniqueViolation) throw error;
    return send(work, input, []);
  }
}

// Fewer decisions are written one by one, in their order.
const togetherMin = 4;
// Each decision is compared with all kinds.
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
  const jobs = groups.flatMap((group) => group.jobs);
  const created = claim !== undefined && isAllPlain ? jobs : null;
  const values = [
    input.now ?? null,
    input.node,
    ...lists,
    JSON.stringify(others.map(({ group }) => ({ ...group, jobs: group.jobs.map(writtenSpec) }))),
    numberArray([...new Set(groups.map(({ fence }) => fence))]),
    claim === undefined ? null : JSON.stringify(claim),
    created === null ? null : textArray(created.map(({ id }) => id)),
  ];
  const reply = await work.call<FireAnswer>(statements.call.fire, values, jobs);
  const { now, claimed } = reply;
  const outcomes: FireReply['groups'] = groups.map(() => 'fired');
  for (const [n, { i }] of others.entries()) outcomes[i] = reply.groups[n] as FireReply['groups'][number];
  const taken =
    'created' in claimed ? takenAsCreated(work, together, claimed, now) : toClaimedJobs(work, claimed);
  return { now, groups: outcomes, claimed: taken };
}

/** Jobs that were created as RUNNING: all that were written together. This process knows their fields. */
interface TakenAsCreated {
  created: [id: string[], fence: number[]];
}
type FireAnswer = Pick<FireReply, 'groups'> & { claimed: LeasedColumns | UniformClaim | TakenAsCreated };

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
  // The policy as the store returns it, as one object for all jobs.
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

/**
 * Writes decisions as lists, each in the order of the decisions. `count`: how many of them fit into the
 * kinds.
 */
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

/** The kinds of decisions that are sent together. A kind holds what its jobs and ledger rows share. */
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
  // All schedules of a task share one policy object. To compare policies as text costs more than it saves.
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
