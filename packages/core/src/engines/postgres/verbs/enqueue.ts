import type { EnqueuedItem, EnqueueInput, EnqueueReply, JobSpec } from '../../../contract/engine.ts';
import { isPlain } from '../../../lifecycle/is-plain.ts';
import { textArray } from '../arrays.ts';
import type { LaneScan } from '../claim-scan-hints.ts';
import { statements } from '../generated.ts';
import { checkedDue, type WrittenSpec, writtenSpec } from '../job-columns.ts';
import { type PlainBatch, plainBatch } from '../plain-batch.ts';
import {
  type AnsweredGroup,
  eachGroup,
  notTogether,
  sqlStateBehind,
  uniqueViolation,
  type Work,
} from '../work.ts';
import { type ClaimedJobColumns, type CreatedRunning, toClaimedJobs, toRunningJobs } from './claim.ts';

interface Answer {
  now: number;
  groups?: AnsweredGroup<EnqueuedItem>[];
  claimed: ClaimedJobColumns | CreatedRunning;
  scan?: LaneScan | null;
}

type PreparedGroup = JobSpec[];

/** See the contract. */
export async function enqueue(work: Work, input: EnqueueInput): Promise<EnqueueReply> {
  let claimed: EnqueueReply['claimed'] = [];
  const reply = await eachGroup(
    input.groups,
    ({ jobs }): PreparedGroup => {
      for (const { due } of jobs) checkedDue(due);
      return jobs;
    },
    async (groups) => {
      const answer = await send(work, input, groups);
      claimed =
        'fences' in answer.claimed
          ? toRunningJobs(work, groups.flat(), answer.claimed, answer.now)
          : toClaimedJobs(work, answer.claimed);
      return { now: answer.now, groups: answer.groups };
    },
  );
  return { ...reply, claimed };
}

type SentAnswer = Answer & { groups: AnsweredGroup<EnqueuedItem>[] };

/** Plain jobs of all groups are created together. If an id exists, or the store refuses to, all jobs are created one by one. */
async function send(work: Work, input: EnqueueInput, groups: PreparedGroup[]): Promise<SentAnswer> {
  const jobs = groups.flat();
  if (input.repeat !== true && jobs.length > 0 && jobs.every(isPlainWithoutSlot)) {
    try {
      const answer = await createPlain(work, input, jobs);
      return { ...answer, groups: groups.map((group) => plainReply(group, answer.now)) };
    } catch (error) {
      const state = sqlStateBehind(error);
      if (state !== uniqueViolation && state !== notTogether) throw error;
    }
  }
  return (await createGroups(work, input, groups)) as SentAnswer;
}

/** A schedule's decision creates the jobs of its slots; nobody else needs them by columns. */
function isPlainWithoutSlot(job: JobSpec): boolean {
  return job.slot === null && isPlain(job);
}

async function createPlain(work: Work, { now, claim }: EnqueueInput, jobs: JobSpec[]): Promise<Answer> {
  const batch = plainBatch(jobs);
  for (const job of batch.firsts) work.scanHints?.noteLane(job);
  const answer = await call(work, now, batch, null, {
    claim: claim === undefined ? null : (work.scanHints?.sent(claim) ?? claim),
    repeat: false,
    created: batch.firsts,
  });
  const { scan } = 'fences' in answer.claimed ? answer.claimed : answer;
  if (claim !== undefined) work.scanHints?.update(claim, answer.now, scan);
  return answer;
}

function createGroups(
  work: Work,
  { now, claim, repeat }: EnqueueInput,
  groups: PreparedGroup[],
): Promise<Answer> {
  const written = groups.map((jobs) => jobs.map((spec) => specFor(work, spec)));
  const how = { claim: claim ?? null, repeat: repeat === true, created: groups.flat() };
  // A dedupe key may have to wait for an open transaction. A user's own transaction waits as long as for everything else.
  const isKeyed = groups.some((jobs) => jobs.some(({ dedupe }) => dedupe !== null));
  if (!isKeyed || work.where === 'user-transaction') return call(work, now, null, written, how);
  const values = [
    now ?? null,
    JSON.stringify(written),
    how.claim === null ? null : JSON.stringify(how.claim),
    how.repeat,
  ];
  return work.call<Answer>(statements.call.enqueueKeyed, values, how.created);
}

function call(
  work: Work,
  now: number | undefined,
  batch: PlainBatch | null,
  groups: WrittenSpec[][] | null,
  { claim, repeat, created }: { claim: object | null; repeat: boolean; created: JobSpec[] },
): Promise<Answer> {
  const values = [
    now ?? null,
    batch?.specs ?? null,
    batch && textArray(batch.ids),
    batch && textArray(batch.inputs),
    batch && writtenLists(batch),
    groups === null ? null : JSON.stringify(groups),
    claim === null ? null : JSON.stringify(claim),
    repeat,
  ];
  return work.call<Answer>(statements.call.enqueue, values, created);
}

/** The lists beside ids and inputs; null: there are none. */
function writtenLists({ kind, dues, rankOffsets, tenants, metadata }: PlainBatch): string | null {
  const lists = { kind, dues, rankOffsets, tenants, metadata };
  return Object.values(lists).every((list) => list === null) ? null : JSON.stringify(lists);
}

/** Inside a user's transaction a job takes no serial place: it would be held until they commit. */
function specFor(work: Work, spec: JobSpec): WrittenSpec {
  const written = writtenSpec(spec);
  return work.where === 'user-transaction' && spec.serial !== null ? { ...written, unplaced: true } : written;
}

/** What became of plain jobs follows from their due time alone, so the store need not say it. */
function plainReply(jobs: PreparedGroup, now: number): AnsweredGroup<EnqueuedItem> {
  const items = jobs.map(({ id, due }): EnqueuedItem => {
    const dueAt = 'at' in due ? due.at : now + due.inMs;
    return { id, status: dueAt <= now ? 'PENDING' : 'SCHEDULED', dueAt, deduped: false };
  });
  return { ok: true, items };
}
