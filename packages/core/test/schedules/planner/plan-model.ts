/**
 * The planner's rules written down a second time, slowly and obviously: slot by slot, no ranges, no arithmetic on counts. It
 * follows the text of docs/reference/semantics.md and shares nothing with the planner but the words
 * of the ledger. Random plays compare the two.
 */
import type { ActiveRun, Origin } from '../../../src/contract/engine.ts';
import type { CalendarRule, DelayRule, PlanRule } from '../../../src/schedules/definition/planned-rule.ts';
import type { ResolvedPolicies } from '../../../src/schedules/definition/policies.ts';
import type { PlanInput } from '../../../src/schedules/planner/plan-types.ts';

/** A decision about one slot. */
export interface ModelSlot {
  slotAt: number;
  decision: string;
  reason: string | null;
  runId: string | null;
}

/** A run the model makes. */
export interface ModelRun {
  id: string;
  slotAt: number | null;
  dueAt: number;
  origin: Origin;
  gates: string[];
  isCatchUp: boolean;
  allow: boolean;
  previousSlotAt: number | null;
  nextSlotAt: number | null;
  covers: { fromAt: number; toAt: number; count: number } | null;
}

/** What one step did. */
export interface ModelStep {
  slots: ModelSlot[];
  runs: ModelRun[];
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  reported: Map<string, { fromAt: number; toAt: number; count: number } | null>;
  more: boolean;
  dueAt: number | null;
  waitsFor: string | null;
  paused: boolean;
  flagged: boolean;
}

type Cause = 'late' | 'paused' | 'edited';
type Seen = Pick<ActiveRun, 'id' | 'status' | 'origin' | 'cancelRequestedAt'> & { fresh: boolean };
type Reported = Pick<PlanInput, 'now' | 'active' | 'activeCount' | 'waited' | 'limits' | 'newJobId'>;

const never = Number.POSITIVE_INFINITY;
const missedWords: Record<Cause, string> = { late: 'late', paused: 'paused', edited: 'edited' };
const firedWords: Record<Cause, string> = { late: 'caught up', paused: 'after pause', edited: 'before edit' };

/** One schedule by the slow rules. */
export class PlanModel {
  readonly id: string;
  rule: PlanRule;
  policies: ResolvedPolicies;
  /** Slots up to here are decided. */
  decidedAt: number;
  /** The slot a fixed delay waits for, and the run or instant it counts from. */
  delaySlotAt: number | null = null;
  delayRun: string | null = null;
  delayFromAt: number | null = null;
  /** A slot that had come and was not due when an edit came. */
  come: { slotAt: number; dueAt: number; editedAt: number; previousSlotAt: number | null } | null = null;
  fired = 0;
  lastFiredSlotAt: number | null = null;
  newestRun: string | null = null;
  missedSinceFired: number[] = [];
  mergedInto = new Map<string, number[]>();
  createdAt = new Map<string, number>();
  named = new Set<number>();
  namesComing = false;
  pausedAt: number | null = null;
  pausedUntilAt: number | null = null;
  pausesOver: { fromAt: number; toAt: number; cause: Cause }[] = [];
  leftOverAsOf: number | null = null;
  /** The last slot that has a decision. */
  writtenAt: number | null = null;
  leftOverCause: Cause = 'late';
  ownInputs = new Set<string>();
  over = false;
  failures = 0;
  flagged = false;
  unseen: string[] = [];

  step: ModelStep = emptyStep();
  reported: Reported = {
    now: 0,
    active: [],
    activeCount: 0,
    waited: null,
    limits: { leaseMs: 0, catchUpBudget: 0 },
    newJobId: () => '',
  };
  seen: Seen[] = [];
  seenCount = 0;
  budget = 0;
  stopped = false;
  stoppedByPace = false;

  constructor(id: string, rule: PlanRule, policies: ResolvedPolicies, now: number) {
    this.id = id;
    this.rule = rule;
    this.policies = policies;
    this.decidedAt = now;
    if (rule.kind === 'delay') this.delaySlotAt = Math.max(policies.startAt ?? now, now);
  }

  // ------------------------------------------------------------------------------------------- the steps

  create(now: number): ModelStep {
    this.begin({ ...this.reported, now });
    return this.end();
  }

