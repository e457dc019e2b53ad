// The facts behind an answer to "why" about a slot.

import type { AuditRow, CompactedSlots, JobRecord, SlotsReply } from '../contract/engine.ts';
import type { LedgerSchedule } from './history.ts';
import { dueAtOf, jitterOffsetMs } from './planner/jitter.ts';
import type { SlotWhy } from './schedule-why.ts';

/** A time on the schedule's clock that did not exist. */
export interface MissingTime {
  /** `2027-03-14` */
  date: string;
  /** `02:30` */
  time: string;
}

/** Everything `explainSlot` looks at. */
export interface SlotFacts {
  loaded: LedgerSchedule;
  slotAt: number;
  /** When it fell due, where an edit since it came would give another instant; null: as `loaded` says. */
  dueAt: number | null;
  /** What was asked for, where a gap had no such time: then `slotAt` is the first instant after it. */
  missing: MissingTime | null;
  /** The ledger row that holds the slot; null: none does. */
  row: SlotsReply['slots'][number] | null;
  /** The month of old slots that holds it, where no row does; null: none does either. */
  compactedSlots: CompactedSlots | null;
  /** Its runs, oldest first. */
  runs: readonly JobRecord[];
  /** How those of them that are CANCELLED came to be so, by their ids, where the audit tells. */
  cancels: ReadonlyMap<string, AuditRow>;
  /** Who asked for it to be skipped, where somebody did. */
  skippedBy: AuditRow | null;
  /** The schedules of this identity that were deleted, newest first. */
  earlier: readonly EarlierGeneration[];
}

/** A schedule of the same identity that is no more. */
export interface EarlierGeneration {
  generation: number;
  /** When it was created. */
  bornAt: number;
  deletedAt: number;
  by: string;
  note: string | null;
}

/** What an answer says of a slot that was found in one of the places where it may be. */
export interface Answer {
  status: SlotWhy['status'];
  sentences: string[];
}

/** When the slot falls or fell due. */
export function dueAt({ loaded, slotAt, dueAt: cameDueAt }: SlotFacts): number {
  if (cameDueAt !== null) return cameDueAt;
  const { planRule, spec, state } = loaded.parsed;
  const of = { id: loaded.record.id, policies: spec.policies };
  if (planRule.kind === 'calendar') return dueAtOf(of, planRule.all, slotAt);
  return state.pendingSlot?.slotAt === slotAt ? state.pendingSlot.dueAt : slotAt + jitterOffsetMs(of, slotAt);
}
