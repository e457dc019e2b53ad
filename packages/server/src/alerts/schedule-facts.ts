import type { Clock, Duly, Schedule } from '@duly/core';
import { inBatches } from './in-batches.ts';
import {
  deadlineSlotAt,
  isSettledBy,
  type LastSuccess,
  nextLookAt,
  overdueOf,
  promisedSlotAt,
} from './overdue.ts';

/** What alert rules know about a schedule. */
export interface ScheduleFact {
  /** Name for people, with the tenant if there is one. */
  label: string;
  type: string;
  failuresInRowCount: number;
  /** The newest slot that should have succeeded by now and did not; null: there is none. */
  overdue: { slotAt: number; deadlineAt: number; runStatus: string | null } | null;
}

/** Reads the facts of schedules, and remembers which schedules matter. */
export interface ScheduleFacts {
  /** The schedules about which a rule may find something: those with a deadline or with a failed run. */
  read(now: number): Promise<readonly ScheduleFact[]>;
}

// Slots with one fate are one row of the ledger, so this many rows reach back to a slot that was due.
const ledgerMax = 50;
// Listing 100,000 schedules takes seconds. A list that takes long is read so seldom that it takes a twentieth of the time at most.
const listShare = 20;
// The upper limit, for a list that took long only because the store did not answer.
const listEveryMsMax = 300_000;

/** Creates the reader. */
export function createScheduleFacts(duly: Duly, clock: Pick<Clock, 'elapsed'>): ScheduleFacts {
  /** When each of the watched schedules is due to be read again. */
  let readAt = new Map<string, number>();
  let listedAt = Number.NEGATIVE_INFINITY;
  let listEveryMs = 0;

  async function factOf(schedule: Schedule, now: number): Promise<ScheduleFact> {
    const overdue = await overdueNow(duly, schedule, now);
    readAt.set(schedule.id, nextLookAt(schedule, overdue !== null, now));
    return scheduleFact(schedule, schedule.counts.failuresInRow, overdue);
  }

  async function readAll(now: number): Promise<ScheduleFact[]> {
    const sinceElapsed = clock.elapsed();
    const found: Schedule[] = [];
    for await (const schedule of allSchedules(duly)) if (isWatched(schedule)) found.push(schedule);
    readAt = new Map();
    const facts = await inBatches(found, (schedule) => factOf(schedule, now));
    listedAt = now;
    listEveryMs = Math.min(listEveryMsMax, listShare * (clock.elapsed() - sinceElapsed));
    return facts;
  }

  async function readDue(now: number): Promise<ScheduleFact[]> {
    const ids = [...readAt].filter(([, at]) => at <= now).map(([id]) => id);
    const facts = await inBatches(ids, async (id) => {
      const schedule = await duly.schedules.get({ id }).catch(() => null);
      return schedule === null ? null : factOf(schedule, now);
    });
    return facts.filter((fact) => fact !== null);
  }

  return {
    async read(now) {
      const isListDue = now - listedAt >= listEveryMs || now < listedAt;
      const facts = isListDue ? await readAll(now) : await readDue(now);
      // Schedules that share a label share a subject.
      return [...new Map(facts.map((fact) => [fact.label, fact])).values()];
    },
  };
}

async function* allSchedules(duly: Duly): AsyncGenerator<Schedule> {
  let cursor: string | undefined;
  do {
    const page = await duly.schedules.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.schedules;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

function isWatched({ policies, counts }: Schedule): boolean {
  return policies.finishDeadlineMs !== null || counts.failuresInRow > 0;
}

/** The fact of one schedule. */
export function scheduleFact(
  { name, tenant, type }: Schedule,
  failuresInRowCount: number,
  overdue: ScheduleFact['overdue'],
): ScheduleFact {
  return { label: tenant === null ? name : `${name} (${tenant})`, type, failuresInRowCount, overdue };
}

/** What is overdue of a schedule now; null: nothing. */
export async function overdueNow(
  duly: Duly,
  schedule: Schedule,
  now: number,
): Promise<ScheduleFact['overdue']> {
  const foundAt = deadlineSlotAt(schedule, now);
  if (foundAt === null || isSettledBy(schedule, foundAt) === true) return null;
  const ledger = await duly.schedules.slots({ id: schedule.id }, { to: now, limit: ledgerMax });
  const slotAt = promisedSlotAt(schedule, foundAt, ledger, now);
  if (slotAt === null || isSettledBy(schedule, slotAt) === true) return null;
  return overdueOf(schedule, slotAt, await lastSuccess(duly, schedule.id));
}

async function lastSuccess(duly: Duly, schedule: string): Promise<LastSuccess | null> {
  const job = await duly.jobs({ schedule, status: 'COMPLETED' }).first();
  if (job === null || job.finishedAt === null) return null;
  return { slotAt: job.slot?.getTime() ?? null, finishedAt: job.finishedAt.getTime() };
}
