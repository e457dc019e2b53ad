import type { SlotRow } from '../../packages/core/src/engine.ts';
import type { Applied, Fired, HistoryEvent, LedgerRow } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const oneDecision: Invariant = {
  name: 'one-decision',
  promise:
    'Every slot has at most one decision, the ledger keeps exactly what was decided, with its reason, its job and its count, and decisions follow each other in time.',
  check({ events, final, isComplete }) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const [scheduleId, rows] of Object.entries(final.ledger)) {
      for (const [i, row] of rows.entries()) {
        const before = rows[i - 1];
        if (before === undefined || before.generation !== row.generation || row.fromAt > before.toAt)
          continue;
        problems.push({
          subjects: [scheduleId],
          message: `${scheduleId}: ${words(before)} and ${words(row)} decide about the same slots.`,
        });
      }
    }
    const decided = new Map<string, number>();
    const slots = new Map<string, Fired['slots']>();
    const slotKey = (id: string, { fromAt, decision, reason, jobId }: SlotRow): string =>
      JSON.stringify([id, fromAt, decision, reason, jobId]);
    for (const event of events) {
      if (!isWritten(event)) continue;
      slots.set(event.scheduleId, [...(slots.get(event.scheduleId) ?? []), ...event.slots]);
      for (const slot of event.slots) {
        const key = slotKey(event.scheduleId, slot);
        const inLedger = (final.ledger[event.scheduleId] ?? []).some((row) => isPartOf(slot, row));
        if (!inLedger) {
          problems.push({
            subjects: [event.scheduleId],
            message: `${event.scheduleId}: ${words(slot)} was decided at ${show(event.at)}, and the ledger does not say so.`,
          });
        }
        decided.set(key, (decided.get(key) ?? 0) + 1);
      }
    }
    if (!isComplete) return problems;
    for (const [scheduleId, rows] of Object.entries(final.ledger)) {
      for (const row of rows) {
        const parts = (slots.get(scheduleId) ?? []).filter((slot) => isPartOf(slot, row));
        const count = parts.reduce<number | null>(
          (sum, one) => (sum === null || one.count === null ? null : sum + one.count),
          0,
        );
        if (count !== row.count) {
          problems.push({
            subjects: [scheduleId],
            message: `${scheduleId}: ${words(row)} counts ${row.count} slots in the ledger; ${count} were decided.`,
          });
        }
        if (decided.has(slotKey(scheduleId, row))) continue;
        problems.push({
          subjects: [scheduleId],
          message: `${scheduleId}: the ledger has ${words(row)}, and nobody decided that.`,
        });
      }
    }
    return problems;
  },
};

function isWritten(event: HistoryEvent): event is Fired | Applied {
  if (event.kind === 'fired') return event.result === 'fired';
  return event.kind === 'applied' && event.result === 'applied';
}

/** Whether decided slots lie in a row of the ledger, which says the same of them. */
function isPartOf(slot: SlotRow, row: LedgerRow): boolean {
  return (
    slot.fromAt >= row.fromAt &&
    slot.toAt <= row.toAt &&
    slot.decision === row.decision &&
    slot.reason === row.reason &&
    slot.jobId === row.jobId
  );
}

function words({ fromAt, toAt, decision, reason }: SlotRow): string {
  const slots = fromAt === toAt ? show(fromAt) : `${show(fromAt)} … ${show(toAt)}`;
  return `${slots} ${decision}${reason === null ? '' : ` (${reason})`}`;
}
