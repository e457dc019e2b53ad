// Reads the facts behind an answer to "why" about a slot.

import type { AuditRow, Engine, JobRecord } from '../contract/engine.ts';
import { isSlotOf, readSlot } from './finder.ts';
import {
  changesOf,
  changesSince,
  dueAtUnderOldRule,
  earlierGenerations,
  type LedgerSchedule,
  scheduleAt,
} from './history.ts';
import { backfillsOf } from './ledger.ts';
import { explainSlot, type SlotWhy } from './schedule-why.ts';

/** What became of a slot and why, or what is to become of it. */
export async function readSlotWhy(
  engine: Engine,
  loaded: LedgerSchedule,
  slot: Date | number | string,
): Promise<SlotWhy> {
  const scheduleId = loaded.record.id;
  const { askedAt, missing } = readSlot(slot, loaded);
  const isDelay = loaded.parsed.planRule.kind === 'delay';
  // The slots of a fixed delay have milliseconds that nobody writes.
  const beforeAt = isDelay ? askedAt + 1_000 : askedAt + 1;
  const { slots, compacted } = await engine.slots({ scheduleId, fromAt: askedAt, beforeAt, limit: 10 });
  const changes = await changesSince(engine, scheduleId, Math.min(askedAt, ...slots.map(decidedFirst)));
  const then = (one: (typeof slots)[number]): LedgerSchedule => scheduleAt(loaded, one, askedAt, changes);
  const { nextSlotAt } = loaded.parsed.state;
  const isNext = isDelay && nextSlotAt !== null && nextSlotAt >= askedAt && nextSlotAt < beforeAt;
  const found = slots.find((one) => isSlotOf(one, askedAt, then(one))) ?? null;
  // A fixed delay that was made again begins with its making, which may be the instant of a slot of the one before.
  const row = isNext && found !== null && found.generation < loaded.record.generation ? null : found;
  const compactedSlots =
    row === null ? (compacted.find((one) => isSlotOf(one, askedAt, loaded)) ?? null) : null;
  const wasDelay = row !== null && then(row).parsed.planRule.kind === 'delay';
  const slotAt = wasDelay ? row.fromAt : row === null && isNext ? nextSlotAt : askedAt;
  const fired = row?.jobId == null ? [] : (await engine.get({ ids: [row.jobId] })).jobs;
  const backfills = await backfillsOf(engine, scheduleId, { fromAt: slotAt, beforeAt: slotAt + 1 });
  const runs = [
    ...fired.filter((job) => job !== null && job.slot?.slotAt === slotAt),
    ...backfills.reverse(),
  ] as JobRecord[];
  const { rows } = await engine.audit({ subject: `schedule:${scheduleId}`, before: null, limit: 1_000 });
  const skippedBy = rows.find(
    (one) => one.action === 'skip-next' && one.at <= (row?.lastDecidedAt ?? row?.decidedAt ?? loaded.now),
  );
  return explainSlot({
    loaded: row === null ? loaded : then(row),
    slotAt,
    dueAt:
      row === null ? null : dueAtUnderOldRule(then(row), slotAt, changesOf(loaded, row.generation, changes)),
    missing,
    row,
    compactedSlots,
    runs,
    cancels: await cancelsOf(engine, runs),
    skippedBy: skippedBy ?? null,
    earlier: earlierGenerations(rows),
  });
}

/** Who or what cancelled runs, by their ids. */
async function cancelsOf(engine: Engine, runs: readonly JobRecord[]): Promise<Map<string, AuditRow>> {
  const found = new Map<string, AuditRow>();
  for (const { id, status } of runs) {
    if (status !== 'CANCELLED') continue;
    const { rows } = await engine.audit({ subject: `job:${id}`, before: null, limit: 20 });
    const row = rows.find(({ action }) => action === 'cancel' || action === 'terminate');
    if (row !== undefined) found.set(id, row);
  }
  return found;
}

function decidedFirst({ decidedAt }: { decidedAt: number }): number {
  return decidedAt;
}
