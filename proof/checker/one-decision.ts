import type { SlotRow } from '../../packages/core/src/contract/engine.ts';
import type { Applied, Fired, HistoryEvent, LedgerRow } from '../history.ts';
import { show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** See `promise`. */
export const oneDecision: Invariant = {
  name: 'one-decision',
  promise:
    'Every slot has at most one decision, the ledger keeps exactly what was decided, with its reason, its job and its count, under the generation it was decided for, and decisions follow each other in time. A schedule that is created again is a new generation, and no change of the one before is applied to it.',
  parts: ['slot', 'next slot', 'created again', 'other generation'],
  check({ events, final, isComplete }, _facts, exercise) {
    const problems = createdAgain(events, exercise);
    const generationOf = generations(events);
    for (const [scheduleId, rows] of Object.entries(final.ledger)) {
      for (const [i, row] of rows.entries()) {
        const before = rows[i - 1];
        if (before?.generation === row.generation) exercise('next slot');
        if (before === undefined || before.generation !== row.generation || row.fromAt > before.toAt)
          continue;
        problems.push({
          subjects: [scheduleId],
          message: `${scheduleId}: ${words(before)} and ${words(row)} decide about the same slots.`,
        });
      }
    }
    const decided = new Map<string, number>();
    const slots = new Map<string, DecidedSlot[]>();
    const slotKey = (id: string, { fromAt, decision, reason, jobId }: SlotRow): string =>
      JSON.stringify([id, fromAt, decision, reason, jobId]);
    for (const event of events) {
      if (!isWritten(event)) continue;
      const generation = generationOf(event);
      const decidedSlots = event.slots.map((slot) => ({ ...slot, generation }));
      slots.set(event.scheduleId, [...(slots.get(event.scheduleId) ?? []), ...decidedSlots]);
      for (const slot of decidedSlots) {
        exercise('slot');
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

/** Slots that were decided, and for which generation of their schedule; null: nobody noted it. */
type DecidedSlot = SlotRow & { generation: number | null };

/** Schedules that were made again and are told apart from what they were before by nothing. */
function createdAgain(events: readonly HistoryEvent[], exercise: Exercise): ReturnType<Invariant['check']> {
  const problems: ReturnType<Invariant['check']> = [];
  const last = new Map<string, { generation: number; version: number | null; isGone: boolean }>();
  for (const event of events) {
    // Each decision is a new version.
    if (event.kind === 'fired' && event.result === 'fired') {
      const known = last.get(event.scheduleId);
      if (known !== undefined) known.version = event.version + 1;
    }
    if (event.kind !== 'applied') continue;
    const { scheduleId, at, spec, expectGeneration, expectVersion } = event;
    const before = last.get(scheduleId);
    const isOther = before !== undefined && (expectGeneration ?? before.generation) !== before.generation;
    if (isOther && !before.isGone && expectVersion === before.version) exercise('other generation');
    if (event.result !== 'applied' || event.generation === null) continue;
    const { generation, version } = event;
    if (expectGeneration !== undefined && generation !== expectGeneration) {
      problems.push({
        subjects: [scheduleId],
        message: `${scheduleId}: the change "${event.action}" of ${event.node} was planned for generation ${expectGeneration}, and applied at ${show(at)} to generation ${generation}.`,
      });
    }
    if (before?.isGone === true && spec !== null) exercise('created again');
    if (before?.isGone === true && spec !== null && generation <= before.generation) {
      problems.push({
        subjects: [scheduleId],
        message: `${scheduleId} was created again at ${show(at)} as generation ${generation}; the one that was deleted before was generation ${before.generation}.`,
      });
    }
    last.set(scheduleId, { generation, version, isGone: spec === null });
  }
  return problems;
}

/** Which generation of its schedule a decision is for. */
function generations(events: readonly HistoryEvent[]): (event: Fired | Applied) => number | null {
  const claimed = new Map<string, number>();
  for (const event of events) {
    if (event.kind === 'scheduleClaimed') claimed.set(`${event.scheduleId}/${event.fence}`, event.generation);
  }
  return (event) =>
    event.kind === 'applied' ? event.generation : (claimed.get(`${event.scheduleId}/${event.fence}`) ?? null);
}

function isWritten(event: HistoryEvent): event is Fired | Applied {
  if (event.kind === 'fired') return event.result === 'fired';
  return event.kind === 'applied' && event.result === 'applied';
}

/** Whether decided slots lie in a row of the ledger, which says the same of them. */
function isPartOf(slot: DecidedSlot, row: LedgerRow): boolean {
  return (
    (slot.generation === null || slot.generation === row.generation) &&
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
