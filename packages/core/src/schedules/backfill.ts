/** What a backfill looks at, and what it answers. */

import { readFlag, readWholeNumber, readWord, refuseOption } from '../base/option-reader.ts';
import type { CompactedSlots, Engine, JobRecord } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import { readMoment } from './calendar/moment.ts';
import type { BackfillPlan, BackfillRequest, SlotRuns } from './planner/plan-operations.ts';
import type { Loaded } from './schedule-loader.ts';
import type { BackfillOptions, BackfillResult } from './schedule-options.ts';

const pageSize = 500;

/** Which slots of a range have a completed run, and which one that is not over. */
export async function slotRuns(
  engine: Pick<Engine, 'list' | 'slots'>,
  scheduleId: string,
  { fromAt, toAt }: { fromAt: number; toAt: number },
): Promise<SlotRuns> {
  const completed = new Set<number>();
  const unfinished = new Set<number>();
  const known = new Set<string>();
  let cursor: string | null = null;
  do {
    // A run of a slot is made after the slot.
    const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
      filter: { scheduleId, createdFrom: fromAt },
      cursor,
      limit: pageSize,
    });
    for (const { id, status, slot } of page.jobs) {
      known.add(id);
      if (slot?.slotAt === null || slot?.slotAt === undefined) continue;
      if (status === 'COMPLETED') completed.add(slot.slotAt);
      else if (!isTerminal(status)) unfinished.add(slot.slotAt);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  const compactedRows = new Map<string, CompactedSlots>();
  let beforeAt = toAt + 1;
  for (;;) {
    const { slots, compacted } = await engine.slots({
      scheduleId,
      fromAt,
      beforeAt,
      limit: pageSize,
    });
    for (const one of compacted) compactedRows.set(`${one.generation} ${one.startAt}`, one);
    for (const row of slots) {
      // Pruned or deleted. What failed is stored for longer, so a pruned run was completed; a deleted one is not wanted again.
      if (row.decision === 'fired' && row.jobId !== null && !known.has(row.jobId)) completed.add(row.fromAt);
    }
    const last = slots.at(-1);
    if (last === undefined || slots.length < pageSize) break;
    beforeAt = last.fromAt;
  }
  // Which slots of a compacted month fired is no longer known, only how many. Where some did, none is run again unless all are to be.
  const ranOnce = [...compactedRows.values()].filter(({ counts }) =>
    counts.some(({ decision }) => decision === 'fired'),
  );
  const isCompacted = (at: number): boolean => ranOnce.some((one) => one.fromAt <= at && at <= one.toAt);
  return { completed, compacted: { has: isCompacted }, unfinished };
}

/** A backfill's plan as it is answered. */
export function backfillResult(
  { slots, plan, completedCount, compactedCount, unfinishedCount }: BackfillPlan,
  dryRun: boolean,
): BackfillResult {
  return {
    slots: slots.map((at) => new Date(at)),
    jobs: dryRun ? [] : plan.runs.map(({ id }) => id),
    completedCount,
    compactedCount,
    unfinishedCount,
    dryRun,
  };
}

/** What to create runs for, on the clock of the schedule's zone. Throws `invalid_option`. */
export function readBackfill(
  given: BackfillOptions,
  loaded: Pick<Loaded, 'parsed' | 'now'>,
): BackfillRequest {
  const { timezone } = loaded.parsed.rule;
  const fromAt = readMoment(given.from, 'from', timezone);
  const toAt = given.to === undefined ? loaded.now : readMoment(given.to, 'to', timezone);
  if (toAt < fromAt) refuseOption('to', new Date(toAt).toISOString(), 'not to be before "from"');
  return {
    fromAt,
    toAt,
    order:
      given.order === undefined ? ('oldest' as const) : readWord(given.order, 'order', ['oldest', 'newest']),
    concurrency:
      given.concurrency === undefined ? 1 : readWholeNumber(given.concurrency, 'concurrency', 1, 1_000),
    reprocess: given.reprocess === undefined ? false : readFlag(given.reprocess, 'reprocess'),
    allow: given.allow === undefined ? false : readFlag(given.allow, 'allow'),
  };
}
