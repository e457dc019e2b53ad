/** Why a slot of a schedule became what it is. Pure: facts in, answer out; `duly.why` gathers the facts. */
import { statusOf } from './ledger.ts';
import type { Decision } from './planner/decision.ts';
import {
  type CompactedMonth,
  type ScheduleDeletion,
  type SlotRun,
  type SlotStatus,
  toCompactedMonth,
  toSlotRun,
} from './schedule-view.ts';
import { clockChange, clockSentences } from './slot-why-clock.ts';
import {
  compactedAnswer,
  decided,
  decidedWhen,
  decisionOf,
  isFirst,
  onlyDecision,
  reasonOf,
} from './slot-why-decided.ts';
import { type Answer, dueAt, type SlotFacts } from './slot-why-facts.ts';
import { runPhrase } from './slot-why-runs.ts';
import { goneText, undecided } from './slot-why-undecided.ts';
import { clockOf } from './slot-why-words.ts';

/** The answer to "why" about a slot: a sentence for people, the rest for programs. */
export interface SlotWhy {
  schedule: string;
  scheduleId: string;
  type: string;
  slot: Date;
  /** The date that the slot belongs to, as its run is told it: for a time in a gap the one that the rule named. */
  date: string;
  /** What the clock of the schedule's zone shows at the slot. */
  wall: { date: string; time: string; timezone: string };
  /** `none`: the instant is no slot of this schedule, or lies before it was created. */
  status: SlotStatus | 'none';
  /** null: not decided, or no longer known of this one slot. */
  decision: Decision | null;
  reason: string | null;
  /** Who decided; null: not decided, or not known for this one of the slots that the ledger keeps together. */
  node: string | null;
  /** When it was decided; null: not decided, or known only as `decidedBetween`. */
  decidedAt: Date | null;
  /** Slots with one decision are kept as one row, with the instants of its first and last decision. */
  decidedBetween: { from: Date; to: Date } | null;
  /** The schedule is no more; null: it is there. */
  deleted: ScheduleDeletion | null;
  /** The slot and its jitter. */
  dueAt: Date | null;
  /** How long after its due instant the first run started; null: none did. */
  latenessMs: number | null;
  /** What a change of the clock did to the slot; null: nothing. */
  clockChange: { kind: 'gap' | 'repeat'; named: string; which: 'first' | 'last' | null } | null;
  /** The slots that were decided together with it. */
  together: { from: Date; to: Date; count: number | null } | null;
  /** The month that the slot was compacted into, as it is past the ledger's retention; null: it was not. */
  compacted: (CompactedMonth & { from: Date; to: Date }) | null;
  runs: SlotRun[];
  /** What became of it, or what is to become of it; one or more full sentences. */
  sentence: string;
  /** The store's instant of this answer. */
  asOf: Date;
}

/** Says why a slot is what it is. Every decision and every reason has its sentence. */
export function explainSlot(facts: SlotFacts): SlotWhy {
  const { loaded, slotAt, row, compactedSlots, runs } = facts;
  const { record, parsed, now } = loaded;
  const reading = parsed.rule.read(slotAt);
  const { status, sentences } =
    row !== null
      ? decided(facts, row)
      : compactedSlots !== null
        ? compactedAnswer(facts, compactedSlots)
        : ranOnly(facts, undecided(facts));
  const isSlot = status !== 'none';
  const first = runs.find(({ startedAt }) => startedAt !== null);
  const change = isSlot ? clockChange(facts) : null;
  const when = row === null ? null : decidedWhen(facts, row);
  return {
    schedule: record.name,
    scheduleId: record.id,
    type: parsed.spec.job.type,
    slot: new Date(slotAt),
    date: parsed.rule.slotDateOf(slotAt),
    wall: { date: reading.date, time: reading.time, timezone: parsed.rule.timezone },
    status,
    decision: row === null ? (onlyDecision(compactedSlots) as Decision | null) : decisionOf(facts, row),
    reason: row === null ? null : reasonOf(facts, row),
    node: when === null || !isFirst(when, row) ? null : (row?.node ?? null),
    decidedAt: when === null || when.fromAt !== when.toAt ? null : new Date(when.fromAt),
    decidedBetween:
      when === null || when.fromAt === when.toAt
        ? null
        : { from: new Date(when.fromAt), to: new Date(when.toAt) },
    deleted: loaded.deleted ?? null,
    dueAt: isSlot ? new Date(dueAt(facts)) : null,
    latenessMs: first?.latenessMs ?? null,
    clockChange: change,
    together:
      row === null || row.fromAt === row.toAt
        ? null
        : { from: new Date(row.fromAt), to: new Date(row.toAt), count: row.count },
    compacted:
      compactedSlots === null
        ? null
        : {
            ...toCompactedMonth(compactedSlots),
            from: new Date(compactedSlots.fromAt),
            to: new Date(compactedSlots.toAt),
          },
    runs: runs.map(toSlotRun),
    sentence: [
      ...clockSentences(facts, change, isSlot),
      ...sentences,
      ...deletedSentences(facts, row ?? compactedSlots),
    ].join(' '),
    asOf: new Date(now),
  };
}

/** What a backfill did for a slot that the schedule itself has not decided. */
function ranOnly(facts: SlotFacts, answer: Answer): Answer {
  const { runs } = facts;
  if (runs.length === 0) return answer;
  const sentences = runs.map((run) => `It was backfilled: ${runPhrase(facts, run)}.`);
  // What the schedule itself has to decide yet stays open.
  const status = answer.status === 'none' ? statusOf(answer.status, runs) : answer.status;
  return { status, sentences: [...answer.sentences, ...sentences] };
}

function deletedSentences(facts: SlotFacts, row: { generation: number } | null): string[] {
  const { deleted, record } = facts.loaded;
  if (row !== null && row.generation < record.generation) {
    const earlier = facts.earlier.find(({ generation }) => generation === row.generation);
    const gone = earlier === undefined ? 'was deleted' : `was ${goneText(facts, earlier)}`;
    return [`It was a slot of an earlier schedule of this name, which ${gone}.`];
  }
  if (deleted === undefined) return [];
  const note = deleted.note === null ? '' : ` ("${deleted.note}")`;
  const what = row === null ? 'The schedule was deleted' : 'The schedule was deleted since then';
  return [`${what}: at ${clockOf(facts, deleted.at.getTime())} by ${deleted.by}${note}.`];
}
