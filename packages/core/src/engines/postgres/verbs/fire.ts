import type { FireGroup, FireInput, FireReply, JobSpec, SlotRow } from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { numberArray, textArray } from '../arrays.ts';
import { statements } from '../generated.ts';
import { writtenSpec } from '../job-columns.ts';
import { plainBatch } from '../plain-batch.ts';
import { notTogether, sqlStateBehind, uniqueViolation, type Value, type Work } from '../work.ts';
import { type ClaimedJobColumns, type CreatedRunning, toClaimedJobs, toRunningJobs } from './claim.ts';

/** See the contract. */
export async function fire(work: Work, input: FireInput): Promise<FireReply> {
  const plain = plainDecisions(input);
  if (plain.length < togetherMin) return send(work, input, []);
  try {
    return await send(work, input, plain);
  } catch (error) {
    // A schedule was taken meanwhile, or an id or a slot is there already, and nothing was done: one by one tells which.
    const state = sqlStateBehind(error);
    if (state !== notTogether && state !== uniqueViolation) throw error;
    return send(work, input, []);
  }
}

/** So few are written one by one, in their order. */
const togetherMin = 4;

/** A decision that touches nothing but its own schedule, one slot and one new, plain job. */
interface PlainDecision {
  group: FireGroup;
  job: JobSpec;
  slot: SlotRow;
}

/** The decisions that can be written together: those of one claim, each schedule once. */
function plainDecisions({ groups }: FireInput): PlainDecision[] {
  const fence = groups[0]?.fence;
  const seen = new Set<string>();
  const plain: PlainDecision[] = [];
  for (const group of groups) {
    if (seen.has(group.scheduleId)) return [];
    seen.add(group.scheduleId);
    const { jobs, slots, cancel, slotDetails, waitsFor } = group;
    const [[job], [slot]] = [jobs, slots];
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
    if (isSole && isOneSlot) plain.push({ group, job, slot });
  }
  return plain;
}

type FireAnswer = Pick<FireReply, 'groups'> & { claimed: ClaimedJobColumns | CreatedRunning };

async function send(work: Work, input: FireInput, plain: PlainDecision[]): Promise<FireReply> {
  const { groups, claim } = input;
  const isSent = new Set(plain.map(({ group }) => group));
  const others = groups.map((group, i) => ({ group, i })).filter(({ group }) => !isSent.has(group));
  const isAllPlain = groups.every(({ jobs, cancel }) => cancel.length === 0 && jobs.every(isPlain));
  const jobs = groups.flatMap((group) => group.jobs);
  const created = claim !== undefined && isAllPlain ? jobs : null;
  const values = [
    input.now ?? null,
    input.node,
    ...writtenDecisions(plain),
    JSON.stringify(others.map(({ group }) => ({ ...group, jobs: group.jobs.map(writtenSpec) }))),
    numberArray([...new Set(groups.map(({ fence }) => fence))]),
    claim === undefined ? null : JSON.stringify(claim),
    created === null ? null : textArray(created.map(({ id }) => id)),
  ];
  const reply = await work.call<FireAnswer>(statements.call.fire, values, jobs);
  const outcomes: FireReply['groups'] = groups.map(() => 'fired');
  for (const [n, { i }] of others.entries()) outcomes[i] = reply.groups[n] as FireReply['groups'][number];
  const { now, claimed } = reply;
  const taken =
    'fences' in claimed
      ? toRunningJobs(
          work,
          plain.map(({ job }) => job),
          claimed,
          now,
        )
      : toClaimedJobs(work, claimed);
  return { now, groups: outcomes, claimed: taken };
}

/** The parameters of `fire` that are lists in the order of the decisions, and what the decisions share. */
function writtenDecisions(plain: PlainDecision[]): Value[] {
  const [first] = plain;
  if (first === undefined) return new Array(16).fill(null);
  const at = (i: number) => plain[i] as PlainDecision;
  const batch = plainBatch(
    plain.map(({ job }) => job),
    {
      isSame: (i, other) => isSameLedger(at(i), at(other)),
      written: (i) => writtenLedger(at(i)),
    },
  );
  return [
    first.group.fence,
    textArray(plain.map(({ group }) => group.scheduleId)),
    numberArray(plain.map(({ group }) => group.version)),
    textArray(plain.map(({ group }) => group.state)),
    numberArray(plain.map(({ group }) => group.dueAt)),
    batch.specs,
    batch.kind && numberArray(batch.kind),
    textArray(batch.ids),
    textArray(batch.inputs),
    batch.dues && numberArray(batch.dues),
    batch.rankOffsets && numberArray(batch.rankOffsets),
    batch.tenants && textArray(batch.tenants),
    batch.metadata && textArray(batch.metadata),
    numberArray(plain.map(({ slot }) => slot.fromAt)),
    batch.slots && textArray(batch.slots.slots),
    batch.slots && textArray(batch.slots.details),
  ];
}

/** What the rows of the ledger, and the schedules, of one kind share. */
function writtenLedger({ group, slot: { decision, reason, node } }: PlainDecision): object {
  return { waits: group.waitsFor !== null, decision, reason, node };
}

function isSameLedger({ group, slot }: PlainDecision, other: PlainDecision): boolean {
  return (
    (group.waitsFor === null) === (other.group.waitsFor === null) &&
    slot.decision === other.slot.decision &&
    slot.reason === other.slot.reason &&
    slot.node === other.slot.node
  );
}
