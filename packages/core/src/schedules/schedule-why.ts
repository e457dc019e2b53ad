/** Why a slot of a schedule became what it is. Pure: facts in, answer out; `duly.why` gathers the facts. */
import { formatDuration } from '../base/duration.ts';
import type { AuditRow, CompactedSlots, JobRecord, SlotsReply } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import { hasBit } from './calendar/cron-fields.ts';
import { readWallMoment } from './calendar/moment.ts';
import type { Rule } from './calendar/rule.ts';
import { currentPause } from './definition/state.ts';
import { scheduleLeaseMs } from './fire-pass.ts';
import type { LedgerSchedule } from './history.ts';
import { statusOf } from './ledger.ts';
import { type Decision, reasons } from './planner/decision.ts';
import { graceMsOf } from './planner/grace.ts';
import { dueAtOf, jitterOffsetMs } from './planner/jitter.ts';
import { endOf } from './planner/plan-operations.ts';
import { undecidedStatus } from './planner/undecided-status.ts';
import {
  type CompactedMonth,
  type ScheduleDeletion,
  type SlotRun,
  type SlotStatus,
  toCompactedMonth,
  toSlotRun,
} from './schedule-view.ts';

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

interface Answer {
  status: SlotWhy['status'];
  sentences: string[];
}

function dueAt({ loaded, slotAt, dueAt: cameDueAt }: SlotFacts): number {
  if (cameDueAt !== null) return cameDueAt;
  const { planRule, spec, state } = loaded.parsed;
  const of = { id: loaded.record.id, policies: spec.policies };
  if (planRule.kind === 'calendar') return dueAtOf(of, planRule.all, slotAt);
  return state.undue?.slotAt === slotAt ? state.undue.dueAt : slotAt + jitterOffsetMs(of, slotAt);
}

// ------------------------------------------------------------------------------------------- the clock

function clockChange({ loaded, slotAt }: SlotFacts): SlotWhy['clockChange'] {
  const { rule } = loaded.parsed;
  if (rule.kind === 'rate' || rule.kind === 'delay') return null;
  const { gap, repeat, time } = rule.read(slotAt);
  if (gap !== null) return { kind: 'gap', named: gap.time, which: null };
  return repeat === null ? null : { kind: 'repeat', named: time, which: repeat };
}

function clockSentences(facts: SlotFacts, change: SlotWhy['clockChange'], isSlot: boolean): string[] {
  const { loaded, slotAt, missing } = facts;
  const { rule } = loaded.parsed;
  if (missing !== null && change?.kind !== 'gap') return missingSentences(facts, missing, isSlot);
  if (change === null) return [];
  const { date, gap, time, isNamedToo } = rule.read(slotAt);
  const day = `${longDate(gap?.date ?? date)} in ${rule.timezone}`;
  if (gap !== null) {
    const isOtherDay = gap.date !== date;
    const after = isOtherDay ? `${time} on ${longDate(date)}` : time;
    // Whoever asked for another time of the gap is told of that one.
    if (missing !== null && missing.date === gap.date && missing.time !== change.named) {
      const gone = `${missing.time} did not exist on ${day}`;
      const one = isNamedBy(rule, missing.time)
        ? `so its slot is the first instant after the gap, ${after}: one slot with ${change.named}, which did not exist either`
        : `and the rule does not name it; the first instant after the gap, ${after}, is the slot of ${change.named}, which did not exist either`;
      return [`${gone}, ${one}.`];
    }
    const first = `${change.named} did not exist on ${day}, so its slot is the first instant after the gap, ${after}`;
    if (isNamedToo)
      return [`${first}, which the rule names too: they are one slot, that of ${longDate(date)}.`];
    return [isOtherDay ? `${first}; it is the slot of ${longDate(gap.date)}.` : `${first}.`];
  }
  return [
    `${change.named} came twice on ${day}; this is the ${change.which === 'first' ? 'first' : 'second'} of them.`,
  ];
}

/** Whether a cron names this time of day; of other rules it is not asked. */
function isNamedBy({ cron }: Rule, time: string): boolean {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (cron === null) return false;
  return ((cron.hours >>> hour) & 1) === 1 && hasBit(cron.minutes, minute) && hasBit(cron.seconds, second);
}

