import type { CompactedSlots } from '../../contract/engine.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

interface OldRow {
  scheduleId: string;
  generation: number;
  fromAt: number;
  toAt: number;
  count: number | null;
  decision: string;
}

type Counts = [decision: string, count: number, exact: 0 | 1][];

/** Compacts expired ledger rows into one row per span, and returns how many were removed. */
export function compactLedger(
  work: Work,
  { before, starts, limit }: { before: number; starts: readonly number[]; limit: number },
): number {
  const rows = work.all<OldRow>(statements.schedule.oldSlots, { before, limit });
  const isThere = new Map<string, boolean>();
  for (const row of rows) {
    const { scheduleId } = row;
    if (!isThere.has(scheduleId)) {
      const known = work.get(statements.schedule.read, scheduleId) !== undefined;
      isThere.set(scheduleId, known);
      // The schedule is deleted, so its compacted rows go too.
      if (!known) work.run(statements.schedule.forgetCompacted, scheduleId);
    }
    const startAt = starts.findLast((at) => at <= row.fromAt);
    if (startAt !== undefined && isThere.get(scheduleId)) compactRow(work, row, startAt);
    work.run(statements.schedule.removeSlot, scheduleId, row.generation, row.fromAt);
  }
  return rows.length;
}

function compactRow(work: Work, row: OldRow, startAt: number): void {
  const { scheduleId, generation, decision, count } = row;
  const known = work.get<{ fromAt: number; toAt: number; counts: string }>(
    statements.schedule.readCompactedRow,
    scheduleId,
    generation,
    startAt,
  );
  const counts = known === undefined ? [] : (JSON.parse(known.counts) as Counts);
  const same = counts.find(([one]) => one === decision);
  // What nobody counted has a slot at least at each of its ends.
  const atLeast = count ?? (row.fromAt === row.toAt ? 1 : 2);
  const isExact = count !== null || row.fromAt === row.toAt;
  if (same === undefined) counts.push([decision, atLeast, isExact ? 1 : 0]);
  else {
    same[1] += atLeast;
    if (!isExact) same[2] = 0;
  }
  work.run(
    statements.schedule.writeCompactedRow,
    scheduleId,
    generation,
    startAt,
    Math.min(row.fromAt, known?.fromAt ?? row.fromAt),
    Math.max(row.toAt, known?.toAt ?? row.toAt),
    JSON.stringify(counts),
  );
}

/** The compacted rows of a range, newest first. */
export function readCompacted(
  work: Work,
  {
    scheduleId,
    fromAt,
    beforeAt,
    limit,
  }: { scheduleId: string; fromAt: number; beforeAt: number; limit: number },
): CompactedSlots[] {
  return work
    .all<Omit<CompactedSlots, 'counts'> & { counts: string }>(
      statements.schedule.compactedRows,
      scheduleId,
      fromAt,
      beforeAt,
      limit,
    )
    .map(({ counts, ...row }) => ({
      ...row,
      counts: (JSON.parse(counts) as Counts).map(([decision, count, exact]) => ({
        decision,
        count,
        exact: exact === 1,
      })),
    }));
}
