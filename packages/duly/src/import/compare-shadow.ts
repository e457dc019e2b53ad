import type { Duly, LedgerSlot, Schedule } from '@duly/core';
import type { CronHistory, CronRun } from './cron-history.ts';

/** A start that the other one does not have. */
export interface Difference {
  kind: 'only-cron' | 'only-duly';
  at: Date;
  /** Of cron's: where. */
  host: string | null;
  /** Of ours: what was decided. */
  decision: string | null;
}

/** What a schedule recorded beside what cron did. */
export interface Compared {
  schedule: Schedule;
  /** The span that both cover. */
  fromAt: number;
  toAt: number;
  both: number;
  differences: Difference[];
  /** The middle and the greatest distance between two that agree, in milliseconds. */
  laterMs: { median: number; max: number } | null;
}

/**
 * Compares what a schedule decided with what cron did, in the span that both cover. Two starts are one if they are not further apart than the tolerance; the same line of several hosts
 * is one slot here, so that the others' starts count as the same.
 */
export async function compareShadow(
  duly: Duly,
  schedule: Schedule,
  { history, toleranceMs, now }: { history: CronHistory; toleranceMs: number; now: number },
): Promise<Compared> {
  // Before it was imported it decided nothing, and after the log's end cron is not heard of.
  const fromAt = Math.max(schedule.createdAt.getTime(), history.fromAt ?? 0);
  const toAt = Math.min(now, history.toAt ?? now);
  const slots = await slotsOf(duly, schedule, fromAt - toleranceMs, toAt + 1);
  const isInside = (at: number): boolean => at >= fromAt - toleranceMs && at <= toAt;
  const runs = cronRunsOf(schedule, history).filter(
    ({ startedAt }) => isInside(startedAt) && startedAt >= fromAt,
  );
  const left = new Set(runs);
  const distances: number[] = [];
  const differences: Difference[] = [];
  for (const { slot, decision } of slots) {
    const at = slot.getTime();
    if (!isInside(at) || at + toleranceMs < fromAt) continue;
    const run = [...left].find(({ startedAt }) => Math.abs(startedAt - at) <= toleranceMs);
    if (run !== undefined) {
      left.delete(run);
      // The same line of several hosts is one slot here: the others fired as well, and will not any more.
      for (const other of [...left])
        if (other.host !== run.host && Math.abs(other.startedAt - at) <= toleranceMs) left.delete(other);
      if (decision === 'fired') distances.push(run.startedAt - at);
      else differences.push({ kind: 'only-cron', at: new Date(run.startedAt), host: run.host, decision });
    } else if (decision === 'fired' && at <= toAt - toleranceMs) {
      differences.push({ kind: 'only-duly', at: slot, host: null, decision });
    }
  }
  for (const { startedAt, host } of left)
    differences.push({
      kind: 'only-cron',
      at: new Date(startedAt),
      host,
      decision: decisionAt(slots, startedAt, toleranceMs),
    });
  differences.sort((a, b) => a.at.getTime() - b.at.getTime());
  distances.sort((a, b) => a - b);
  return {
    schedule,
    fromAt,
    toAt,
    both: distances.length,
    differences,
    laterMs:
      distances.length === 0
        ? null
        : { median: distances[Math.floor(distances.length / 2)] as number, max: distances.at(-1) as number },
  };
}

/** The ledger of a span, page by page: the newest lines come first. */
async function slotsOf(
  duly: Duly,
  { id }: Schedule,
  fromAt: number,
  beforeAt: number,
): Promise<LedgerSlot[]> {
  const slots: LedgerSlot[] = [];
  for (let to = beforeAt; ; ) {
    const page = await duly.schedules.slots(
      { id },
      { from: new Date(fromAt), to: new Date(to), limit: pageCount },
    );
    slots.push(...page.filter(({ decision }) => decision !== null));
    const oldest = Math.min(...page.map(({ slot }) => slot.getTime()));
    if (page.length < pageCount || oldest >= to)
      return slots.sort((a, b) => a.slot.getTime() - b.slot.getTime());
    to = oldest;
  }
}

const pageCount = 1_000;

/** What was decided about the slots around an instant, where it was not to run; null: there is none. */
function decisionAt(slots: readonly LedgerSlot[], at: number, toleranceMs: number): string | null {
  const line = slots.find(
    ({ slot, to, decision }) =>
      decision !== 'fired' && at >= slot.getTime() - toleranceMs && at <= to.getTime() + toleranceMs,
  );
  return line === undefined ? null : [line.decision, line.reason].filter(Boolean).join(': ');
}

function cronRunsOf({ definition }: Schedule, { runs }: CronHistory): CronRun[] {
  const crontab = (definition.metadata?.crontab ?? {}) as { line?: string; user?: string; hosts?: string[] };
  if (crontab.line === undefined) return [];
  const withoutInput = crontab.line.replace(/%.*$/s, '').trim();
  return runs.filter(
    ({ command, user, host }) =>
      (command === crontab.line || command === withoutInput) &&
      (crontab.user === undefined || crontab.user === user) &&
      (crontab.hosts === undefined || crontab.hosts.includes(host)),
  );
}