/** A time in a gap was asked for, and the rule did not move it behind the gap. */
function missingSentences(facts: SlotFacts, { date, time }: MissingTime, isSlot: boolean): string[] {
  const { rule } = facts.loaded.parsed;
  const { spec, timezone } = rule;
  const followsClock = rule.kind === 'cron' || rule.kind === 'rrule';
  const isReal = rule.cron !== null && !rule.cron.isFixed;
  const skips = !followsClock
    ? ''
    : isReal
      ? ', and an hour field with "*", a step or a range follows real time, so it has no slot'
      : spec.dst.gap === 'skip'
        ? ', and dst.gap is "skip", so it has no slot'
        : '';
  const after = rule.read(facts.slotAt).time;
  return [
    `${time} did not exist on ${longDate(date)} in ${timezone}${skips}.`,
    ...(isSlot ? [`The first instant after the gap, ${after}, is a slot of its own.`] : []),
  ];
}

// ---------------------------------------------------------------------------------------- not decided

function undecided(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { record, parsed } = loaded;
  const { planRule, spec, state } = parsed;
  const name = `schedule "${record.name}"`;
  if (loaded.deleted !== undefined) return undecidedForGood(facts, loaded.deleted);
  if (planRule.kind === 'delay') return undecidedDelay(facts);
  if (planRule.all.next(slotAt - 1) !== slotAt) return noSlot(facts);
  // The first slot of a fixed delay is the making itself; an edit may have kept it.
  if (slotAt <= state.bornAt && state.undue?.slotAt !== slotAt) {
    return none(
      `The ${name} was created at ${clockOf(facts, state.bornAt)}, after this slot, and decides nothing before that.${earlierText(facts)}`,
    );
  }
  if (slotAt <= state.cursorAt) {
    return none(
      `The decision about this slot is no longer in the ledger, or the rule of ${name} was another one then.`,
    );
  }
  const { endAt } = spec.policies;
  const end =
    endOf({ rule: planRule, spec, state }) ?? (endAt !== null && slotAt > endAt ? reasons.endAt : null);
  if (end !== null) {
    return {
      status: 'ended',
      sentences: [`It will not run: the ${name} is over before this slot${endText(facts, end)}.`],
    };
  }
  return waiting(facts, graceMsOf(planRule.all, slotAt, scheduleLeaseMs));
}

/** It is to be decided: not due yet, held, or left by the nodes. */
function waiting(facts: SlotFacts, graceMs: number): Answer {
  const { parsed, now } = facts.loaded;
  const { spec, state } = parsed;
  const due = dueAt(facts);
  if (due > now) return coming(facts, due);
  const status = undecidedStatus({ dueAt: due, now, graceMs, pause: currentPause(state, now) });
  if (status === 'held') return { status, sentences: heldSentences(facts) };
  const since = `It is due since ${clockOf(facts, due)} and no node has decided it yet`;
  const isLate = status === 'late';
  const sentences = [
    `${since}${isLate ? `, ${formatDuration(now - due)} later; is a node with the role "scheduler" running?` : '.'}`,
  ];
  // The end of a pause that has one is noted with the next decision.
  const { pause } = state;
  if (pause?.untilAt != null && due > pause.at && due < pause.untilAt) {
    sentences.unshift(`It fell in a pause that ended at ${clockOf(facts, pause.untilAt)}.`);
    sentences.push(`What becomes of it is decided by onResume: "${spec.policies.onResume}".`);
  }
  return { status, sentences };
}

/** The schedule of this name that was there at a slot, or that was deleted before it. */
function earlierText(facts: SlotFacts): string {
  const { earlier, slotAt } = facts;
  const then = earlier.find(({ bornAt, deletedAt }) => bornAt < slotAt && slotAt <= deletedAt);
  if (then !== undefined) {
    return ` An earlier one of this name was there then, created at ${clockOf(facts, then.bornAt)} and ${goneText(facts, then)}; the ledger has no decision of it about this instant.`;
  }
  const last = earlier.find(({ deletedAt }) => deletedAt < slotAt);
  return last === undefined
    ? ''
    : ` An earlier one of this name was ${goneText(facts, last)}, before this slot.`;
}

function goneText(facts: SlotFacts, { deletedAt, by, note }: EarlierGeneration): string {
  return `deleted at ${clockOf(facts, deletedAt)} by ${by}${note === null ? '' : ` ("${note}")`}`;
}

