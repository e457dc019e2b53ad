import type { Clock } from '../base/clock.ts';
import { dulyError } from '../base/errors.ts';
import type { Ids } from '../base/ids.ts';
import { toJson } from '../base/json.ts';
import {
  readFlag,
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
  shown,
} from '../base/option-reader.ts';
import type { Random } from '../base/random.ts';
import type {
  Actor,
  AuditRow,
  Engine,
  JobRecord,
  ScheduleRecord,
  UserTransaction,
} from '../contract/engine.ts';
import type { JobHandle } from '../jobs/job-handle.ts';
import { readNote } from '../jobs/job-reference.ts';
import { readUntil } from '../jobs/pauses.ts';
import { isPromise, validateStoredInput } from '../jobs/stored-input.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { declaredTaskOf, resolveTask } from '../jobs/task-options.ts';
import { readScheduleStats, type ScheduleStats, type ScheduleStatsOptions } from '../operations/stats.ts';
import { backfillResult, slotRuns } from './backfill.ts';
import { readMoment } from './calendar/moment.ts';
import { DeclaredSchedules } from './declared.ts';
import { baseOf, declaredPart, specOf } from './definition/declared.ts';
import {
  type EveryDefinition,
  readDefinition,
  readDraft,
  type ScheduleDefinition,
  type ScheduleDraft,
} from './definition/definition.ts';
import { explainRule } from './definition/explain.ts';
import { type ScheduleIdentity, scheduleIdOf } from './definition/identity.ts';
import { readChanges, type ScheduleChanges, withChanges } from './definition/override.ts';
import { createParsedSchedules, type ParsedSchedules } from './definition/schedule-cache.ts';
import type { ScheduleSpec } from './definition/spec.ts';
import { isSlotOf, readSlot, readStoreFilter, ScheduleFinder, textOf } from './finder.ts';
import {
  changesOf,
  changesSince,
  dueAtUnderOldRule,
  earlierGenerations,
  type LedgerSchedule,
  scheduleAt,
} from './history.ts';
import { backfillsOf, readLedger } from './ledger.ts';
import { newestDueSlot } from './planner/jitter.ts';
import {
  type BackfillPlan,
  planBackfill,
  planPause,
  planResume,
  planSkipNext,
  planTrigger,
} from './planner/plan-operations.ts';
import { planPauseUnreadable, planResumeUnreadable } from './planner/plan-unreadable.ts';
import { calendarSlots, previewDelay } from './planner/upcoming-slot.ts';
import { declaredTwice, isDisabled, missingSchedule, secondRule, secondType } from './schedule-errors.ts';
import {
  type ApplyOptions,
  applyNames,
  type BackfillOptions,
  type BackfillResult,
  backfillNames,
  type DeclaredSet,
  filterNames,
  getNames,
  noteNames,
  pauseNames,
  previewNames,
  type ScheduleDiff,
  type SchedulePage,
  type SchedulePauseOptions,
  type ScheduleReference,
  type SchedulesFilter,
  type SlotsOptions,
  slotsNames,
  statuses,
  type TriggerOptions,
  type TriggerResult,
  triggerNames,
} from './schedule-options.ts';
import { type LedgerSlot, type Schedule, type ScheduleDeletion, toSchedule } from './schedule-view.ts';
import { explainSlot, type SlotWhy } from './schedule-why.ts';
import { readSchedule } from './unreadable.ts';
import { createScheduleWrites, isSame, type Loaded, type ScheduleWrites, wantEdit } from './writes.ts';

/** What the schedules of one Duly stand on. */
export interface SchedulesDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  /** Who asks, at the moment of the call. */
  actor(): Actor;
  app: string;
  release: string | null;
  node: string;
  ids: Ids;
  random: Random;
  inputBytesMax: number;
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** What the tasks of this process declare. */
  declared(): ScheduleDefinition[];
  handle(id: string): JobHandle;
  /** Told of what failed without stopping a call. */
  onError(error: unknown, doing: string): void;
}

/** How many are read at once where the store cannot tell which are wanted. */
const pageSize = 1_000;

