import { readFlag, readOptions, readWholeNumber, refuseOption } from '../base/option-reader.ts';
import type { Engine, ScheduleRecord, UserTransaction } from '../contract/engine.ts';
import { readNote } from '../jobs/job-reference.ts';
import { readUntil } from '../jobs/pauses.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { readScheduleStats, type ScheduleStats, type ScheduleStatsOptions } from '../operations/stats.ts';
import { backfillResult, readBackfill, slotRuns } from './backfill.ts';
import { readMoment } from './calendar/moment.ts';
import { DeclaredSchedules } from './declared.ts';
import type { EveryDefinition, ScheduleDefinition, ScheduleDraft } from './definition/definition.ts';
import { editedSpec, revertedSpec } from './definition/edited-spec.ts';
import { scheduleIdOf } from './definition/identity.ts';
import { readChanges, type ScheduleChanges } from './definition/override.ts';
import { createParsedSchedules, type ParsedSchedules } from './definition/schedule-cache.ts';
import { ScheduleFinder, textOf } from './finder.ts';
import { readLedger } from './ledger.ts';
import {
  type BackfillPlan,
  planBackfill,
  planPause,
  planResume,
  planSkipNext,
  planTrigger,
} from './planner/plan-operations.ts';
import { planPauseUnreadable, planResumeUnreadable } from './planner/plan-unreadable.ts';
import { readSlotWhy } from './read-slot-why.ts';
import { readJobInput, ScheduleDrafts, splitType } from './schedule-drafts.ts';
import { isDisabled, missingSchedule, secondRule, secondType } from './schedule-errors.ts';
import { listSchedules } from './schedule-list.ts';
import type { Loaded } from './schedule-loader.ts';
import {
  type ApplyOptions,
  type BackfillOptions,
  type BackfillResult,
  backfillNames,
  type DeclaredSet,
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
  type TriggerOptions,
  type TriggerResult,
  triggerNames,
} from './schedule-options.ts';
import { previewSchedule } from './schedule-preview.ts';
import { createScheduleReader, readSchedules, type StoredSchedule } from './schedule-reader.ts';
import type { LedgerSlot, Schedule } from './schedule-view.ts';
import { readViews } from './schedule-views.ts';
import type { SlotWhy } from './schedule-why.ts';
import type { SchedulesDeps } from './schedules-deps.ts';
import { createScheduleWrites, isSame, type ScheduleWrites, wantEdit } from './writes.ts';

/** Reads and changes the schedules of a store. Everything that changes one is recorded in the audit. */
export class Schedules {
  readonly #deps: SchedulesDeps;
  readonly #parsed: ParsedSchedules = createParsedSchedules();
  readonly #writes: ScheduleWrites;
  readonly #finder: ScheduleFinder;
  readonly #declared: DeclaredSchedules;
  readonly #drafts: ScheduleDrafts;
  readonly #source: { engine(): Promise<Engine>; parsed: ParsedSchedules };
  /** The rules that this process gave by `every()`, and of which type, by schedule id. */
  readonly #given = new Map<string, { rule: string; type: string }>();

  /** Made by `new Duly`. */
  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
    this.#source = { engine: () => deps.engine(), parsed: this.#parsed };
    const { clock, random } = deps;
    const read = createScheduleReader({ engine: () => deps.engine(), clock, random });
    this.#writes = createScheduleWrites({ ...deps, read, parsed: this.#parsed });
    this.#finder = new ScheduleFinder({ engine: () => deps.engine(), read, app: deps.app }, this.#parsed);
    this.#declared = new DeclaredSchedules(deps, this.#parsed, this.#writes);
    this.#drafts = new ScheduleDrafts(deps);
  }

  // -------------------------------------------------------------------------------------------- reading

  /** A page of the schedules that match, by name, or by when they are due. */
  list(filter?: SchedulesFilter): Promise<SchedulePage> {
    return listSchedules(
      { ...this.#source, onError: (error, doing) => this.#deps.onError(error, doing) },
      filter,
    );
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
    const [schedule] = await readViews(this.#source, [found.record], found.now, found.deleted);
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
    return previewSchedule(await this.#loadReference(reference), { after, wanted });
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
    return readSlotWhy(await this.#deps.engine(), loaded, slot);
  }

  // ------------------------------------------------------------------------------------------- changing

  /** Creates a dynamic schedule, or edits the one of this name to be so. Does nothing when it is so already. */
  async put(definition: ScheduleDefinition): Promise<Schedule> {
    const { type, rest } = splitType(definition);
    const draft = await this.#drafts.read(type, rest, null);
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
    const draft = await this.#drafts.read(task, definition, null);
    const id = scheduleIdOf(draft);
    const given = this.#given.get(id);
    const giving = { rule: JSON.stringify(draft.rule), type: task.name };
    if (given !== undefined && given.type !== giving.type) throw secondType(draft, given.type);
    if (given !== undefined && given.rule !== giving.rule) throw secondRule(draft);
    if (userTransaction !== undefined) {
      const read = async (one: string) => (await readSchedules(userTransaction, [one]))[0] as StoredSchedule;
      // Not noted as given: it may be rolled back.
      await createScheduleWrites({
        ...this.#deps,
        engine: async () => userTransaction,
        read,
        parsed: this.#parsed,
      }).upsert(draft);
      const { record, now } = await read(id);
      const source = { engine: async () => userTransaction, parsed: this.#parsed };
      const [schedule] = await readViews(source, [record as ScheduleRecord], now);
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
      const jobInput = own === undefined ? undefined : await readJobInput(this.#deps, parsed.spec, own);
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
      const request = readBackfill(given, loaded);
      return planBackfill(loaded.input, request, await slotRuns(await this.#deps.engine(), id, request));
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
      const isDeclared = record.app !== null;
      const spec = editedSpec(parsed.spec, wanted, { isDeclared, by: this.#deps.actor(), now, note });
      if ('input' in wanted) await readJobInput(this.#deps, spec, wanted.input);
      return isSame(parsed.spec, spec) ? null : wantEdit(loaded, spec, { note });
    });
    this.#given.delete(schedule.id);
    return schedule;
  }

  /** Takes a person's override back: what the code declares rules again. */
  async revert(reference: ScheduleReference, options?: { note?: string }): Promise<Schedule> {
    const note = readNote(readOptions(options ?? {}, 'revert()', noteNames).note);
    return this.#change(reference, (loaded) => {
      const declared = revertedSpec(loaded.parsed.spec);
      return declared === null ? null : wantEdit(loaded, declared, { action: 'revert', note });
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
    const { app, release } = this.#deps;
    return { app, release, ...(await this.#drafts.own()) };
  }

  // --------------------------------------------------------------------------------------------- inside

  /** What is declared, of which app, and who compares it. */
  async #declaredSet(
    declared: readonly ScheduleDefinition[] | undefined,
    options: ApplyOptions | undefined,
    what: string,
  ): Promise<{ drafts: ScheduleDraft[]; of: DeclaredSchedules; prune: boolean }> {
    const { drafts, declarer, prune } = await this.#drafts.set(declared, options, what);
    if (declarer === null) return { drafts, of: this.#declared, prune };
    const of = new DeclaredSchedules({ ...this.#deps, ...declarer }, this.#parsed, this.#writes);
    return { drafts, of, prune };
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
}
