import type { Clock, Duly, Schedule } from '@duly/core';
import type { AlertCondition, AlertRule } from './alert-rule.ts';
import type { AlertFacts, ScheduleFact } from './evaluate.ts';
import {
  deadlineSlotAt,
  isSettledBy,
  type LastSuccess,
  nextLookAt,
  overdueOf,
  promisedSlotAt,
} from './overdue.ts';

/** Reads what rules look at; remembers what is dear to read and seldom changes. */
export interface FactReader {
  /** Reads what these rules need, and nothing else. */
  read(rules: readonly AlertRule[]): Promise<AlertFacts>;
}

// More than this runs or is dead only where something is wrong anyway, and each look has a price.
const runningMax = 2_000;
const deadMax = 100;
// Among the newest so many that failed is looked for schedules that fail again and again.
const failedMax = 1_000;
const typesMax = 50;
// Slots with one fate are one line, so this goes back far enough to find one that was promised.
const ledgerMax = 50;
const dayMs = 86_400_000;
// The list of schedules is read with every look while that is cheap. A hundred thousand take seconds, and are read seldom enough to take a twentieth of the
// time at most.
const listShare = 20;
// However long it took: the store may have stood still.
const listEveryMsMax = 300_000;
// So many are asked for at once: after an outage all of them may be overdue, and the calls of others must get in between.
const atOnceCount = 20;

/** Makes one. */
export function createFactReader(duly: Duly, clock: Pick<Clock, 'elapsed'>): FactReader {
  /** When each of those that are watched is to be looked at again. */
  let lookAt = new Map<string, number>();
  let listedAt = Number.NEGATIVE_INFINITY;
  let listEveryMs = 0;

  async function factOf(schedule: Schedule, now: number): Promise<ScheduleFact> {
    const fact = await scheduleFact(duly, schedule, now);
    lookAt.set(schedule.id, nextLookAt(schedule, fact.overdue !== null, now));
    return fact;
  }

  /** What is known of the schedules that a rule could find something about: with a deadline, or with a run that failed. */
  async function scheduleFacts(now: number): Promise<ScheduleFact[]> {
    if (now - listedAt >= listEveryMs || now < listedAt) {
      const sinceElapsed = clock.elapsed();
      const found: Schedule[] = [];
      for await (const schedule of allSchedules(duly)) if (isWatched(schedule)) found.push(schedule);
      lookAt = new Map();
      const facts = await someAtOnce(found, (schedule) => factOf(schedule, now));
      listedAt = now;
      listEveryMs = Math.min(listEveryMsMax, listShare * (clock.elapsed() - sinceElapsed));
      return facts;
    }
    // About the others there is nothing to find yet.
    const ids = [...lookAt].filter(([, at]) => at <= now).map(([id]) => id);
    const facts = await someAtOnce(ids, async (id) => {
      const schedule = await duly.schedules.get({ id }).catch(() => null);
      return schedule === null ? null : factOf(schedule, now);
    });
    return facts.filter((fact) => fact !== null);
  }

  return {
    async read(rules) {
      const conditions = rules.filter(({ isEnabled }) => isEnabled).map(({ condition }) => condition);
      const has = (...kinds: AlertCondition['kind'][]): boolean =>
        conditions.some(({ kind }) => kinds.includes(kind));
      const [counts, nodes, pauses] = await Promise.all([duly.counts(), duly.nodes(), duly.pauses()]);
      const now = counts.now.getTime();
      const windows = conditions.flatMap((one) => (one.kind === 'failure_rate' ? [one.windowMs] : []));
      const inRowMax = Math.max(
        0,
        ...conditions.map((one) => (one.kind === 'failures_in_row' ? one.count : 0)),
      );
      return {
        now,
        running: counts.status.RUNNING.count > 0 ? await runningJobs(duly, now, conditions) : [],
        outcomes: new Map(
          await Promise.all(
            [...new Set(windows)].map(
              async (windowMs) => [windowMs, await outcomes(duly, now - windowMs)] as const,
            ),
          ),
        ),
        failuresByType: inRowMax === 0 ? [] : await failures(duly, now, inRowMax),
        schedules: withFailing(
          has('schedule_deadline', 'failures_in_row') ? await scheduleFacts(now) : [],
          counts.status.FAILED.count < inRowMax ? [] : await failingSchedules(duly, inRowMax),
        ),
        lanes: counts.lanes.map(({ ready, ...lane }) => ({ ...lane, readyCount: ready.count })),
        workers: nodes.filter(({ roles }) => roles.includes('worker')),
        pauses,
        dead: has('dead_letters') ? await deadLetters(duly) : { count: 0, capped: false },
      };
    },
  };
}