  pass(reported: Reported): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    this.resumeByTime();
    this.decide(null);
    return this.end();
  }

  pause(reported: Reported, untilAt: number | null): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    this.resumeByTime();
    // A second pause that gives no end keeps the one that is there.
    this.pausedUntilAt = this.pausedAt === null ? untilAt : (untilAt ?? this.pausedUntilAt);
    this.pausedAt ??= reported.now;
    return this.end();
  }

  resume(reported: Reported): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    this.resumeByTime();
    this.resumeAt(reported.now);
    this.decide(null);
    return this.end();
  }

  skipNext(reported: Reported): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    const { rule } = this;
    if (!this.over && rule.kind === 'delay') {
      if (this.delaySlotAt === null) this.namesComing = true;
      else this.named.add(this.delaySlotAt);
    } else if (!this.over && rule.kind === 'calendar') {
      // The first slot that is still to come and that nothing else takes away.
      for (const slotAt of this.slots(rule, this.decidedAt, never)) {
        if (this.dueOf(slotAt) <= reported.now || this.isExcluded(slotAt)) continue;
        if (slotAt <= (this.policies.endAt ?? never)) this.named.add(slotAt);
        break;
      }
    }
    return this.end();
  }

  trigger(reported: Reported, allow: boolean, hasOwnInput = false): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    let way = allow ? { do: 'create' as const, gates: [], cancel: [] } : this.byOverlap();
    // What was given another input stands by itself.
    if (way.do === 'merge' && hasOwnInput) way = { do: 'create', gates: this.everyOther(), cancel: [] };
    if (way.do === 'create') {
      const { now } = reported;
      const isDelay = this.rule.kind === 'delay';
      this.createRun({
        slotAt: null,
        dueAt: now,
        origin: 'trigger',
        gates: way.gates,
        cancel: way.cancel,
        isCatchUp: false,
        allow,
        previousSlotAt: isDelay ? null : this.openBefore(now + 1),
        nextSlotAt: isDelay ? this.delaySlotAt : this.openAfter(now),
        covered: [],
        hasOwnInput,
      });
    }
    // Nothing new is told, but the run must still wait.
    if (way.do === 'merge') this.step.reported.set(way.into, null);
    return this.end();
  }

  backfill(
    reported: Reported,
    ask: {
      fromAt: number;
      toAt: number;
      newestFirst: boolean;
      capacity: number;
      reprocess: boolean;
      allow: boolean;
    },
    completed: Set<number>,
    unfinished: Set<number>,
  ): ModelStep {
    this.begin(reported);
    this.receiveOutcome();
    const rule = this.rule as CalendarRule;
    const toAt = Math.min(ask.toAt, reported.now, this.policies.endAt ?? never);
    const slots = [...this.slots(rule, ask.fromAt - 1, toAt)].filter(
      (slotAt) =>
        this.dueOf(slotAt) <= reported.now &&
        !this.isExcluded(slotAt) &&
        !unfinished.has(slotAt) &&
        (ask.reprocess || !completed.has(slotAt)),
    );
    if (ask.newestFirst) slots.reverse();
    const behind = ask.allow ? [] : this.everyOther();
    const created: string[] = [];
    for (const slotAt of slots) {
      const ahead = created[created.length - ask.capacity];
      created.push(
        this.createRun({
          slotAt,
          dueAt: reported.now,
          origin: 'backfill',
          gates: ahead === undefined ? behind : [ahead],
          cancel: [],
          isCatchUp: true,
          allow: ask.allow,
          previousSlotAt: this.openBefore(slotAt),
          nextSlotAt: this.openAfter(slotAt),
          covered: [],
        }),
      );
    }
    return this.end();
  }

  edit(
    reported: Reported,
    next: { rule: PlanRule; policies: ResolvedPolicies; isSameRule: boolean },
  ): { step: ModelStep; applied: boolean } {
    this.begin({ ...reported, limits: { ...reported.limits, catchUpBudget: never } });
    this.receiveOutcome();
    this.resumeByTime();
    const { now } = reported;
    const wasOver = this.over;
    const instantsStay =
      next.isSameRule &&
      next.policies.startAt === this.policies.startAt &&
      next.policies.jitterMs === this.policies.jitterMs &&
      (next.policies.jitterMode === this.policies.jitterMode || next.policies.jitterMs === 0);
    if (this.pausedAt === null || !instantsStay || this.over) {
      const held =
        this.pausedAt === null ? [] : [{ fromAt: this.pausedAt, toAt: now, cause: 'edited' as const }];
      this.decide(held);
      if (this.stopped) return { step: this.end(), applied: false };
      this.forgetCome();
    }
    if (!instantsStay) this.come = this.cameNotDue();
    const isOver = this.over;
    this.over = false;
    if (next.policies.pauseAfterFailures === null && next.policies.flagAfterFailures === null)
      this.unseen = [];
    const before = this.rule;
    const startedAt = this.policies.startAt;
    this.rule = next.rule;
    this.policies = next.policies;
    if (next.isSameRule) {
      // What came before it began was no slot then, and is none now.
      if (startedAt !== null && startedAt <= now) this.decidedAt = Math.max(this.decidedAt, startedAt - 1);
      if (startedAt !== null && startedAt > now) this.decidedAt = Math.max(this.decidedAt, now);
      if (before.kind === 'delay' && (wasOver || isOver) && this.delayRun === null)
        this.countDelayFrom(now, before);
    } else {
      this.decidedAt = now;
      if (this.pausedAt !== null) this.pausedAt = now;
      if (next.rule.kind === 'calendar') {
        this.delayRun = null;
        this.delayFromAt = null;
        this.namesComing = false;
      } else if (this.delayRun === null) {
        const newest = this.seen.at(-1)?.id ?? null;
        if (newest !== null) {
          this.delayRun = newest;
          this.delaySlotAt = null;
        } else if (before.kind === 'delay' && this.delayFromAt !== null) {
          this.countDelayFrom(this.delayFromAt, next.rule);
          this.delaySlotAt = Math.max(this.delaySlotAt ?? now, now);
        } else {
          // No instant is a slot twice.
          const freeAt = this.writtenAt === now ? now + 1 : now;
          this.delaySlotAt = Math.max(next.policies.startAt ?? freeAt, freeAt);
        }
      }
    }
    if (this.come !== null) {
      // It is the next slot, and ends before the one after it.
      this.decidedAt = this.come.slotAt - 1;
      if (next.rule.kind === 'delay') {
        this.delaySlotAt = this.come.slotAt;
        this.delayRun = null;
      } else {
        const nextAt = next.rule.all.next(this.come.editedAt) ?? never;
        this.come = { ...this.come, dueAt: Math.min(this.come.dueAt, nextAt - 1) };
      }
    }
    return { step: this.end(), applied: true };
  }

  /** Every slot that has come and was not decided is so now: nobody will decide it later. */
  delete(reported: Reported): ModelStep {
    this.begin(reported);
    if (this.over) return this.step;
    if (this.rule.kind === 'delay' && this.delayRunsStill(this.rule)) return this.step;
    const slots =
      this.rule.kind === 'delay'
        ? [this.delaySlotAt]
        : [...this.slots(this.rule, this.decidedAt, reported.now)];
    for (const slotAt of slots) {
      if (slotAt === null || slotAt > reported.now) break;
      const { maxRuns, endAt } = this.policies;
      if (maxRuns !== null && this.fired >= maxRuns) this.finish(slotAt, 'max runs');
      else if (endAt !== null && slotAt > endAt) this.finish(slotAt, 'end at');
      else if (this.isExcluded(slotAt)) this.write(slotAt, 'excluded', 'exclude');
      else if (this.named.has(slotAt)) this.write(slotAt, 'skipped', 'skip next');
      else this.write(slotAt, 'missed', 'deleted');
    }
    return this.step;
  }

  // ------------------------------------------------------------------------------------------ the slots

  /** Decides what is due. With `edit`, by an edit: what an ongoing pause holds is in the list. */
  decide(edit: { fromAt: number; toAt: number; cause: Cause }[] | null): void {
    if (this.rule.kind === 'delay' && this.delayRunsStill(this.rule)) return;
    if (edit === null && (this.pausedAt !== null || this.over)) return;
    const held = [...this.pausesOver, ...(edit ?? [])];
    const late: Cause = edit === null ? 'late' : 'edited';
    if (this.rule.kind === 'delay') this.decideDelay(this.rule, held, late);
    else {
      if (this.leftOverAsOf !== null) this.decideAsOf(this.rule, this.leftOverAsOf, held, this.leftOverCause);
      if (!this.stopped) this.decideAsOf(this.rule, this.reported.now, held, late);
    }
    if (!this.stopped) this.pausesOver = [];
  }

  decideAsOf(
    rule: CalendarRule,
    asOf: number,
    held: { fromAt: number; toAt: number; cause: Cause }[],
    late: Cause,
  ): void {
    const due = [...this.slots(rule, this.decidedAt, asOf)].filter((slotAt) => this.dueOf(slotAt) <= asOf);
    const causes = new Map<number, Cause | null>();
    for (const slotAt of due) causes.set(slotAt, this.causeOf(rule, slotAt, asOf, held, late));
    const chosen = new Set<number>();
    for (const cause of ['late', 'paused', 'edited'] as const) {
      const candidates = due.filter(
        (slotAt) =>
          causes.get(slotAt) === cause &&
          slotAt <= (this.policies.endAt ?? never) &&
          !this.isExcluded(slotAt) &&
          !this.named.has(slotAt) &&
          this.isInWindow(slotAt, cause, asOf),
      );
      const mode = this.modeOf(cause);
      const count = mode === 'skip' ? 0 : mode === 'latest' ? 1 : this.policies.catchUpLimit;
      for (const slotAt of candidates.slice(Math.max(0, candidates.length - count))) chosen.add(slotAt);
    }
    for (const slotAt of due) {
      this.decideSlot(slotAt, this.dueOf(slotAt), causes.get(slotAt) ?? null, chosen, asOf);
      if (this.stopped) {
        this.leftOverAsOf = asOf;
        this.leftOverCause = late;
        return;
      }
      this.decidedAt = slotAt;
    }
    this.leftOverAsOf = null;
  }

  causeOf(
    rule: CalendarRule,
    slotAt: number,
    asOf: number,
    held: { fromAt: number; toAt: number; cause: Cause }[],
    late: Cause,
  ): Cause | null {
    const dueAt = this.dueOf(slotAt);
    for (const span of held) if (span.fromAt < dueAt && dueAt <= span.toAt) return span.cause;
    const nextAt = this.slotAfter(rule, slotAt);
    const graceMs = Math.max(
      Math.min(60_000, (nextAt ?? never) - slotAt),
      this.reported.limits.leaseMs + 2_000,
    );
    return asOf - dueAt > graceMs ? late : null;
  }

  modeOf(cause: Cause): 'skip' | 'latest' | 'all' {
    return { late: this.policies.missed, paused: this.policies.onResume, edited: this.policies.onEdit }[
      cause
    ];
  }

  isInWindow(slotAt: number, cause: Cause, asOf: number, dueAt = this.dueOf(slotAt)): boolean {
    const mode = this.modeOf(cause);
    if (mode === 'skip') return true;
    const windowMs = this.policies.catchUpWindowMs ?? (mode === 'all' ? 24 * 3_600_000 : never);
    return dueAt >= asOf - windowMs;
  }

  /** The order of docs/reference/semantics.md#schedules. */
  decideSlot(
    slotAt: number,
    dueAt: number,
    cause: Cause | null,
    chosen: Set<number>,
    asOf: number,
  ): ModelSlot | null {
    const { policies } = this;
    if (policies.maxRuns !== null && this.fired >= policies.maxRuns) return this.finish(slotAt, 'max runs');
    if (policies.endAt !== null && slotAt > policies.endAt) return this.finish(slotAt, 'end at');
    if (this.isExcluded(slotAt)) return this.write(slotAt, 'excluded', 'exclude');
    if (this.named.has(slotAt)) return this.write(slotAt, 'skipped', 'skip next');
    if (cause !== null && !chosen.has(slotAt)) {
      this.missedSinceFired.push(slotAt);
      const mode = this.modeOf(cause);
      if (!this.isInWindow(slotAt, cause, asOf, dueAt)) return this.write(slotAt, 'missed', 'beyond window');
      if (mode === 'all') return this.write(slotAt, 'missed', 'beyond limit');
      const word = missedWords[cause];
      return this.write(slotAt, 'missed', mode === 'skip' ? word : `${word}, not the latest`);
    }
    if (policies.startDeadlineMs !== null && this.reported.now - dueAt > policies.startDeadlineMs) {
      return this.write(slotAt, 'expired', 'start deadline');
    }
    const way = this.byOverlap();
    if (way.do === 'skip') return this.write(slotAt, 'skipped', way.reason);
    if (way.do === 'merge') {
      const merged = [...(this.mergedInto.get(way.into) ?? []), slotAt];
      this.mergedInto.delete(way.into);
      this.mergedInto.set(way.into, merged);
      if (!this.createdAt.has(way.into)) this.createdAt.set(way.into, this.reported.now);
      const fresh = this.step.runs.find(({ id }) => id === way.into);
      if (fresh === undefined) this.step.reported.set(way.into, coversOf(merged));
      else fresh.covers = coversOf(merged);
      return this.write(slotAt, 'merged', 'overlap');
    }
    if (way.do === 'come back' || (cause !== null && this.budget === 0)) {
      this.stopped = true;
      this.stoppedByPace = way.do !== 'come back';
      return null;
    }
    if (cause !== null) this.budget -= 1;
    const isDelay = this.rule.kind === 'delay';
    const nextAt = isDelay ? null : this.openAfter(slotAt);
    const runId = this.createRun({
      slotAt,
      dueAt,
      origin: 'schedule',
      gates: way.gates,
      cancel: way.cancel,
      isCatchUp: cause !== null,
      allow: false,
      previousSlotAt: isDelay
        ? this.lastFiredSlotAt
        : this.come?.slotAt === slotAt
          ? this.come.previousSlotAt
          : this.openBefore(slotAt),
      nextSlotAt: nextAt !== null && nextAt <= (policies.endAt ?? never) ? nextAt : null,
      covered: this.missedSinceFired,
    });
    this.fired += 1;
    this.lastFiredSlotAt = slotAt;
    this.missedSinceFired = [];
    if (policies.pauseAfterFailures !== null || policies.flagAfterFailures !== null) this.unseen.push(runId);
    return this.write(slotAt, 'fired', cause === null ? null : firedWords[cause], runId);
  }

  finish(slotAt: number, reason: string): ModelSlot {
    this.over = true;
    return this.write(slotAt, 'ended', reason);
  }

  write(slotAt: number, decision: string, reason: string | null, runId: string | null = null): ModelSlot {
    const slot = { slotAt, decision, reason, runId };
    this.step.slots.push(slot);
    this.writtenAt = slotAt;
    return slot;
  }

  /** The newest slot, if its jitter has not passed yet: it stays whatever the schedule becomes. */
  cameNotDue(): PlanModel['come'] {
    const { now } = this.reported;
    if (this.over) return null;
    const slots =
      this.rule.kind === 'delay' ? [this.delaySlotAt] : this.slots(this.rule, this.decidedAt, now);
    for (const slotAt of slots) {
      if (slotAt === null || slotAt > now) return null;
      if (this.come?.slotAt === slotAt) return { ...this.come, editedAt: now };
      const previousSlotAt = this.rule.kind === 'delay' ? this.lastFiredSlotAt : this.openBefore(slotAt);
      return { slotAt, dueAt: this.dueOf(slotAt), editedAt: now, previousSlotAt };
    }
    return null;
  }

  /** Once it is decided, what follows is what comes after the edit. */
  forgetCome(): void {
    if (this.come === null || this.decidedAt < this.come.slotAt) return;
    this.decidedAt = Math.max(this.decidedAt, this.come.editedAt);
    this.come = null;
  }

  /** The slots after one instant up to another: those of the rule, and in place of what it names up to the edit the one that had come. */
  *slots(rule: CalendarRule, afterAt: number, toAt: number): Generator<number> {
    const { come } = this;
    if (come === null) {
      yield* walk(rule, afterAt, toAt);
      return;
    }
    yield* walk(rule, afterAt, Math.min(toAt, come.slotAt - 1));
    if (come.slotAt > afterAt && come.slotAt <= toAt) yield come.slotAt;
    yield* walk(rule, Math.max(afterAt, come.editedAt), toAt);
  }

  slotAfter(rule: CalendarRule, at: number): number | null {
    for (const slotAt of this.slots(rule, at, never)) return slotAt;
    return null;
  }

  openAfter(at: number): number | null {
    const { open } = this.rule as CalendarRule;
    const { come } = this;
    const nextAt = open.next(at);
    if (come === null || at >= come.editedAt || (nextAt !== null && nextAt < come.slotAt)) return nextAt;
    return at < come.slotAt && !this.isExcluded(come.slotAt) ? come.slotAt : open.next(come.editedAt);
  }

  openBefore(at: number): number | null {
    const { open } = this.rule as CalendarRule;
    const { come } = this;
    const beforeAt = open.previous(at);
    if (come === null || at <= come.slotAt || (beforeAt !== null && beforeAt > come.editedAt))
      return beforeAt;
    return this.isExcluded(come.slotAt) ? open.previous(come.slotAt) : come.slotAt;
  }

  // ---------------------------------------------------------------------------------------- fixed delay

  delayRunsStill(rule: DelayRule): boolean {
    if (this.delayRun === null) return false;
    const { waited, active, activeCount, now } = this.reported;
    if (waited !== null && waited.id === this.delayRun) this.countDelayFrom(waited.finishedAt, rule);
    else if (active.some(({ id }) => id === this.delayRun) || activeCount > active.length) return true;
    else this.countDelayFrom(now, rule);
    this.delayRun = null;
    return false;
  }

  countDelayFrom(at: number, rule: DelayRule): void {
    this.delayFromAt = at;
    this.delaySlotAt = at + rule.delayMs;
    const { startAt } = this.policies;
    if (startAt !== null && this.delaySlotAt < startAt) this.delaySlotAt = startAt;
    if (this.namesComing) this.named.add(this.delaySlotAt);
    this.namesComing = false;
  }

  decideDelay(rule: DelayRule, held: { fromAt: number; toAt: number; cause: Cause }[], late: Cause): void {
    const slotAt = this.delaySlotAt;
    const { now } = this.reported;
    if (slotAt === null) return;
    const dueAt = this.dueOf(slotAt);
    if (dueAt > now) return;
    let cause: Cause | null =
      now - dueAt > Math.max(60_000, this.reported.limits.leaseMs + 2_000) ? late : null;
    for (const span of held) if (span.fromAt < dueAt && dueAt <= span.toAt) cause = span.cause;
    const isChosen = cause !== null && this.modeOf(cause) !== 'skip' && this.isInWindow(slotAt, cause, now);
    const others = this.seen.at(-1)?.id ?? null;
    const decided = this.decideSlot(slotAt, dueAt, cause, new Set(isChosen ? [slotAt] : []), now);
    if (decided === null) return;
    this.decidedAt = slotAt;
    this.delaySlotAt = null;
    if (this.over) return;
    this.delayFromAt = null;
    if (decided.decision === 'fired') this.delayRun = decided.runId;
    else if (decided.decision === 'skipped' && decided.reason === 'overlap') this.delayRun = others;
    else this.countDelayFrom(now, rule);
  }

  // --------------------------------------------------------------------------------------------- overlap

  byOverlap():
    | { do: 'create'; gates: string[]; cancel: ModelStep['cancel'] }
    | { do: 'skip'; reason: string }
    | { do: 'merge'; into: string }
    | { do: 'come back' } {
    const { overlap, bufferLimit } = this.policies;
    const others = this.seen;
    if (this.seenCount === 0 || overlap === 'allow') return { do: 'create', gates: [], cancel: [] };
    if (overlap === 'skip') return { do: 'skip', reason: 'overlap' };
    if (overlap === 'bufferOne') {
      const waiting = others
        .slice(1)
        .filter(({ id, origin }) => origin !== 'backfill' && !this.ownInputs.has(id))
        .filter(({ status }) => status === 'BLOCKED' || status === 'PENDING')
        .at(-1);
      if (waiting !== undefined) return { do: 'merge', into: waiting.id };
      // The store tells of the ten oldest. If none of them is younger than the newest that was made to wait, that one waits still.
      const newest = [...this.mergedInto.keys()].at(-1);
      if (newest !== undefined && this.seenCount > others.length) {
        const createdAt = this.createdAt.get(newest) ?? 0;
        if (this.reported.active.every(({ id, dueAt }) => id !== newest && dueAt <= createdAt)) {
          return { do: 'merge', into: newest };
        }
      }
      return { do: 'create', gates: this.everyOther(), cancel: [] };
    }
    if (overlap === 'bufferAll') {
      const waitingCount = this.seenCount - 1;
      return waitingCount < bufferLimit
        ? { do: 'create', gates: this.everyOther(), cancel: [] }
        : { do: 'skip', reason: 'buffer full' };
    }
    if (others.some(({ fresh }) => fresh)) return { do: 'come back' };
    const backfilled = others.filter(({ origin }) => origin === 'backfill').map(({ id }) => id);
    const live = others.filter(({ id }) => !backfilled.includes(id));
    if (overlap === 'terminateOther') {
      return { do: 'create', gates: [], cancel: live.map(({ id }) => ({ id, mode: 'terminate' })) };
    }
    const unasked = live.filter(({ cancelRequestedAt }) => cancelRequestedAt === null);
    const gates = this.everyOther().filter((id) => !backfilled.includes(id));
    return { do: 'create', gates, cancel: unasked.map(({ id }) => ({ id, mode: 'ask' })) };
  }

  /** Those the store told of, and the newest one. */
  everyOther(): string[] {
    const gates = this.seen.filter(({ fresh }) => !fresh).map(({ id }) => id);
    const fresh = this.seen.filter((run) => run.fresh).at(-1);
    if (fresh !== undefined) gates.push(fresh.id);
    else if (
      this.seenCount > this.seen.length &&
      this.newestRun !== null &&
      !gates.includes(this.newestRun)
    ) {
      gates.push(this.newestRun);
    }
    return gates;
  }

  createRun(
    run: Omit<ModelRun, 'id' | 'covers'> & {
      cancel: ModelStep['cancel'];
      covered: number[];
      hasOwnInput?: boolean;
    },
  ): string {
    const { cancel, covered, hasOwnInput = false, ...rest } = run;
    const id = this.reported.newJobId();
    this.createdAt.set(id, this.reported.now);
    this.step.runs.push({ id, ...rest, covers: coversOf(covered) });
    if (run.allow) return id;
    this.step.cancel.push(...cancel);
    for (const { id, mode } of cancel) {
      if (mode !== 'terminate') continue;
      this.seen = this.seen.filter((other) => other.id !== id);
      this.seenCount -= 1;
    }
    const status = run.gates.length === 0 ? 'PENDING' : 'BLOCKED';
    this.seen.push({ id, status, origin: run.origin, cancelRequestedAt: null, fresh: true });
    this.seenCount += 1;
    this.newestRun = id;
    if (hasOwnInput) this.ownInputs.add(id);
    else if (this.policies.overlap === 'bufferOne' && run.gates.length > 0 && run.origin !== 'backfill') {
      this.mergedInto.set(id, [...covered]);
    }
    return id;
  }

  // -------------------------------------------------------------------------------------- pause, outcomes

  receiveOutcome(): void {
    const [first] = this.unseen;
    if (first === undefined) return;
    const { waited, active, activeCount, now } = this.reported;
    if (waited?.id !== first) {
      if (activeCount <= active.length && active.every(({ id }) => id !== first)) this.unseen.shift();
      return;
    }
    this.unseen.shift();
    if (waited.status === 'COMPLETED') {
      this.failures = 0;
      this.flagged = false;
    }
    if (waited.status !== 'FAILED') return;
    this.failures += 1;
    const { pauseAfterFailures, flagAfterFailures } = this.policies;
    if (flagAfterFailures !== null && this.failures >= flagAfterFailures) this.flagged = true;
    if (pauseAfterFailures !== null && this.failures >= pauseAfterFailures && this.pausedAt === null) {
      this.pausedAt = Math.min(waited.finishedAt, now);
      this.pausedUntilAt = null;
    }
  }

  resumeByTime(): void {
    const untilAt = this.pausedUntilAt;
    // A slot that falls due at the very end is decided as any other.
    if (untilAt !== null && untilAt <= this.reported.now) this.resumeAt(untilAt - 1);
  }

  resumeAt(at: number): void {
    if (this.pausedAt === null) return;
    this.pausesOver.push({ fromAt: this.pausedAt, toAt: at, cause: 'paused' });
    this.pausedAt = null;
    this.pausedUntilAt = null;
    this.failures = 0;
  }

  // ------------------------------------------------------------------------------------------------ small

  begin(reported: Reported): void {
    this.reported = reported;
    this.step = emptyStep();
    this.seen = reported.active.map((run) => ({ ...run, fresh: false }));
    this.seenCount = reported.activeCount;
    this.budget = reported.limits.catchUpBudget;
    for (const id of this.mergedInto.keys()) {
      const run = reported.active.find((one) => one.id === id);
      const mayWait =
        run === undefined
          ? reported.activeCount > reported.active.length
          : /BLOCKED|PENDING/.test(run.status);
      if (!mayWait) this.mergedInto.delete(id);
    }
    this.stopped = false;
    this.stoppedByPace = false;
  }

  end(): ModelStep {
    const { step } = this;
    this.forgetCome();
    step.more = this.stopped;
    step.waitsFor = this.delayRun ?? this.unseen[0] ?? null;
    step.dueAt = this.dueAgainAt();
    step.paused = this.pausedAt !== null;
    step.flagged = this.flagged;
    return step;
  }

  dueAgainAt(): number | null {
    const { now } = this.reported;
    const nextAt = this.rule.kind === 'delay' ? this.delaySlotAt : this.slotAfter(this.rule, this.decidedAt);
    if (this.over) return null;
    if (nextAt === null && this.rule.kind === 'calendar') {
      this.over = true;
      return null;
    }
    if (this.pausedAt !== null) return this.pausedUntilAt;
    if (this.stopped) return this.stoppedByPace ? now + 1_000 : now;
    if (this.leftOverAsOf !== null) return now;
    return nextAt === null ? null : this.dueOf(nextAt);
  }

  isExcluded(slotAt: number): boolean {
    return this.rule.isExcluded(slotAt);
  }

  dueOf(slotAt: number): number {
    if (this.come?.slotAt === slotAt) return this.come.dueAt;
    const { jitterMs, jitterMode } = this.policies;
    const offsetMs = jitterOf(jitterMode === 'perFire' ? `${this.id}/${slotAt}` : this.id, jitterMs);
    if (offsetMs === 0 || this.rule.kind === 'delay') return slotAt + offsetMs;
    const nextAt = this.slotAfter(this.rule, slotAt) ?? never;
    return Math.min(slotAt + offsetMs, Math.max(slotAt, nextAt - 1));
  }
}