function endText(facts: SlotFacts, end: string): string {
  const { maxRuns, endAt } = facts.loaded.parsed.spec.policies;
  if (end === reasons.maxRuns) {
    return `: ${maxRuns === 1 ? 'one slot has' : `${maxRuns} slots have`} fired, and "maxRuns" allows no more`;
  }
  return end === reasons.endAt && endAt !== null ? `: it lies after "endAt", ${clockOf(facts, endAt)}` : '';
}

function coming(facts: SlotFacts, due: number): Answer {
  const { loaded, slotAt } = facts;
  const { planRule, state } = loaded.parsed;
  const inMs = due - loaded.now;
  const sentences = [`It is not due yet: it falls due at ${clockOf(facts, due)}, in ${rough(inMs)}.`];
  if (planRule.kind === 'calendar' && planRule.isExcluded(slotAt)) {
    sentences.push('A calendar of "exclude" names it, so nothing will run.');
  } else if (state.skips.includes(slotAt)) {
    sentences.push(`It will be skipped${byWhom(facts)}.`);
  }
  if (currentPause(state, loaded.now) !== null) sentences.push(`The schedule is ${pausedText(facts)}.`);
  return { status: 'pending', sentences };
}

function undecidedDelay(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { state } = loaded.parsed;
  if (state.nextSlotAt === slotAt) {
    const end = endOf({ rule: loaded.parsed.planRule, spec: loaded.parsed.spec, state });
    if (end !== null) {
      const over = `It will not run: the schedule "${loaded.record.name}" is over before this slot`;
      return { status: 'ended', sentences: [`${over}${endText(facts, end)}.`] };
    }
    return waiting(facts, graceMsOf(null, slotAt, scheduleLeaseMs));
  }
  return none(
    `The slots of a fixed delay follow from the ends of its runs, and none was at this instant.${state.nextSlotAt === null ? '' : ` The next one is ${clockOf(facts, state.nextSlotAt)}.`}`,
  );
}

function noSlot(facts: SlotFacts): Answer {
  const { loaded, slotAt } = facts;
  const { planRule } = loaded.parsed;
  if (planRule.kind === 'delay') return undecidedDelay(facts);
  const [before, after] = [planRule.all.previous(slotAt), planRule.all.next(slotAt)];
  const around = [
    ...(before === null ? [] : [`the one before is ${clockOf(facts, before)}`]),
    ...(after === null ? [] : [`the one after is ${clockOf(facts, after)}`]),
  ];
  const other = otherOfTwo(facts);
  if (other !== null) return none(other);
  if (facts.missing !== null && around.length > 0) return none(`${capital(around.join(', '))}.`);
  return none(
    `${clockOf(facts, slotAt)} is no slot of the schedule "${loaded.record.name}"${around.length === 0 ? '' : `: ${around.join(', ')}`}.`,
  );
}

/** A time that comes twice, of which the rule has the other one as its slot; null: it is not that. */
function otherOfTwo({ loaded, slotAt }: SlotFacts): string | null {
  const { planRule, rule } = loaded.parsed;
  const { repeat, date, time } = rule.read(slotAt);
  if (repeat === null || planRule.kind === 'delay' || rule.kind === 'rate') return null;
  const instants = readWallMoment(`${date}T${time}`, rule.timezone)?.instants ?? [];
  const isOther = instants.some((at) => at !== slotAt && planRule.all.next(at - 1) === at);
  if (!isOther) return null;
  const which = repeat === 'first' ? ['first', 'second'] : ['second', 'first'];
  return `${time} came twice on ${longDate(date)} in ${rule.timezone}; this is the ${which[0]} of them, and the slot is the ${which[1]}, by dst.repeat: "${rule.spec.dst.repeat}".`;
}

function none(sentence: string): Answer {
  return { status: 'none', sentences: [sentence] };
}

function pausedText(facts: SlotFacts): string {
  const { state } = facts.loaded.parsed;
  const pause = state.pause as NonNullable<typeof state.pause>;
  const who =
    pause.cause === 'failures' ? 'after failures in a row' : pause.by === null ? '' : `by ${pause.by}`;
  const note = pause.note === null ? '' : ` ("${pause.note}")`;
  const until = pause.untilAt === null ? '' : `, until ${clockOf(facts, pause.untilAt)}`;
  const isDisabled = pause.cause === 'disabled';
  const sinceAt = isDisabled ? (pause.disabledAt ?? pause.at) : pause.at;
  const since = `${isDisabled ? 'disabled' : 'paused'} since ${clockOf(facts, sinceAt)}`;
  // Slots are held from here on.
  const before = sinceAt === pause.at ? '' : `, after a pause since ${clockOf(facts, pause.at)}`;
  return `${since}${who === '' ? '' : ` ${who}`}${note}${until}${before}`;
}

