import type { CalendarRule, PlanRule, Slots } from './plan-rule.ts';

/**
 * A slot that had come but had not fallen due, because of its jitter, when an edit changed the rule or the instants of its slots. It stays,
 * with the due instant that it had, and is decided then.
 */
export interface UndueSlot {
  readonly slotAt: number;
  /** When it falls due: as before the edit, but before the next slot. */
  readonly dueAt: number;
  /** When the edit came: the slots of what the schedule became are those after it. */
  readonly editedAt: number;
  /** The slot before it, by what the schedule was. */
  readonly previousSlotAt: number | null;
}

/** The rule with a slot that an edit left: in place of what the rule itself names from there up to the edit. */
export function withUndue<Rule extends PlanRule>(rule: Rule, undue: UndueSlot | null): Rule {
  // The slots of a fixed delay are the state's to know.
  if (undue === null || rule.kind === 'delay' || rule.all.undue === undue) return rule;
  const { all, open, isExcluded } = rule as CalendarRule;
  const withSlot = slotsWith(all, undue, true);
  const isOpen = !isExcluded(undue.slotAt);
  return { ...rule, all: withSlot, open: open === all ? withSlot : slotsWith(open, undue, isOpen) };
}

function slotsWith(slots: Slots, undue: UndueSlot, isNamed: boolean): Slots {
  const { slotAt, editedAt } = undue;
  return {
    undue,
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