async function someAtOnce<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnceCount)
    results.push(...(await Promise.all(items.slice(at, at + atOnceCount).map(read))));
  return results;
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

/** Those that may run for too long. One that was made since cannot, and thousands that were would leave no place for the ones that are meant. */
async function runningJobs(
  duly: Duly,
  now: number,
  conditions: readonly AlertCondition[],
): Promise<AlertFacts['running']> {
  const afterMs = conditions.flatMap((one) => (one.kind === 'stuck' ? [one.afterMs] : []));
  if (afterMs.length === 0) return [];
  const before = Math.max(0, now - Math.min(...afterMs));
  const found: { id: string; type: string; startedAt: number }[] = [];
  for await (const { id, type, attemptList, startedAt } of duly.jobs({ status: 'RUNNING', before })) {
    const since = attemptList.at(-1)?.startedAt ?? startedAt;
    if (since !== null) found.push({ id, type, startedAt: since.getTime() });
    if (found.length >= runningMax) break;
  }
  return found;
}

async function outcomes(duly: Duly, sinceAt: number) {
  const types = await duly.stats({ since: sinceAt });
  return types.map(({ type, completed, failed }) => ({
    type,
    completedCount: completed,
    failedCount: failed,
  }));
}

/** How many of each type's last jobs failed in a row; only types of which one failed within a day. */
async function failures(duly: Duly, now: number, countMax: number): Promise<AlertFacts['failuresByType']> {
  const types = (await duly.stats({ since: now - dayMs })).filter(({ failed }) => failed > 0);
  return Promise.all(
    types.slice(0, typesMax).map(async ({ type }) => {
      const { jobs } = await duly
        .jobs({ task: type, status: ['COMPLETED', 'FAILED'] })
        .page({ limit: Math.min(countMax, 1_000) });
      const success = jobs.findIndex(({ status }) => status === 'COMPLETED');
      return { type, inRowCount: success < 0 ? jobs.length : success };
    }),
  );
}

/**
 * Schedules whose last so many runs all failed. A schedule itself counts its failures only if they are to pause or flag it, and a type says nothing where many
 * schedules share it, as commands do. A run that is on its way neither ends a row nor begins one.
 */
async function failingSchedules(duly: Duly, count: number): Promise<ScheduleFact[]> {
  if (count === 0) return [];
  const { jobs } = await duly.jobs({ status: 'FAILED' }).page({ limit: failedMax });
  // The id of its schedule is the first part of what a run was fired for; names may be shared.
  const ids = [...Map.groupBy(jobs, ({ fireId }) => fireId?.split('/', 1)[0] ?? null)]
    .filter(([id, failed]) => id !== null && failed.length >= count)
    .map(([id]) => id as string);
  const facts = await someAtOnce(ids, async (id) => {
    const last = await duly.jobs({ schedule: id, status: ['COMPLETED', 'FAILED'] }).page({ limit: count });
    if (last.jobs.some(({ status }) => status === 'COMPLETED')) return null;
    // One that was deleted is nobody's trouble any more.
    const schedule = await duly.schedules.get({ id }).catch(() => null);
    return schedule === null ? null : factWith(schedule, last.jobs.length, null);
  });
  return facts.filter((fact) => fact !== null);
}

function withFailing(facts: readonly ScheduleFact[], failing: readonly ScheduleFact[]): ScheduleFact[] {
  const byLabel = new Map(facts.map((fact) => [fact.label, fact]));
  for (const fact of failing) {
    const { overdue = null, failuresInRowCount = 0 } = byLabel.get(fact.label) ?? {};
    byLabel.set(fact.label, {
      ...fact,
      overdue,
      failuresInRowCount: Math.max(failuresInRowCount, fact.failuresInRowCount),
    });
  }
  return [...byLabel.values()];
}

async function deadLetters(duly: Duly): Promise<AlertFacts['dead']> {
  const { jobs, nextCursor } = await duly.dead.list().page({ limit: deadMax });
  return { count: jobs.length, capped: nextCursor !== null };
}

/** What is known of one schedule. */
async function scheduleFact(duly: Duly, schedule: Schedule, now: number): Promise<ScheduleFact> {
  return factWith(schedule, schedule.counts.failuresInRow, await overdueNow(duly, schedule, now));
}

function factWith(
  { name, tenant, task }: Schedule,
  failuresInRowCount: number,
  overdue: ScheduleFact['overdue'],
): ScheduleFact {
  return { label: tenant === null ? name : `${name} (${tenant})`, type: task, failuresInRowCount, overdue };
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
