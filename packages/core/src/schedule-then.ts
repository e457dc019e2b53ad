/** What a schedule was when a slot was decided: a later edit does not change what is told of the past. */
import type { AuditRow, Engine, SlotsReply } from './engine.ts';
import { resolveStoredRule } from './schedule/plan-rule-of.ts';
import { parseSpec } from './schedule/schedule-spec.ts';
import type { Kept } from './schedule-deleted.ts';

const pageSize = 500;
// Some thousand changes of one schedule within the ledger's retention; what lies behind them is told by the oldest that was read.
const pageCountMax = 10;

/** The audit rows of a schedule from an instant on, newest first. */
export async function changesSince(
  engine: Pick<Engine, 'audit'>,
  scheduleId: string,
  fromAt: number,
): Promise<AuditRow[]> {
  const found: AuditRow[] = [];
  let before: number | null = null;
  for (let page = 0; page < pageCountMax; page++) {
    const { rows }: { rows: AuditRow[] } = await engine.audit({
      subject: `schedule:${scheduleId}`,
      before,
      limit: pageSize,
    });
    found.push(...rows.filter(({ at }) => at >= fromAt));
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || last.at < fromAt) break;
    before = last.position;
  }
  return found;
}

/**
 * The schedule with the rule and the policies under which a slot of a row was decided. An edit decides what is due before it takes effect, so
 * what was decided in the instant of an edit was decided by what stood before.
 */
export function asDecided(
  kept: Kept,
  row: SlotsReply['slots'][number],
  slotAt: number,
  changes: readonly AuditRow[],
): Kept {
  const lastAt = row.lastDecidedAt ?? row.decidedAt;
  const decidedAt = Math.min(Math.max(row.decidedAt, slotAt), lastAt);
  const next = changes.findLast(({ at, before }) => at >= decidedAt && before !== null);
  if (next === undefined) return kept;
  const { spec: stored } = JSON.parse(next.before as string) as { spec: unknown };
  const spec = parseSpec(JSON.stringify(stored));
  // The row's first slot is one of the rule's, so a rate that was counted from the making has the same slots when it is counted from there.
  const rule = resolveStoredRule(spec.rule, spec.policies, row.fromAt);
  return { ...kept, parsed: { ...kept.parsed, spec, ...rule } };
}