const twoTo32 = 2 ** 32;

/** The low 32 bits of a product, by halves: as long multiplication is done by hand. */
function times(one: number, other: number): number {
  const [high, low] = [Math.floor(one / 0x10000), one % 0x10000];
  return (low * other + ((high * other) % 0x10000) * 0x10000) % twoTo32;
}

/** One with its own upper bits, from this one on, mixed in below. */
function folded(one: number, bits: number): number {
  return (one ^ Math.floor(one / 2 ** bits)) >>> 0;
}

/** The jitter of what has this name, as the page on semantics says: 32 bits of FNV-1a and murmur3's finalizer, as a part of the jitter and one. */
function jitterOf(name: string, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  let hash = 2_166_136_261;
  for (let i = 0; i < name.length; i++) hash = times((hash ^ name.charCodeAt(i)) >>> 0, 16_777_619);
  hash = times(folded(hash, 16), 0x85ebca6b);
  hash = times(folded(hash, 13), 0xc2b2ae35);
  return Math.floor((folded(hash, 16) * (jitterMs + 1)) / twoTo32);
}

/** Every slot after one instant up to another. */
function* walk(rule: CalendarRule, afterAt: number, toAt: number): Generator<number> {
  for (let at = rule.all.next(afterAt); at !== null && at <= toAt; at = rule.all.next(at)) yield at;
}

function coversOf(slots: number[]): { fromAt: number; toAt: number; count: number } | null {
  if (slots.length === 0) return null;
  return { fromAt: Math.min(...slots), toAt: Math.max(...slots), count: slots.length };
}

function emptyStep(): ModelStep {
  return {
    slots: [],
    runs: [],
    cancel: [],
    reported: new Map(),
    more: false,
    dueAt: null,
    waitsFor: null,
    paused: false,
    flagged: false,
  };
}
