import type { CalendarRule, PlanRule, Slots } from './planned-rule.ts';

/**
 * A slot that had come but, because of its jitter, was not due yet when an edit changed the rule or the instants of its slots. It keeps its
 * due instant and is decided then. The stored state calls it `pendingSlot`.
 */
export interface PendingSlot {
  readonly slotAt: number;
  /** When it falls due: as before the edit, but before the next slot. */
  readonly dueAt: number;
  /** When the edit came: slots after it are those of the new rule. */
  readonly editedAt: number;
  /** The slot before it, by the old rule. */
  readonly previousSlotAt: number | null;
}

/** The rule with its pending slot, which replaces the rule's own slots from there up to the edit. */
export function withPendingSlot<Rule extends PlanRule>(rule: Rule, pending: PendingSlot | null): Rule {
  // The slots of a fixed delay are in the state.
  if (pending === null || rule.kind === 'delay' || rule.all.pending === pending) return rule;
  const { all, open, isExcluded } = rule as CalendarRule;
  const withSlot = slotsWith(all, pending, true);
  const isOpen = !isExcluded(pending.slotAt);
  return { ...rule, all: withSlot, open: open === all ? withSlot : slotsWith(open, pending, isOpen) };
}

function slotsWith(slots: Slots, pending: PendingSlot, isNamed: boolean): Slots {
  const { slotAt, editedAt } = pending;
  return {
    pending,
    next(afterAt) {
      if (afterAt >= slotAt) return slots.next(Math.max(afterAt, editedAt));
      const nextAt = slots.next(afterAt);
      if (nextAt !== null && nextAt < slotAt) return nextAt;
      return isNamed ? slotAt : slots.next(editedAt);
    },
    previous(beforeAt) {
      const previousAt = slots.previous(beforeAt);
      if (beforeAt <= slotAt || (previousAt !== null && previousAt > editedAt)) return previousAt;
      return isNamed ? slotAt : slots.previous(slotAt);
    },
    countBetween(fromAt, toAt) {
      const before = fromAt < slotAt ? slots.countBetween(fromAt, Math.min(toAt, slotAt - 1)) : 0;
      const own = isNamed && fromAt <= slotAt && slotAt <= toAt ? 1 : 0;
      const after = toAt > editedAt ? slots.countBetween(Math.max(fromAt, editedAt + 1), toAt) : 0;
      return before === null || after === null ? null : before + own + after;
    },
  };
}