/** Reads and changes the schedules of a store. Everything that changes one is recorded in the audit. */
export class Schedules {
  readonly #deps: SchedulesDeps;
  readonly #parsed: ParsedSchedules = createParsedSchedules();
  readonly #writes: ScheduleWrites;
  readonly #finder: ScheduleFinder;
  readonly #declared: DeclaredSchedules;
  /** The rules that this process gave by `every()`, and of which type, by schedule id. */
  readonly #given = new Map<string, { rule: string; type: string }>();

  /** Made by `new Duly`. */
  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
    this.#writes = createScheduleWrites({ ...deps, parsed: this.#parsed });
    this.#finder = new ScheduleFinder(deps, this.#parsed);
    this.#declared = new DeclaredSchedules(deps, this.#parsed, this.#writes);
  }

  // -------------------------------------------------------------------------------------------- reading

  /** A page of the schedules that match, by name, or by when they are due. */
  async list(filter?: SchedulesFilter): Promise<SchedulePage> {
    const {
      type,
      status,
      search,
      order = 'name',
      limit = 100,
      cursor,
      ...rest
    } = readOptions(filter, 'schedules.list()', filterNames);
    if (status !== undefined) readWord(status, 'status', statuses);
    if (readWord(order, 'order', ['name', 'due']) === 'due') {
      for (const [name, value] of Object.entries({ type, status, search, cursor }))
        if (value !== undefined) refuseOption(name, value, 'not to be given with the order "due"');
    }
    const sought = search === undefined ? null : readName(search, 'search').toLowerCase();
    const wanted = readWholeNumber(limit, 'limit', 1, 1_000);
    const engine = await this.#deps.engine();
    // Type, status and words are not the store's to know: whole pages are read until enough of them match.
    const isAll = type === undefined && status === undefined && sought === null;
    const found: Schedule[] = [];
    let nextCursor: string | null = cursor === undefined ? null : readCursor(cursor);
    do {
      const reply: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
        filter: readStoreFilter(rest),
        order,
        cursor: nextCursor,
        limit: isAll ? wanted : pageSize,
      });
      const records = this.#readable(reply.schedules).filter((record) =>
        this.#matches(record, { type, sought }),
      );
      // What a schedule did last is read for those only that may be shown.
      let at = 0;
      for (; at < records.length && found.length < wanted; at += wanted) {
        const views = await this.#views(records.slice(at, at + wanted), reply.now);
        found.push(...views.filter((one) => status === undefined || one.status === status));
      }
      nextCursor = reply.nextCursor;
      if (found.length > wanted || at < records.length) {
        // Enough before the end of what was read: the rest begins behind the last that is shown.
        const { name, id } = found[wanted - 1] as Schedule;
        nextCursor = JSON.stringify([name, id]);
      }
    } while (nextCursor !== null && found.length < wanted);
    return { schedules: found.slice(0, wanted), nextCursor };
  }

  /** All schedules that match, one by one. */
  async *each(filter?: Omit<SchedulesFilter, 'cursor'>): AsyncGenerator<Schedule> {
    let cursor: string | null = null;
    do {
      const page: SchedulePage = await this.list({ ...filter, ...(cursor === null ? {} : { cursor }) });
      yield* page.schedules;
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  /**
   * The schedule. Throws `schedule_not_found`, which tells when and by whom one was deleted, or `schedule_ambiguous`. With
   * `deleted: true` one that was deleted is given as it was then, its `status` being `deleted`.
   */
  async get(reference: ScheduleReference, options?: { deleted?: boolean }): Promise<Schedule> {
    const { deleted = false } = readOptions(options ?? {}, 'get()', getNames);
    const found = readFlag(deleted, 'deleted')
      ? await this.#finder.findWithLedger(reference)
      : await this.#finder.find(reference);
    const [schedule] = await this.#views([found.record], found.now, found.deleted);
    return schedule as Schedule;
  }

  /** What became of the newest runs of some schedules, in the order of the ids: how they ended, how long they usually take, the last success. */
  stats(options: ScheduleStatsOptions): Promise<ScheduleStats[]> {
    return readScheduleStats(() => this.#deps.engine(), options);
  }

  /**
   * The next slots that should fire. A fixed delay is shown as if its runs took no time; what a pause holds that has an end only where it is caught
   * up on. A pause without an end is left out of account.
   */
  async preview(
    reference: ScheduleReference,
    options?: { after?: Date | number | string; count?: number },
  ): Promise<Date[]> {
    const { after, count = 10 } = readOptions(options ?? {}, 'preview()', previewNames);
    const wanted = readWholeNumber(count, 'count', 1, 10_000);
    const { record, parsed, now } = await this.#loadReference(reference);
    const { rule, planRule, spec, state } = parsed;
    const { maxRuns } = spec.policies;
    const left = maxRuns === null ? wanted : Math.min(wanted, Math.max(0, maxRuns - state.firedCount));
    const givenAt = after === undefined ? null : readMoment(after, 'after', rule.timezone);
    const toPlay = { id: record.id, spec, state };
    if (planRule.kind === 'delay') {
      const slots = previewDelay({ ...toPlay, rule: planRule }, { afterAt: givenAt, now, count: left });
      return slots.map((at) => new Date(at));
    }
    // A slot that has come and is not due yet, because of its jitter, is still to come.
    const dueAt =
      newestDueSlot({ id: record.id, policies: spec.policies }, planRule.all, now) ?? state.cursorAt;
    const slots: Date[] = [];
    for (const { slotAt } of calendarSlots(
      { ...toPlay, rule: planRule },
      givenAt ?? Math.max(dueAt, state.cursorAt),
    )) {
      if (slots.length >= left) break;
      slots.push(new Date(slotAt));
    }
    return slots;
  }

  /** The ledger, newest first: what became of each slot, and its runs. It is kept when the schedule is deleted. */
  async slots(reference: ScheduleReference, options?: SlotsOptions): Promise<LedgerSlot[]> {
    const { from, to, limit = 100 } = readOptions(options, 'slots()', slotsNames);
    const loaded = await this.#finder.findWithLedger(reference);
    const { timezone } = loaded.parsed.rule;
    return readLedger(await this.#deps.engine(), loaded, {
      fromAt: from === undefined ? 0 : readMoment(from, 'from', timezone),
      beforeAt: to === undefined ? Number.MAX_SAFE_INTEGER : readMoment(to, 'to', timezone),
      limit: readWholeNumber(limit, 'limit', 1, 1_000),
    });
  }

  /**
   * What became of a slot and why, or what is to become of it; also `duly.why(schedule, slot)`. The slot is an instant, or a wall time
   * in the schedule's zone.
   */
  async why(reference: ScheduleReference, slot: Date | number | string): Promise<SlotWhy> {
    const loaded = await this.#finder.findWithLedger(reference);
    if (loaded.parsed.unreadable !== null) throw loaded.parsed.unreadable;
    const engine = await this.#deps.engine();
    const scheduleId = loaded.record.id;
    const { askedAt, missing } = readSlot(slot, loaded);
    const isDelay = loaded.parsed.planRule.kind === 'delay';
    // The slots of a fixed delay have milliseconds that nobody writes.
    const beforeAt = isDelay ? askedAt + 1_000 : askedAt + 1;
    const { slots, compacted } = await engine.slots({ scheduleId, fromAt: askedAt, beforeAt, limit: 10 });
    const changes = await changesSince(engine, scheduleId, Math.min(askedAt, ...slots.map(decidedFirst)));
    const then = (one: (typeof slots)[number]): LedgerSchedule => scheduleAt(loaded, one, askedAt, changes);
    const { nextSlotAt } = loaded.parsed.state;
    const isNext = isDelay && nextSlotAt !== null && nextSlotAt >= askedAt && nextSlotAt < beforeAt;
    const found = slots.find((one) => isSlotOf(one, askedAt, then(one))) ?? null;
    // A fixed delay that was made again begins with its making, which may be the instant of a slot of the one before.
    const row = isNext && found !== null && found.generation < loaded.record.generation ? null : found;
    const compactedSlots =
      row === null ? (compacted.find((one) => isSlotOf(one, askedAt, loaded)) ?? null) : null;
    const wasDelay = row !== null && then(row).parsed.planRule.kind === 'delay';
    const slotAt = wasDelay ? row.fromAt : row === null && isNext ? nextSlotAt : askedAt;
    const fired = row?.jobId == null ? [] : (await engine.get({ ids: [row.jobId] })).jobs;
    const backfills = await backfillsOf(engine, scheduleId, { fromAt: slotAt, beforeAt: slotAt + 1 });
    const runs = [
      ...fired.filter((job) => job !== null && job.slot?.slotAt === slotAt),
      ...backfills.reverse(),
    ] as JobRecord[];
    const { rows } = await engine.audit({ subject: `schedule:${scheduleId}`, before: null, limit: 1_000 });
    const skippedBy = rows.find(
      (one) => one.action === 'skip-next' && one.at <= (row?.lastDecidedAt ?? row?.decidedAt ?? loaded.now),
    );
    return explainSlot({
      loaded: row === null ? loaded : then(row),
      slotAt,
      dueAt:
        row === null
          ? null
          : dueAtUnderOldRule(then(row), slotAt, changesOf(loaded, row.generation, changes)),
      missing,
      row,
      compactedSlots,
      runs,
      cancels: await cancelsOf(engine, runs),
      skippedBy: skippedBy ?? null,
      earlier: earlierGenerations(rows),
    });
  }

  // ------------------------------------------------------------------------------------------- changing

  /** Creates a dynamic schedule, or edits the one of this name to be so. Does nothing when it is so already. */
  async put(definition: ScheduleDefinition): Promise<Schedule> {
    const { type, rest } = splitType(definition);
    const draft = await this.#read(type, rest, null);
    await this.#writes.upsert(draft);
    return this.get({ id: scheduleIdOf(draft) });
  }

  /**
   * What `task.every` does: the same, and one process gives a schedule one rule only (`schedule_conflict`). `userTransaction`: all of it inside a
   * transaction of the user's own.
   */
  async every(
    task: ResolvedTask,
    definition: EveryDefinition,
    userTransaction?: UserTransaction,
  ): Promise<Schedule> {
    const draft = await this.#read(task, definition, null);
    const id = scheduleIdOf(draft);
    const given = this.#given.get(id);
    const giving = { rule: JSON.stringify(draft.rule), type: task.name };
    if (given !== undefined && given.type !== giving.type) throw secondType(draft, given.type);
    if (given !== undefined && given.rule !== giving.rule) throw secondRule(draft);
    if (userTransaction !== undefined) {
      // Not noted as given: it may be rolled back.
      await createScheduleWrites({
        ...this.#deps,
        engine: async () => userTransaction,
        parsed: this.#parsed,
      }).upsert(draft);
      const { schedules, now } = await userTransaction.schedules({
        filter: { ids: [id] },
        cursor: null,
        limit: 1,
      });
      const [schedule] = await this.#views(schedules, now, undefined, userTransaction);
      return schedule as Schedule;
    }
    // Noted before the first wait, so that of two calls at a time the second is told.
    this.#given.set(id, giving);
    try {
      await this.#writes.upsert(draft);
    } catch (error) {
      // What was refused was not given.
      if (given === undefined && this.#given.get(id) === giving) this.#given.delete(id);
      throw error;
    }
    return this.get({ id });
  }

  /** Stops decisions; jobs already created go on. */
  async pause(reference: ScheduleReference, options?: SchedulePauseOptions): Promise<Schedule> {
    const { note: given, until } = readOptions(options, 'pause()', pauseNames);
    const note = readNote(given);
    return this.#change(
      reference,
      ({ input, parsed }) => {
        const untilAt = until === undefined ? null : readUntil(until, input.now, parsed.rule.timezone);
        const request = { note, untilAt, by: this.#deps.actor() };
        const plan =
          parsed.unreadable === null ? planPause(input, request) : planPauseUnreadable(input, request);
        return { action: 'pause', plan, note, result: null };
      },
      { unread: true },
    );
  }

  /** Goes on, and decides in one step what fell in the pause, by `onResume`. Throws `schedule_disabled` for one that is not declared. */
  async resume(reference: ScheduleReference, options?: { note?: string }): Promise<Schedule> {
    const note = readNote(readOptions(options ?? {}, 'resume()', noteNames).note);
    return this.#change(
      reference,
      ({ input, parsed, record }) => {
        const { pause } = parsed.state;
        if (pause === null) return null;
        if (pause.cause === 'disabled') throw isDisabled(record, pause.note);
        const plan = parsed.unreadable === null ? planResume(input) : planResumeUnreadable(input);
        return { action: 'resume', plan, note, result: null };
      },
      { unread: true },
    );
  }

  /** One run now; also while paused, and whatever `exclude` says. Obeys `overlap` unless told `allow`. */
  async trigger(reference: ScheduleReference, options?: TriggerOptions): Promise<TriggerResult> {
    const { allow = false, input: own, note: givenNote } = readOptions(options, 'trigger()', triggerNames);
    const note = readNote(givenNote);
    const allows = readFlag(allow, 'allow');
    const { id } = (await this.#finder.find(reference)).record;
    const outcome = await this.#writes.change(id, async ({ input, parsed }) => {
      const jobInput = own === undefined ? undefined : await this.#jobInput(parsed.spec, own);
      const { plan, outcome: result } = planTrigger(input, {
        allow: allows,
        hasOwnInput: jobInput !== undefined && jobInput !== parsed.spec.job.input,
      });
      return { action: 'trigger', plan, note, result, ...(jobInput === undefined ? {} : { jobInput }) };
    });
    if (outcome === null) throw missingSchedule(textOf(reference));
    if (outcome.kind === 'skipped') return { result: 'skipped', job: null, reason: outcome.reason };
    const jobId = outcome.kind === 'created' ? outcome.run.id : outcome.into;
    return { result: outcome.kind, job: this.#deps.handle(jobId), reason: null };
  }

  /** Names the next slot to be skipped. Asking twice names it once. */
  async skipNext(
    reference: ScheduleReference,
    options?: { note?: string },
  ): Promise<{ slot: Date | null; schedule: Schedule }> {
    const note = readNote(readOptions(options ?? {}, 'skipNext()', noteNames).note);
    let slotAt: number | null = null;
    const schedule = await this.#change(reference, ({ input }) => {
      const skip = planSkipNext(input);
      slotAt = skip.slotAt;
      return { action: 'skip-next', plan: skip.plan, note, result: null };
    });
    return { slot: slotAt === null ? null : new Date(slotAt), schedule };
  }

  /** Creates runs for slots of the past that have no COMPLETED one. Decisions are never changed. */
  async backfill(reference: ScheduleReference, options: BackfillOptions): Promise<BackfillResult> {
    const given = readOptions(options, 'backfill()', backfillNames);
    if (given.from === undefined) refuseOption('from', given.from, 'to be the first instant of the range');
    const note = readNote(given.note);
    const dryRun = given.dryRun === undefined ? false : readFlag(given.dryRun, 'dryRun');
    const { id } = (await this.#finder.find(reference)).record;
    const planOf = async (loaded: Loaded): Promise<BackfillPlan> => {
      const { timezone } = loaded.parsed.rule;
      const fromAt = readMoment(given.from, 'from', timezone);
      const toAt = given.to === undefined ? loaded.now : readMoment(given.to, 'to', timezone);
      if (toAt < fromAt) refuseOption('to', new Date(toAt).toISOString(), 'not to be before "from"');
      const request = {
        fromAt,
        toAt,
        order:
          given.order === undefined
            ? ('oldest' as const)
            : readWord(given.order, 'order', ['oldest', 'newest']),
        concurrency:
          given.concurrency === undefined ? 1 : readWholeNumber(given.concurrency, 'concurrency', 1, 1_000),
        reprocess: given.reprocess === undefined ? false : readFlag(given.reprocess, 'reprocess'),
        allow: given.allow === undefined ? false : readFlag(given.allow, 'allow'),
      };
      return planBackfill(
        loaded.input,
        request,
        await slotRuns(await this.#deps.engine(), id, { fromAt, toAt }),
      );
    };
    if (dryRun) {
      const planned = await planOf(await this.#loadReference(reference));
      return backfillResult(planned, true);
    }
    const planned = await this.#writes.change(id, async (loaded) => {
      const result = await planOf(loaded);
      return { action: 'backfill', plan: result.plan, note, result };
    });
    if (planned === null) throw missingSchedule(textOf(reference));
    return backfillResult(planned, false);
  }

  /**
   * Changes some fields; `null` takes one back to its default. On a declared schedule it is a person's override: it survives deploys
   * and shows as drift until `revert`.
   */
  async edit(
    reference: ScheduleReference,
    changes: ScheduleChanges,
    options?: { note?: string },
  ): Promise<Schedule> {
    const note = readNote(readOptions(options ?? {}, 'edit()', noteNames).note);
    const wanted = readChanges(changes);
    const schedule = await this.#change(reference, async (loaded) => {
      const { parsed, record, now } = loaded;
      const spec = this.#edited(parsed.spec, wanted, { isDeclared: record.app !== null, now, note });
      if ('input' in wanted) await this.#jobInput(spec, wanted.input);
      return isSame(parsed.spec, spec) ? null : wantEdit(loaded, spec, { note });
    });
    this.#given.delete(schedule.id);
    return schedule;
  }

  /** Takes a person's override back: what the code declares rules again. */
  async revert(reference: ScheduleReference, options?: { note?: string }): Promise<Schedule> {
    const note = readNote(readOptions(options ?? {}, 'revert()', noteNames).note);
    return this.#change(reference, (loaded) => {
      const { spec } = loaded.parsed;
      if (spec.override === null) return null;
      const drift = spec.drift?.kind === 'undeclared' ? { ...spec.drift, declared: null } : null;
      const declared = specOf(baseOf(spec), { release: spec.release, override: null, drift });
      return wantEdit(loaded, declared, { action: 'revert', note });
    });
  }

  /** Deletes it: its unstarted jobs are cancelled, running ones finish, the ledger stays. */
  async delete(reference: ScheduleReference, options?: { note?: string }): Promise<void> {
    const note = readNote(readOptions(options ?? {}, 'delete()', noteNames).note);
    const { id } = (await this.#finder.find(reference)).record;
    if (!(await this.#writes.remove(id, note))) throw missingSchedule(textOf(reference));
    this.#given.delete(id);
  }

  // ------------------------------------------------------------------------------------------- declared

  /** What `apply` would do. `declared` left out: what the tasks of this process declare. */
  async diff(declared?: readonly ScheduleDefinition[], options?: ApplyOptions): Promise<ScheduleDiff[]> {
    const { drafts, of, prune } = await this.#declaredSet(declared, options, 'diff()');
    return of.diff(drafts, prune);
  }

  /**
   * Changes the stored schedules of this app to what is declared: adds, edits (the cursor is kept when the rule is the same), and disables
   * what is gone, if this release may. Dynamic schedules are never touched.
   */
  async apply(declared?: readonly ScheduleDefinition[], options?: ApplyOptions): Promise<ScheduleDiff[]> {
    const { drafts, of, prune } = await this.#declaredSet(declared, options, 'apply()');
    return of.apply(drafts, prune);
  }

  /** What the tasks of this process declare, checked, for another process to apply: no store is asked. */
  async declared(): Promise<DeclaredSet> {
    const { app, release, tasks } = this.#deps;
    const schedules = this.#deps.declared();
    await this.#drafts(schedules, app);
    const used = new Set(schedules.map(({ type }) => type));
    return {
      app,
      release,
      schedules: [...schedules],
      tasks: [...used].map((name) => declaredTaskOf(tasks.get(name) as ResolvedTask)),
    };
  }

  // --------------------------------------------------------------------------------------------- inside

  /** What is declared, of which app, and who compares it. */
  async #declaredSet(
    declared: readonly ScheduleDefinition[] | undefined,
    options: ApplyOptions | undefined,
    what: string,
  ): Promise<{ drafts: ScheduleDraft[]; of: DeclaredSchedules; prune: boolean }> {
    const { prune = false, app, release, tasks } = readOptions(options, what, applyNames);
    const isPruning = readFlag(prune, 'prune');
    if (app === undefined && release === undefined && tasks === undefined) {
      return { drafts: await this.#drafts(declared, this.#deps.app), of: this.#declared, prune: isPruning };
    }
    if (declared === undefined) {
      const field = app !== undefined ? 'app' : release !== undefined ? 'release' : 'tasks';
      refuseOption(field, app ?? release, 'to be given with declarations');
    }
    if (tasks !== undefined && !Array.isArray(tasks)) refuseOption('tasks', tasks, 'to be a list of tasks');
    const given = (tasks ?? []).map((task) => resolveTask({ ...task, run: () => {} }, () => null));
    const other = {
      ...this.#deps,
      app: app === undefined ? this.#deps.app : readName(app, 'app'),
      release: release === undefined ? null : readName(release, 'release'),
    };
    const of = new DeclaredSchedules(other, this.#parsed, this.#writes);
    const drafts = await this.#drafts(declared, other.app, new Map(given.map((task) => [task.name, task])));
    return { drafts, of, prune: isPruning };
  }

  async #drafts(
    declared: readonly ScheduleDefinition[] | undefined,
    app: string,
    tasks: ReadonlyMap<string, ResolvedTask> = new Map(),
  ): Promise<ScheduleDraft[]> {
    const drafts = new Map<string, ScheduleDraft>();
    for (const definition of declared ?? this.#deps.declared()) {
      const { type, rest } = splitType(definition);
      // What the declaring code says goes before what stands under the name here.
      const draft = await this.#read(tasks.get(type) ?? type, rest, app);
      const id = scheduleIdOf(draft);
      if (drafts.has(id)) throw declaredTwice(draft);
      drafts.set(id, draft);
    }
    return [...drafts.values()];
  }

  async #read(
    task: string | ResolvedTask,
    definition: EveryDefinition,
    app: string | null,
  ): Promise<ScheduleDraft> {
    const { clock, inputBytesMax } = this.#deps;
    const resolved = typeof task === 'string' ? this.#task(task) : task;
    return readDefinition(definition, { task: resolved, app, now: clock.now(), inputBytesMax });
  }

  /** The task of this name; one that is not defined here has the defaults. */
  #task(name: string): ResolvedTask {
    const known = this.#deps.tasks.get(name);
    return known ?? resolveTask({ name: readName(name, 'type'), run: () => {} }, () => null);
  }

  /** Checks an input against the task's schema, where the task is defined here. */
  async #jobInput(spec: ScheduleSpec, input: unknown): Promise<string> {
    const text = toJson(input, { what: 'input', maxBytes: this.#deps.inputBytesMax });
    const schema = this.#deps.tasks.get(spec.job.type)?.input ?? null;
    if (schema !== null) {
      const checked = validateStoredInput(schema, JSON.parse(text), spec.job.type);
      if (isPromise(checked)) await checked;
    }
    return text;
  }

  #edited(
    spec: ScheduleSpec,
    wanted: Record<string, unknown>,
    { isDeclared, now, note }: { isDeclared: boolean; now: number; note: string | null },
  ): ScheduleSpec {
    if (!isDeclared) return { ...spec, ...withChanges(spec, wanted, now) };
    const base = baseOf(spec);
    const changes = { ...spec.override?.changes, ...wanted };
    if (Object.keys(changes).length === 0) return spec;
    return {
      ...specOf(withChanges(base, changes, now), {
        release: spec.release,
        override: { changes, by: this.#deps.actor(), at: now, note },
        drift: {
          kind: spec.drift?.kind ?? 'overridden',
          declared: { ...declaredPart(base) },
        },
      }),
    };
  }

  async #change(
    reference: ScheduleReference,
    plan: Parameters<ScheduleWrites['change']>[1],
    options?: { unread: boolean },
  ): Promise<Schedule> {
    const { id } = (await this.#finder.find(reference)).record;
    await this.#writes.change(id, plan, options);
    return this.get({ id });
  }

  async #loadReference(reference: ScheduleReference): Promise<Loaded> {
    const { record } = await this.#finder.find(reference);
    const loaded = await this.#writes.load(record.id);
    if (loaded === null) throw missingSchedule(textOf(reference));
    return loaded;
  }

  /** Those that this version of Duly understands at all. One that it does not is told, and does not hide the others. */
  #readable(records: readonly ScheduleRecord[]): ScheduleRecord[] {
    return records.filter((record) => {
      try {
        readSchedule(this.#parsed, record);
        return true;
      } catch (error) {
        this.#deps.onError(error, `reading schedule "${record.name}"`);
        return false;
      }
    });
  }

  #matches(
    record: ScheduleRecord,
    { type, sought }: { type: string | undefined; sought: string | null },
  ): boolean {
    if (type === undefined && sought === null) return true;
    const { spec, rule, unreadable } = readSchedule(this.#parsed, record);
    if (type !== undefined && spec.job.type !== type) return false;
    if (sought === null) return true;
    const has = (text: string): boolean => text.toLowerCase().includes(sought);
    if (has(record.name) || has(spec.job.type) || has(record.tenant ?? '')) return true;
    return unreadable === null && has(explainRule(rule));
  }

  async #views(
    records: readonly ScheduleRecord[],
    now: number,
    deleted?: ScheduleDeletion,
    userTransaction?: UserTransaction,
  ): Promise<Schedule[]> {
    const parsed = records.map((record) => readSchedule(this.#parsed, record));
    const ids = [
      ...new Set(parsed.flatMap(({ state }) => (state.lastFired === null ? [] : [state.lastFired.runId]))),
    ];
    const jobs = new Map<string, JobRecord>();
    if (ids.length > 0) {
      const engine = userTransaction ?? (await this.#deps.engine());
      for (const job of (await engine.get({ ids })).jobs) if (job !== null) jobs.set(job.id, job);
    }
    return records.map((record, i) => {
      const one = parsed[i] as (typeof parsed)[number];
      const last = one.state.lastFired === null ? null : (jobs.get(one.state.lastFired.runId) ?? null);
      return toSchedule(record, one, last, now, deleted);
    });
  }
}

/** Checks what a task declares, when it is defined. Throws what a wrong definition throws; the input is checked when it is applied. */
export function checkDeclared(
  task: ResolvedTask,
  definitions: readonly (EveryDefinition | string)[],
  { app, now, inputBytesMax }: { app: string; now: number; inputBytesMax: number },
): ScheduleIdentity[] {
  return definitions.map((definition) => readDraft(definition, { task, app, now, inputBytesMax }));
}

/** Who or what cancelled runs, by their ids. */
async function cancelsOf(engine: Engine, runs: readonly JobRecord[]): Promise<Map<string, AuditRow>> {
  const found = new Map<string, AuditRow>();
  for (const { id, status } of runs) {
    if (status !== 'CANCELLED') continue;
    const { rows } = await engine.audit({ subject: `job:${id}`, before: null, limit: 20 });
    const row = rows.find(({ action }) => action === 'cancel' || action === 'terminate');
    if (row !== undefined) found.set(id, row);
  }
  return found;
}

function decidedFirst({ decidedAt }: { decidedAt: number }): number {
  return decidedAt;
}

function splitType(definition: ScheduleDefinition): { type: string; rest: EveryDefinition } {
  if (typeof definition !== 'object' || definition === null) {
    refuseOption('schedule', definition, 'to be an object with "type" and a rule');
  }
  const { type, ...rest } = definition;
  return { type: readName(type, 'type'), rest };
}

/** A cursor is what the store gave: the name and the id of the last schedule of a page. */
function readCursor(cursor: unknown): string {
  try {
    const parts = JSON.parse(String(cursor)) as unknown;
    if (Array.isArray(parts) && parts.length === 2) {
      for (const part of parts) readName(part, 'cursor');
      return String(cursor);
    }
  } catch {
    // Neither JSON nor names: refused below.
  }
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor that the list of schedules gave, got ${shown(cursor)}.`,
    hint: 'Leave the cursor out to begin from the first.',
  });
}
