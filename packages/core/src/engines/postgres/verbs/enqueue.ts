import type { EnqueuedItem, EnqueueInput, EnqueueReply, JobSpec } from '../../../contract/engine.ts';
import { textArray } from '../arrays.ts';
import type { LaneScan } from '../claim-scan-hints.ts';
import { statements } from '../generated.ts';
import {
  checkedDue,
  isPlain,
  isUniform,
  plainColumns,
  type WrittenSpec,
  writtenSpec,
} from '../job-columns.ts';
import { type AnsweredGroup, eachGroup, sqlStateBehind, uniqueViolation, type Work } from '../work.ts';
import { type LeasedColumns, toClaimedJobs, type UniformClaim } from './claim.ts';

interface Answer {
  now: number;
  groups?: AnsweredGroup<EnqueuedItem>[];
  claimed: LeasedColumns | UniformClaim;
  scan?: LaneScan | null;
}

type PreparedGroup = JobSpec[];

/** See the contract. */
export async function enqueue(work: Work, input: EnqueueInput): Promise<EnqueueReply> {
  let claimed: LeasedColumns | UniformClaim = [];
  const reply = await eachGroup(
    input.groups,
    ({ jobs }): PreparedGroup => {
      for (const { due } of jobs) checkedDue(due);
      return jobs;
    },
    async (groups) => {
      const answer = await send(work, input, groups);
      claimed = answer.claimed;
      return { now: answer.now, groups: answer.groups };
    },
  );
  return { ...reply, claimed: toClaimedJobs(work, claimed) };
}

type SentAnswer = Answer & { groups: AnsweredGroup<EnqueuedItem>[] };

/** Plain jobs of all groups go in together; if one of their ids is there already, everything goes one by one, with care. */
async function send(work: Work, input: EnqueueInput, groups: PreparedGroup[]): Promise<SentAnswer> {
  const isAllPlain = input.repeat !== true && groups.every((jobs) => jobs.every(isPlain));
  if (isAllPlain) {
    const [only] = groups;
    const jobs = groups.length === 1 && only !== undefined ? only : groups.flat();
    try {
      const answer = await (isUniform(jobs)
        ? callUniform(work, input, jobs)
        : call(work, input, { groups: null, plain: jobs.map((spec) => specFor(work, spec)) }));
      return { ...answer, groups: groups.map((group) => plainReply(group, answer.now)) };
    } catch (error) {
      if (sqlStateBehind(error) !== uniqueViolation) throw error;
    }
  }
  return (await call(work, input, {
    groups: groups.map((jobs) => jobs.map((spec) => specFor(work, spec))),
    plain: null,
  })) as SentAnswer;
}

/** Plain jobs that differ in nothing but their input. */
async function callUniform(work: Work, { now, claim }: EnqueueInput, jobs: JobSpec[]): Promise<Answer> {
  const { id: _id, input: _input, ...shared } = writtenSpec(jobs[0] as JobSpec);
  work.scanHints?.noteLane(jobs[0] as JobSpec);
  const values = [
    now ?? null,
    textArray(jobs.map(({ id }) => id)),
    textArray(jobs.map(({ input }) => input)),
    JSON.stringify(shared),
    claim === undefined ? null : JSON.stringify(work.scanHints?.sent(claim) ?? claim),
  ];
  const answer = await work.call<Answer>(statements.call.enqueueAlike, values, jobs.slice(0, 1));
  if (claim !== undefined) work.scanHints?.update(claim, answer.now, answer.scan);
  return answer;
}

/** Inside a user's transaction a job takes no serial place: it would be held until they commit. */
function specFor(work: Work, spec: JobSpec): WrittenSpec {
  const written = writtenSpec(spec);
  return work.where === 'user-transaction' && spec.serial !== null ? { ...written, unplaced: true } : written;
}

function call(
  work: Work,
  input: EnqueueInput,
  { groups, plain }: { groups: WrittenSpec[][] | null; plain: WrittenSpec[] | null },
): Promise<Answer> {
  const { now, claim, repeat } = input;
  const specs = input.groups.flatMap(({ jobs }) => jobs);
  const created = [
    now ?? null,
    groups === null ? null : JSON.stringify(groups),
    plain === null ? null : JSON.stringify(plainColumns(plain)),
  ];
  if (work.where === 'user-transaction') {
    return work.call<Answer>(statements.call.enqueueInTransaction, [...created, repeat === true], specs);
  }
  // Who has a key may have to wait for somebody's open transaction.
  const isKeyed = groups?.some((group) => group.some(({ dedupe }) => dedupe)) === true;
  const values = [...created, claim === undefined ? null : JSON.stringify(claim), repeat === true];
  return work.call<Answer>(
    isKeyed ? statements.call.enqueueKeyed : statements.call.enqueueWaiting,
    values,
    specs,
  );
}

/** What became of plain jobs follows from their due time alone, so the store need not say it. */
function plainReply(jobs: PreparedGroup, now: number): AnsweredGroup<EnqueuedItem> {
  const items = jobs.map(({ id, due }): EnqueuedItem => {
    const dueAt = 'at' in due ? due.at : now + due.inMs;
    return { id, status: dueAt <= now ? 'PENDING' : 'SCHEDULED', dueAt, deduped: false };
  });
  return { ok: true, items };
}