function heldSentences(facts: SlotFacts): string[] {
  const { onResume } = facts.loaded.parsed.spec.policies;
  return [
    `The schedule is ${pausedText(facts)}, and the slot is held.`,
    `What becomes of it is decided when the schedule goes on, by onResume: "${onResume}".`,
  ];
}

/** No row, and nobody will write one any more. */
function undecidedForGood(facts: SlotFacts, deleted: ScheduleDeletion): Answer {
  const { loaded, slotAt } = facts;
  const { planRule, state } = loaded.parsed;
  if (planRule.kind !== 'delay' && planRule.all.next(slotAt - 1) !== slotAt) return noSlot(facts);
  if (slotAt <= state.bornAt && state.undue?.slotAt !== slotAt) {
    return none(
      `The schedule "${loaded.record.name}" was created at ${clockOf(facts, state.bornAt)}, after this slot, and decided nothing before that.${earlierText(facts)}`,
    );
  }
  if (slotAt <= state.cursorAt) {
    return none('The ledger has no decision about this slot, or no longer.');
  }
  const isBefore = slotAt <= deleted.at.getTime();
  return none(`It was ${isBefore ? 'not decided yet' : 'not due yet'} when the schedule was deleted.`);
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

// ------------------------------------------------------------------------------------------ compacted

/** The one decision of all slots of a month; null: there were several. */
function onlyDecision(compactedSlots: CompactedSlots | null): string | null {
  return compactedSlots?.counts.length === 1 ? (compactedSlots.counts[0]?.decision ?? null) : null;
}

function compactedAnswer(facts: SlotFacts, compactedSlots: CompactedSlots): Answer {
  const { month, counts } = toCompactedMonth(compactedSlots);
  const [year, number] = month.split('-').map(Number) as [number, number];
  const name = `${months[number - 1]} ${year}`;
  const reach = new Date(compactedSlots.toAt).toISOString().startsWith(month)
    ? ''
    : ` and up to ${clockOf(facts, compactedSlots.toAt)}`;
  const [only, ...others] = counts;
  const texts = counts.map(
    ({ decision, count, atLeast }) =>
      `${atLeast ? 'at least ' : ''}${count.toLocaleString('en')} ${decision}`,
  );
  const isAll = only !== undefined && others.length === 0;
  const isKnown = isAll || facts.loaded.parsed.planRule.kind !== 'delay';
  const sentences = [
    `${isKnown ? 'It was decided, and' : 'What became of a slot at this instant is no longer known:'} the ledger keeps slots of that age by month: in ${name} (UTC)${reach}: ${texts.join(', ')}.`,
  ];
  const backfills = facts.runs.filter(({ origin }) => origin === 'backfill');
  sentences.push(...backfills.map((run) => `A backfill created another run: ${runPhrase(facts, run)}.`));
  return { status: 'compacted', sentences };
}

// -------------------------------------------------------------------------------------------- decided

/** When a slot of a row was decided: after it fell due, and not after the row's last decision. */
interface DecidedWhen {
  fromAt: number;
  toAt: number;
}

function decidedWhen(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): DecidedWhen {
  const lastAt = row.lastDecidedAt ?? row.decidedAt;
  if (facts.slotAt === row.fromAt) return { fromAt: row.decidedAt, toAt: row.decidedAt };
  if (facts.slotAt === row.toAt) return { fromAt: lastAt, toAt: lastAt };
  return { fromAt: Math.min(Math.max(row.decidedAt, dueAt(facts)), lastAt), toAt: lastAt };
}

/** Whether it is the row's first decision, which is the one whose node is known. */
function isFirst({ toAt }: DecidedWhen, row: SlotFacts['row']): boolean {
  return toAt === row?.decidedAt;
}

function decidedBy(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string {
  const when = decidedWhen(facts, row);
  const by = isFirst(when, row) ? ` by node "${row.node}"` : '';
  if (when.fromAt === when.toAt) return `decided at ${clockOf(facts, when.fromAt)}${by}`;
  return `decided between ${clockOf(facts, when.fromAt)} and ${clockOf(facts, when.toAt)}`;
}

/** A long row of missed slots may hold excluded ones, which the calendar knows. */
function isExcludedIn(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): boolean {
  const { planRule } = facts.loaded.parsed;
  return row.decision === 'missed' && planRule.kind === 'calendar' && planRule.isExcluded(facts.slotAt);
}

function decisionOf(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): Decision {
  return isExcludedIn(facts, row) ? 'excluded' : (row.decision as Decision);
}

function reasonOf(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string | null {
  return isExcludedIn(facts, row) ? reasons.excluded : row.reason;
}

function decided(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): Answer {
  const decision = decisionOf(facts, row);
  const sentences = decision === 'fired' ? firedSentences(facts, row) : [notFired(facts, row, decision)];
  const backfills = facts.runs.filter(({ origin }) => origin === 'backfill');
  if (backfills.length > 0)
    sentences.push(...backfills.map((run) => `A backfill created another run: ${runPhrase(facts, run)}.`));
  return { status: statusOf(decision, facts.runs), sentences };
}

function firedSentences(facts: SlotFacts, row: NonNullable<SlotFacts['row']>): string[] {
  const run = facts.runs.find(({ id }) => id === row.jobId);
  const how =
    row.reason === null
      ? ''
      : ` It was ${caughtUp[row.reason] ?? row.reason}, decided ${rough(row.decidedAt - dueAt(facts))} after it fell due.`;
  if (run === undefined) {
    return [
      `It fired at ${clockOf(facts, row.decidedAt)}, decided by node "${row.node}"; its job "${row.jobId}" is no longer stored.${how}`,
    ];
  }
  return [`${capital(runPhrase(facts, run))}.${how}`];
}

const caughtUp: Record<string, string> = {
  [reasons.caughtUp]: 'missed and caught up on',
  [reasons.afterPause]: 'held by a pause and caught up on after it',
  [reasons.beforeEdit]: 'late when the schedule was edited and caught up on',
};

function runPhrase(facts: SlotFacts, run: JobRecord): string {
  const node = run.node ?? run.attempts.at(-1)?.node ?? null;
  const where = node === null ? '' : `, on node "${node}"`;
  if (run.startedAt === null) {
    if (isTerminal(run.status))
      return `its run "${run.id}" never started: it is ${run.status}${endedText(facts, run)}`;
    return `its run "${run.id}" is ${run.status} and has not started`;
  }
  // A backfill is made after the time of its slot, so being late is not a question.
  const late = run.origin === 'backfill' ? '' : `, ${lateText(run.latenessMs ?? 0)}`;
  const began = `it ran at ${clockOf(facts, run.startedAt)}${late}${where}`;
  if (run.status === 'COMPLETED')
    return `${began}, and completed after ${short((run.finishedAt ?? run.startedAt) - run.startedAt)}`;
  if (!isTerminal(run.status)) return `${began}, and is ${run.status}`;
  const error = run.error === null ? '' : ` with "${run.error.message.slice(0, 200)}"`;
  return `${began}, and is ${run.status}${endedText(facts, run)}${error}`;
}

/** Why a run was ended from outside: by its deadline, by a later slot, or by somebody. */
function endedText({ loaded, cancels }: SlotFacts, run: JobRecord): string {
  const { startDeadlineMs, overlap } = loaded.parsed.spec.policies;
  if (run.status === 'EXPIRED') {
    const deadline = startDeadlineMs === null ? '' : ` of ${formatDuration(startDeadlineMs)}`;
    return `, for its "startDeadline"${deadline} had passed before a worker could start it`;
  }
  const cancel = cancels.get(run.id);
  if (run.status !== 'CANCELLED' || cancel === undefined) return '';
  if (cancel.note !== overlapNote) {
    return ` by ${cancel.actor}${cancel.note === null ? '' : ` ("${cancel.note}")`}`;
  }
  const isOther = overlap === 'cancelOther' || overlap === 'terminateOther';
  return `: a later run took its place, by ${isOther ? `overlap: "${overlap}"` : 'the overlap policy'}`;
}

// What an engine notes in the audit of a run that it ends for another.
const overlapNote = 'overlap policy';

function notFired(facts: SlotFacts, row: NonNullable<SlotFacts['row']>, decision: Decision): string {
  const { policies } = facts.loaded.parsed.spec;
  const when = decidedWhen(facts, row);
  const noticed = `${when.fromAt === when.toAt ? '' : 'at most '}${rough(when.toAt - dueAt(facts))}`;
  const by = decidedBy(facts, row);
  switch (reasonOf(facts, row)) {
    case reasons.endAt:
      return `It did not run: it lies after "endAt" (${by}).`;
    case reasons.maxRuns:
      return `It did not run: ${policies.maxRuns ?? 'the most'} slots had fired, and "maxRuns" allows no more (${by}).`;
    case reasons.excluded:
      return `It did not run: a calendar of "exclude" names it (${by}).`;
    case reasons.skipNext:
      return `It was skipped${byWhom(facts)} (${by}).`;
    case reasons.overlap:
      if (decision === 'merged') {
        return `An earlier run was not finished, so it was merged into the run${row.jobId === null ? '' : ` "${row.jobId}"`} that waited behind it, by overlap: "bufferOne" (${by}).`;
      }
      return `It was skipped: an earlier run was not finished, and overlap is "${policies.overlap}" (${by}).`;
    case reasons.bufferFull:
      return `It was skipped: ${policies.bufferLimit === 1 ? 'one run' : `${policies.bufferLimit} runs`} waited already, which is the "bufferLimit" (${by}).`;
    case reasons.late:
      return `It was missed: no scheduler noticed it in time. It was noticed ${noticed} after it fell due, and missed is "skip" (${by}).`;
    case reasons.lateNotLatest:
      return `It was missed: no scheduler noticed it in time, and a later slot was missed too; missed: "latest" runs only that one (${by}).`;
    case reasons.paused:
      return `It fell in a pause, and onResume is "skip" (${by}).`;
    case reasons.pausedNotLatest:
      return `It fell in a pause, and a later slot did too; onResume: "latest" runs only that one (${by}).`;
    case reasons.edited:
      return `It was late when the schedule was edited, and onEdit is "skip" (${by}).`;
    case reasons.editedNotLatest:
      return `It was late when the schedule was edited, and so was a later slot; onEdit: "latest" runs only that one (${by}).`;
    case reasons.deleted:
      return `It did not run: it had come and was not decided when the schedule was deleted (${by}).`;
    case reasons.beyondWindow:
      return `It was missed, and when it was noticed, ${noticed} after it fell due, it was older than "catchUpWindow" (${by}).`;
    case reasons.beyondLimit:
      return `It was missed, and more than ${policies.catchUpLimit} newer slots were missed too, which is the "catchUpLimit" (${by}).`;
    case reasons.startDeadline:
      return `It expired: when it was noticed, ${noticed} after it fell due, its "startDeadline" had passed, so no job was created (${by}).`;
    default:
      return `It did not run: ${decision}${row.reason === null ? '' : ` (${row.reason})`}, ${by}.`;
  }
}

function byWhom({ skippedBy }: SlotFacts): string {
  if (skippedBy === null) return ' by skipNext';
  return ` by ${skippedBy.actor}${skippedBy.note === null ? '' : ` ("${skippedBy.note}")`}`;
}

// ---------------------------------------------------------------------------------------------- words

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

function longDate(date: string): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  return `${day} ${months[month - 1]} ${year}`;
}

/** An instant on the schedule's clock; the date only when it is not that of the slot. */
function clockOf({ loaded, slotAt }: SlotFacts, at: number): string {
  const { rule } = loaded.parsed;
  const [reading, own] = [rule.read(at), rule.read(slotAt)];
  const isOwnDay = reading.date === own.date && at !== slotAt;
  return isOwnDay ? reading.time : `${reading.date} ${reading.time} (${rule.timezone})`;
}

function lateText(ms: number): string {
  // Shorter than this is what every hand-over through a store takes.
  return ms < 50 ? 'on time' : `${short(ms)} late`;
}

function short(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return rough(ms);
}

/** A duration without what nobody reads: seconds only below an hour. */
function rough(ms: number): string {
  const step = ms < 1_000 ? 1 : ms < 3_600_000 ? 1_000 : 60_000;
  return formatDuration(Math.max(0, Math.round(ms / step) * step));
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
