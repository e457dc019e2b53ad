import type { Clock } from './clock.ts';
import type { Actor, Engine, FoldedSlots, JobRecord, ScheduleRecord } from './engine.ts';
import { dulyError } from './errors.ts';
import type { Ids } from './ids.ts';
import { isTerminal } from './job.ts';
import type { JobHandle } from './job-handle.ts';
import { readNote } from './jobs.ts';
import { toJson } from './json.ts';
import { nodeSilentMs } from './maintenance/beat-node.ts';
import { nearest } from './nearest.ts';
import {
  type OptionNames,
  readFlag,
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
} from './option-reader.ts';
import { baseOf, type DeclaredStep, declaredPart, planDeclared, specOf } from './schedule/declared.ts';
import {
  type EveryDefinition,
  readDefinition,
  readDraft,
  type ScheduleDefinition,
  type ScheduleDraft,
} from './schedule/definition.ts';
import { nameOf, type ScheduleIdentity, scheduleIdOf } from './schedule/identity.ts';
import { readMoment, readWallMoment } from './schedule/moment.ts';
import { readChanges, type ScheduleChanges, withChanges } from './schedule/override.ts';
import {
  type BackfillPlan,
  planBackfill,
  planEnable,
  planPause,
  planResume,
  planSkipNext,
  planTrigger,
  type SlotRuns,
} from './schedule/plan-operations.ts';
import { preview } from './schedule/preview.ts';
import type { ScheduleSpec } from './schedule/schedule-spec.ts';
import { type Deleted, type Kept, readDeleted } from './schedule-deleted.ts';
import { backfillsOf, readLedger } from './schedule-ledger.ts';
import {
  type LedgerSlot,
  type Schedule,
  type ScheduleDeletion,
  type ScheduleStatus,
  toSchedule,
} from './schedule-view.ts';
import { explainSlot, type MissingTime, type SlotWhy } from './schedule-why.ts';
import {
  createScheduleWrites,
  isSame,
  type Loaded,
  missingSchedule,
  type ScheduleWrites,
  type Wanted,
  wantEdit,
  wasDeleted,
} from './schedule-writes.ts';
import {
  createParsedSchedules,
  type ParsedSchedule,
  type ParsedSchedules,
} from './scheduler/parsed-schedules.ts';
import { isPromise, validateStoredInput } from './stored-input.ts';
import type { ResolvedTask } from './task.ts';
import { resolveTask } from './task-options.ts';

/**
 * Names a schedule: by its name where only one has it, by its id, or by all that names it. `app: null` means one that is not declared;
 * left out, any.
 */
export type ScheduleReference =
  | string
  | { id: string }
  | { name: string; tenant?: string | null; app?: string | null };

/** Which schedules. */
export interface SchedulesFilter {
  /** Declared by this app; null: dynamic ones. */
  app?: string | null;
  tenant?: string | null;
  name?: string;
  task?: string;
  status?: Exclude<ScheduleStatus, 'deleted'>;
  /** 1 to 1000, default 100. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** A page of schedules, ordered by name. */
export interface SchedulePage {
  schedules: Schedule[];
  /** null: that was the last page. */
  nextCursor: string | null;
}

/** How to pause a schedule. */
export interface SchedulePauseOptions {
  note?: string;
  /** When it ends by itself; left out, it is ended by `resume`. */
  until?: Date | number | string;
}

/** How to trigger a schedule. */
export interface TriggerOptions {
  /** Run beside an unfinished run instead of obeying `overlap`. */
  allow?: boolean;
  /** In place of the schedule's own. */
  input?: unknown;
  note?: string;
}

/** What became of a trigger. */
export interface TriggerResult {
  /** `made`: a job was made, perhaps behind another one. `merged`: into one that waits. `skipped`: by the overlap policy. */
  result: 'made' | 'merged' | 'skipped';
  /** The job that was made or that stands for it; null when skipped. */
  job: JobHandle | null;
  reason: string | null;
}

/** How to backfill a schedule. */
export interface BackfillOptions {
  /** The first instant; a date or wall time means the schedule's zone. */
  from: Date | number | string;
  /** The last instant, included; default now. */
  to?: Date | number | string;
  /** Default `oldest` first. */
  order?: 'oldest' | 'newest';
  /** How many of its runs run at a time, default 1. */
  concurrency?: number;
  /** Also slots that have a COMPLETED run. */
  reprocess?: boolean;
  /** Run beside other runs of the schedule instead of behind them. */
  allow?: boolean;
  /** Only say what would be done. */
  dryRun?: boolean;
  note?: string;
}

/** What a backfill made, or would make. */
export interface BackfillResult {
  /** The slots that get a run, in the order of their runs. */
  slots: Date[];
  /** Ids of the jobs, one for each slot; empty after a dry run. */
  jobs: string[];
  /** Slots of the range that have a COMPLETED run already. */
  completedCount: number;
  /** Slots of the range whose run is not over yet. */
  unfinishedCount: number;
  dryRun: boolean;
}

/** Which part of the ledger. */
export interface SlotsOptions {
  /** The first slot; a date or wall time means the schedule's zone. */
  from?: Date | number | string;
  /** Slots before this instant. */
  to?: Date | number | string;
  /** 1 to 1000, default 100. */
  limit?: number;
}

/** One schedule in a comparison of what is declared with what is stored. */
export interface ScheduleDiff {
  id: string;
  name: string;
  tenant: string | null;
  /**
   * `keep`: left to the release that declared it, a newer one, or any where this process has none. `disable`: no longer declared.
   * `drift`: not declared here, and only shown. `remove`: no longer declared, with `prune`.
   */
  action: 'add' | 'edit' | 'enable' | 'none' | 'keep' | 'disable' | 'drift' | 'remove';
  /** Fields that differ, as stored and as declared. */
  fields: { field: string; stored: unknown; declared: unknown }[];
  note: string | null;
}

/** How to apply declarations. */
export interface ApplyOptions {
  /** Remove what is not declared, instead of disabling or only showing it; never what a higher release declared. */
  prune?: boolean;
}

/** What the schedules of one Duly stand on. */
export interface SchedulesParts {
  engine(): Promise<Engine>;
  clock: Clock;
  actor: Actor;
  app: string;
  release: string | null;
  node: string;
  ids: Ids;
  inputBytesMax: number;
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** What the tasks of this process declare. */
  declared(): ScheduleDefinition[];
  handle(id: string): JobHandle;
  /** Told of what failed without stopping a call. */
  onError(error: unknown, doing: string): void;
}

type ReadSchedule = ParsedSchedule & { record: ScheduleRecord };

const filterNames: OptionNames<SchedulesFilter> = {
  app: true,
  tenant: true,
  name: true,
  task: true,
  status: true,
  limit: true,
  cursor: true,
};
const pauseNames: OptionNames<SchedulePauseOptions> = { note: true, until: true };
const triggerNames: OptionNames<TriggerOptions> = { allow: true, input: true, note: true };
const backfillNames: OptionNames<BackfillOptions> = {
  from: true,
  to: true,
  order: true,
  concurrency: true,
  reprocess: true,
  allow: true,
  dryRun: true,
  note: true,
};
const slotsNames: OptionNames<SlotsOptions> = { from: true, to: true, limit: true };
const previewNames = { after: true, count: true } as const;
const getNames = { deleted: true } as const;
const noteNames = { note: true } as const;
const applyNames: OptionNames<ApplyOptions> = { prune: true };
const statuses: readonly NonNullable<SchedulesFilter['status']>[] = ['active', 'paused', 'disabled', 'ended'];
const pageSize = 500;
const applyCountMax = 20;

/** Reads and changes the schedules of a store. Everything that changes one is recorded in the audit. */
export class Schedules {
  readonly #parts: SchedulesParts;
  readonly #parsed: ParsedSchedules = createParsedSchedules();
  readonly #writes: ScheduleWrites;
  /** The rules that this process gave by `every()`, by schedule id. */
  readonly #given = new Map<string, string>();

  /** Made by `new Duly`. */
  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    this.#writes = createScheduleWrites({ ...parts, parsed: this.#parsed });
  }

  // -------------------------------------------------------------------------------------------- reading

  /** A page of the schedules that match, ordered by name. */
  async list(filter?: SchedulesFilter): Promise<SchedulePage> {
    const {
      task,
      status,
      limit = 100,
      cursor,
      ...rest
    } = readOptions(filter, 'schedules.list()', filterNames);
    if (status !== undefined) readWord(status, 'status', statuses);
    const wanted = readWholeNumber(limit, 'limit', 1, 1_000);
    const engine = await this.#parts.engine();
    const found: Schedule[] = [];
    let nextCursor: string | null = cursor ?? null;
    do {
      // Task and status are not the store's to know: pages are read until enough of them match.
      const reply: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
        filter: readStoreFilter(rest),
        cursor: nextCursor,
        limit: wanted - found.length,
      });
      // One that cannot be read here is told, and does not hide the others.
      const readable = this.#readStored(reply.schedules).stored.map(({ record }) => record);
      const schedules = await this.#views(readable, reply.now);
      found.push(
        ...schedules.filter(
          (one) =>
            (task === undefined || one.task === task) && (status === undefined || one.status === status),
        ),
      );
      nextCursor = reply.nextCursor;
    } while (nextCursor !== null && found.length < wanted);
    return { schedules: found, nextCursor };
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
      ? await this.#findKept(reference)
      : await this.#find(reference);
    const [schedule] = await this.#views([found.record], found.now, found.deleted);
    return schedule as Schedule;
  }

  /** The next slots that should fire. A fixed delay is shown as if its runs took no time. */
  async preview(
    reference: ScheduleReference,
    options?: { after?: Date | number | string; count?: number },
  ): Promise<Date[]> {
    const { after, count = 10 } = readOptions(options ?? {}, 'preview()', previewNames);
    const wanted = readWholeNumber(count, 'count', 1, 10_000);
    const { parsed, now } = await this.#loadReference(reference);
    const { rule, planRule, spec, state } = parsed;
    const afterAt =
      after === undefined ? Math.max(now, state.cursorAt) : readMoment(after, 'after', rule.timezone);
    if (planRule.kind === 'delay') return preview(rule, { after: afterAt, count: wanted });
    const { endAt, maxRuns } = spec.policies;
    const left = maxRuns === null ? wanted : Math.min(wanted, Math.max(0, maxRuns - state.firedCount));
    const slots: Date[] = [];
    for (
      let at = planRule.open.next(afterAt);
      at !== null && slots.length < left;
      at = planRule.open.next(at)
    ) {
      if (endAt !== null && at > endAt) break;
      if (!state.skips.includes(at)) slots.push(new Date(at));
    }
    return slots;
  }

  /** The ledger, newest first: what became of each slot, and its runs. It is kept when the schedule is deleted. */
  async slots(reference: ScheduleReference, options?: SlotsOptions): Promise<LedgerSlot[]> {
    const { from, to, limit = 100 } = readOptions(options, 'slots()', slotsNames);
    const loaded = await this.#loadKept(reference);
    const { timezone } = loaded.parsed.rule;
    return readLedger(await this.#parts.engine(), loaded, {
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
    const loaded = await this.#loadKept(reference);
    const engine = await this.#parts.engine();
    const scheduleId = loaded.record.id;
    const { askedAt, missing } = readSlot(slot, loaded);
    const isDelay = loaded.parsed.planRule.kind === 'delay';
    // The slots of a fixed delay have milliseconds that nobody writes.
    const beforeAt = isDelay ? askedAt + 1_000 : askedAt + 1;
    const { slots, folded } = await engine.slots({ scheduleId, fromAt: askedAt, beforeAt, limit: 10 });
    const isOf = (one: { fromAt: number; toAt: number }): boolean =>
      isDelay || isSlotOf(one, askedAt, loaded);
    const row = slots.find(isOf) ?? null;
    const fold = row === null ? (folded.find(isOf) ?? null) : null;
    const { nextSlotAt } = loaded.parsed.state;
    const isNext = isDelay && nextSlotAt !== null && nextSlotAt >= askedAt && nextSlotAt < beforeAt;
    const slotAt = isDelay ? (row?.fromAt ?? (isNext ? nextSlotAt : askedAt)) : askedAt;
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
    return explainSlot({ loaded, slotAt, missing, row, fold, runs, skippedBy: skippedBy ?? null });
  }

  // ------------------------------------------------------------------------------------------- changing

  /** Makes a dynamic schedule, or edits the one of this name to be so. Does nothing when it is so already. */
  async put(definition: ScheduleDefinition): Promise<Schedule> {
    const { task, rest } = splitTask(definition);
    const draft = await this.#read(task, rest, null);
    await this.#writes.upsert(draft);
    return this.get({ id: scheduleIdOf(draft) });
  }

  /** What `task.every` does: the same, and one process gives a schedule one rule only (`schedule_conflict`). */
  async every(task: ResolvedTask, definition: EveryDefinition): Promise<Schedule> {
    const draft = await this.#read(task, definition, null);
    const id = scheduleIdOf(draft);
    const rule = JSON.stringify(draft.rule);
    const given = this.#given.get(id);
    if (given !== undefined && given !== rule) throw secondRule(draft);
    this.#given.set(id, rule);
    await this.#writes.upsert(draft);
    return this.get({ id });
  }

  /** Stops decisions; jobs already made go on. */
  async pause(reference: ScheduleReference, options?: SchedulePauseOptions): Promise<Schedule> {
    const { note: given, until } = readOptions(options, 'pause()', pauseNames);
    const note = readNote(given);
    return this.#change(reference, ({ input, parsed }) => {
      const untilAt = until === undefined ? null : readMoment(until, 'until', parsed.rule.timezone);
      const plan = planPause(input, { note, untilAt, by: this.#parts.actor });
      return { action: 'pause', plan, note, result: null };
    });
  }

  /** Goes on, and decides in one step what fell in the pause, by `onResume`. Throws `schedule_disabled` for one that is not declared. */
  async resume(reference: ScheduleReference, options?: { note?: string }): Promise<Schedule> {
    const note = readNote(readOptions(options ?? {}, 'resume()', noteNames).note);
    return this.#change(reference, ({ input, parsed, record }) => {
      const { pause } = parsed.state;
      if (pause === null) return null;
      if (pause.cause === 'disabled') throw isDisabled(record, pause.note);
      return { action: 'resume', plan: planResume(input), note, result: null };
    });
  }

  /** One run now; also while paused, and whatever `exclude` says. Obeys `overlap` unless told `allow`. */
  async trigger(reference: ScheduleReference, options?: TriggerOptions): Promise<TriggerResult> {
    const { allow = false, input: own, note: givenNote } = readOptions(options, 'trigger()', triggerNames);
    const note = readNote(givenNote);
    const allows = readFlag(allow, 'allow');
    const { id } = (await this.#find(reference)).record;
    const outcome = await this.#writes.change(id, async ({ input, parsed }) => {
      const jobInput = own === undefined ? undefined : await this.#jobInput(parsed.spec, own);
      const { plan, outcome: result } = planTrigger(input, { allow: allows });
      return { action: 'trigger', plan, note, result, ...(jobInput === undefined ? {} : { jobInput }) };
    });
    if (outcome === null) throw missingSchedule(textOf(reference));
    if (outcome.kind === 'skipped') return { result: 'skipped', job: null, reason: outcome.reason };
    const jobId = outcome.kind === 'made' ? outcome.run.id : outcome.into;
    return { result: outcome.kind, job: this.#parts.handle(jobId), reason: null };
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

  /** Makes runs for slots of the past that have no COMPLETED one. Decisions are never changed. */
  async backfill(reference: ScheduleReference, options: BackfillOptions): Promise<BackfillResult> {
    const given = readOptions(options, 'backfill()', backfillNames);
    if (given.from === undefined) refuseOption('from', given.from, 'to be the first instant of the range');
    const note = readNote(given.note);
    const dryRun = given.dryRun === undefined ? false : readFlag(given.dryRun, 'dryRun');
    const { id } = (await this.#find(reference)).record;
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
      return planBackfill(loaded.input, request, await this.#slotRuns(loaded, fromAt, toAt));
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
      const declared = specOf(baseOf(spec), { release: spec.release, override: null, drift: null });
      return wantEdit(loaded, declared, { action: 'revert', note });
    });
  }

  /** Deletes it: its unstarted jobs are cancelled, running ones finish, the ledger stays. */
  async delete(reference: ScheduleReference, options?: { note?: string }): Promise<void> {
    const note = readNote(readOptions(options ?? {}, 'delete()', noteNames).note);
    const { id } = (await this.#find(reference)).record;
    if (!(await this.#writes.remove(id, note))) throw missingSchedule(textOf(reference));
    this.#given.delete(id);
  }

  // ------------------------------------------------------------------------------------------- declared

  /** What `apply` would do. `declared` left out: what the tasks of this process declare. */
  async diff(declared?: readonly ScheduleDefinition[], options?: ApplyOptions): Promise<ScheduleDiff[]> {
    const { prune = false } = readOptions(options, 'diff()', applyNames);
    const drafts = await this.#drafts(declared);
    return (await this.#steps(drafts, readFlag(prune, 'prune'))).map(toDiff);
  }

  /**
   * Makes the stored schedules of this app what is declared: adds, edits (the cursor is kept when the rule is the same), and disables
   * what is gone, if this release may. Dynamic schedules are never touched.
   */
  async apply(declared?: readonly ScheduleDefinition[], options?: ApplyOptions): Promise<ScheduleDiff[]> {
    const { prune = false } = readOptions(options, 'apply()', applyNames);
    const drafts = await this.#drafts(declared);
    const done = new Map<string, ScheduleDiff>();
    for (let tried = 0; tried < applyCountMax; tried++) {
      const steps = await this.#steps(drafts, readFlag(prune, 'prune'));
      let isDone = true;
      for (const step of steps) {
        const changed = await this.#apply(step);
        // Several processes start at the same moment: whoever comes second looks again and finds it done.
        if (changed === 'conflict') isDone = false;
        else if (changed === 'changed' || !done.has(step.id)) done.set(step.id, toDiff(step));
        // A node that declares it may have come up while it was disabled: what the others declare is looked at once more.
        if (changed === 'changed' && step.step === 'disable') isDone = false;
      }
      if (isDone) break;
    }
    return [...done.values()];
  }

  // --------------------------------------------------------------------------------------------- inside

  async #steps(drafts: ScheduleDraft[], prune: boolean): Promise<DeclaredStep[]> {
    const { app, release, node } = this.#parts;
    const engine = await this.#parts.engine();
    const records: ScheduleRecord[] = [];
    let cursor: string | null = null;
    let now = 0;
    do {
      const page: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
        filter: { app },
        cursor,
        limit: pageSize,
      });
      records.push(...page.schedules);
      cursor = page.nextCursor;
      now = page.now;
    } while (cursor !== null);
    const { nodes } = await engine.nodes({
      beat: null,
      leave: null,
      drain: null,
      forgetAfterMs: nodeSilentMs,
    });
    const others = nodes.filter((one) => one.app === app && one.id !== node);
    const { stored, unreadable } = this.#readStored(records);
    return planDeclared({
      release,
      declared: drafts.filter((draft) => !unreadable.has(scheduleIdOf(draft))),
      stored,
      elsewhere: others,
      prune,
      now,
    });
  }

  /** A schedule that cannot be read here (a newer release wrote it, its library is missing) is left alone, and must not keep a node from starting. */
  #readStored(records: readonly ScheduleRecord[]): { stored: ReadSchedule[]; unreadable: Set<string> } {
    const stored: ReadSchedule[] = [];
    const unreadable = new Set<string>();
    for (const record of records) {
      try {
        stored.push({ record, ...this.#parsed.parse(record) });
      } catch (error) {
        unreadable.add(record.id);
        this.#parts.onError(error, `reading schedule "${record.name}"`);
      }
    }
    return { stored, unreadable };
  }

  async #apply(step: DeclaredStep): Promise<'changed' | 'unchanged' | 'conflict'> {
    const { actor, app } = this.#parts;
    const { id, name, tenant, note } = step;
    switch (step.step) {
      case 'none':
      case 'keep':
        return 'unchanged';
      case 'add':
        return (await this.#writes.create({ app, tenant, name }, step.spec)) ? 'changed' : 'conflict';
      case 'remove':
        return (await this.#writes.remove(id, note, (spec) => isSame(spec, step.from)))
          ? 'changed'
          : 'conflict';
      case 'edit': {
        const isDone = await this.#replace(step, (loaded) =>
          isSame(step.from, step.spec) ? null : wantEdit(loaded, step.spec, { note }),
        );
        if (isDone && step.enables) await this.#enable(id);
        return isDone ? 'changed' : 'conflict';
      }
      case 'disable': {
        const isDone = await this.#replace(step, ({ input, parsed }) => {
          if (parsed.state.pause?.cause === 'disabled') return null;
          const plan = planPause(input, { note, untilAt: null, by: actor, cause: 'disabled' });
          return { action: 'disable', plan, spec: step.spec, note, result: 'edited' };
        });
        return isDone ? 'changed' : 'conflict';
      }
      case 'release':
      case 'drift': {
        const isDone = await this.#replace(step, (loaded) =>
          wantEdit(loaded, step.spec, { action: step.step, note }),
        );
        return isDone ? 'changed' : 'conflict';
      }
    }
  }

  /**
   * Writes a step; false: what is stored is no longer what was compared, so that another step may be right. A release that started a
   * moment later than an older one is not overruled by what the older one has read before.
   */
  async #replace(
    { id, from }: { id: string; from: ScheduleSpec },
    want: (loaded: Loaded) => Wanted<'edited'> | null,
  ): Promise<boolean> {
    let isAsCompared = false;
    await this.#writes.change(id, (loaded) => {
      isAsCompared = isSame(loaded.parsed.spec, from);
      return isAsCompared ? want(loaded) : null;
    });
    return isAsCompared;
  }

  async #enable(id: string): Promise<void> {
    await this.#writes.change(id, ({ input, parsed }) =>
      parsed.state.pause?.cause === 'disabled'
        ? { action: 'enable', plan: planEnable(input), result: null }
        : null,
    );
  }

  async #drafts(declared: readonly ScheduleDefinition[] | undefined): Promise<ScheduleDraft[]> {
    const { app } = this.#parts;
    const drafts = new Map<string, ScheduleDraft>();
    for (const definition of declared ?? this.#parts.declared()) {
      const { task, rest } = splitTask(definition);
      const draft = await this.#read(task, rest, app);
      const id = scheduleIdOf(draft);
      if (drafts.has(id)) throw secondRule(draft);
      drafts.set(id, draft);
    }
    return [...drafts.values()];
  }

  async #read(
    task: string | ResolvedTask,
    definition: EveryDefinition,
    app: string | null,
  ): Promise<ScheduleDraft> {
    const { clock, inputBytesMax } = this.#parts;
    const resolved = typeof task === 'string' ? this.#task(task) : task;
    return readDefinition(definition, { task: resolved, app, now: clock.now(), inputBytesMax });
  }

  /** The task of this name; one that is not defined here has the defaults. */
  #task(name: string): ResolvedTask {
    const known = this.#parts.tasks.get(name);
    return known ?? resolveTask({ name: readName(name, 'task'), run: () => {} }, () => null);
  }

  /** Checks an input against the task's schema, where the task is defined here. */
  async #jobInput(spec: ScheduleSpec, input: unknown): Promise<string> {
    const text = toJson(input, { what: 'input', maxBytes: this.#parts.inputBytesMax });
    const schema = this.#parts.tasks.get(spec.job.type)?.input ?? null;
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
        override: { changes, by: this.#parts.actor, at: now, note },
        drift: { kind: 'overridden', declared: { ...declaredPart(base) } },
      }),
    };
  }

  async #change(
    reference: ScheduleReference,
    plan: Parameters<ScheduleWrites['change']>[1],
  ): Promise<Schedule> {
    const { id } = (await this.#find(reference)).record;
    await this.#writes.change(id, plan);
    return this.get({ id });
  }

  async #loadReference(reference: ScheduleReference): Promise<Loaded> {
    const { record } = await this.#find(reference);
    const loaded = await this.#writes.load(record.id);
    if (loaded === null) throw missingSchedule(textOf(reference));
    return loaded;
  }

  /** Also a schedule that was deleted, as it was then. */
  async #loadKept(reference: ScheduleReference): Promise<Kept> {
    const kept = await this.#findKept(reference);
    if (kept.deleted !== undefined) return kept;
    const loaded = await this.#writes.load(kept.record.id);
    // Deleted since it was found.
    return loaded ?? this.#findKept({ id: kept.record.id });
  }

  async #findKept(reference: ScheduleReference): Promise<Kept> {
    const found = await this.#look(reference);
    if (found !== null) return { ...found, parsed: this.#parsed.parse(found.record) };
    const [gone, ...others] = await this.#deleted(reference);
    if (gone === undefined) throw await this.#missing(reference);
    if (others.length > 0) {
      throw ambiguous(
        textOf(reference),
        [gone, ...others].map(({ record }) => record),
      );
    }
    return gone;
  }

  /** The deleted schedules that may be meant, the one that was deleted last first. */
  async #deleted(reference: ScheduleReference): Promise<Deleted[]> {
    const engine = await this.#parts.engine();
    const ids = idsOf(reference, this.#parts.app);
    const found = await Promise.all(ids.map((id) => readDeleted(engine, id, this.#parsed)));
    return found
      .filter((one) => one !== null)
      .sort((one, other) => other.deleted.at.getTime() - one.deleted.at.getTime());
  }

  async #views(
    records: readonly ScheduleRecord[],
    now: number,
    deleted?: ScheduleDeletion,
  ): Promise<Schedule[]> {
    const parsed = records.map((record) => this.#parsed.parse(record));
    const ids = [
      ...new Set(parsed.flatMap(({ state }) => (state.lastFired === null ? [] : [state.lastFired.runId]))),
    ];
    const jobs = new Map<string, JobRecord>();
    if (ids.length > 0) {
      const engine = await this.#parts.engine();
      for (const job of (await engine.get({ ids })).jobs) if (job !== null) jobs.set(job.id, job);
    }
    return records.map((record, i) => {
      const one = parsed[i] as (typeof parsed)[number];
      const last = one.state.lastFired === null ? null : (jobs.get(one.state.lastFired.runId) ?? null);
      return toSchedule(record, one, last, now, deleted);
    });
  }

  /** Which slots of a range have a completed run, and which one that is not over. */
  async #slotRuns({ record }: Loaded, fromAt: number, toAt: number): Promise<SlotRuns> {
    const engine = await this.#parts.engine();
    const completed = new Set<number>();
    const unfinished = new Set<number>();
    const known = new Set<string>();
    let cursor: string | null = null;
    do {
      // A run of a slot is made after the slot.
      const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
        filter: { scheduleId: record.id, createdFrom: fromAt },
        cursor,
        limit: pageSize,
      });
      for (const { id, status, slot } of page.jobs) {
        known.add(id);
        if (slot?.slotAt === null || slot?.slotAt === undefined) continue;
        if (status === 'COMPLETED') completed.add(slot.slotAt);
        else if (!isTerminal(status)) unfinished.add(slot.slotAt);
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    const folds = new Map<string, FoldedSlots>();
    let beforeAt = toAt + 1;
    for (;;) {
      const { slots, folded } = await engine.slots({
        scheduleId: record.id,
        fromAt,
        beforeAt,
        limit: pageSize,
      });
      for (const one of folded) folds.set(`${one.generation} ${one.startAt}`, one);
      for (const row of slots) {
        // Past its retention. What failed is kept for longer, so a run that is gone was completed.
        if (row.decision === 'fired' && row.jobId !== null && !known.has(row.jobId))
          completed.add(row.fromAt);
      }
      const last = slots.at(-1);
      if (last === undefined || slots.length < pageSize) break;
      beforeAt = last.fromAt;
    }
    // Which slots of a folded month fired is no longer known, only how many. Where some did, none is run again unless all are to be.
    const ranOnce = [...folds.values()].filter(({ counts }) =>
      counts.some(({ decision }) => decision === 'fired'),
    );
    const isFolded = (at: number): boolean => ranOnce.some((one) => one.fromAt <= at && at <= one.toAt);
    return { completed: { has: (at) => completed.has(at) || isFolded(at) }, unfinished };
  }

  async #find(
    reference: ScheduleReference,
  ): Promise<{ record: ScheduleRecord; now: number; deleted?: undefined }> {
    const found = await this.#look(reference);
    if (found !== null) return found;
    const [gone] = await this.#deleted(reference);
    throw gone === undefined ? await this.#missing(reference) : wasDeleted(gone);
  }

  async #missing(reference: ScheduleReference) {
    return missingSchedule(textOf(reference), await this.#nearestName(reference));
  }

  /** The schedule that is there; null: none is. */
  async #look(reference: ScheduleReference): Promise<{ record: ScheduleRecord; now: number } | null> {
    const engine = await this.#parts.engine();
    const filter = readReference(reference);
    const read = (by: typeof filter) => engine.schedules({ filter: by, cursor: null, limit: 10 });
    let { schedules, now } = await read(filter);
    if (schedules.length === 0 && typeof reference === 'string' && reference.startsWith('sch_')) {
      ({ schedules, now } = await read({ ids: [reference] }));
    }
    const [record, ...others] = schedules;
    if (record === undefined) return null;
    if (others.length > 0) throw ambiguous(textOf(reference), schedules);
    return { record, now };
  }

  async #nearestName(reference: ScheduleReference): Promise<string | undefined> {
    const engine = await this.#parts.engine();
    const { schedules } = await engine.schedules({ filter: {}, cursor: null, limit: pageSize });
    return nearest(
      textOf(reference),
      schedules.map(({ name }) => name),
    );
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

/** The instant that is meant: of a wall time that comes twice the one that is a slot, of one in a gap the instant after it. */
function readSlot(
  slot: Date | number | string,
  { parsed }: Kept,
): { askedAt: number; missing: MissingTime | null } {
  const { rule, planRule } = parsed;
  const moment = typeof slot === 'string' ? readWallMoment(slot, rule.timezone) : null;
  const instants = moment?.instants ?? [];
  const missing = moment === null || instants.length > 0 ? null : { date: moment.date, time: moment.time };
  const meantAt = readMoment(slot, 'slot', rule.timezone);
  if (planRule.kind === 'delay') return { askedAt: meantAt, missing };
  const { all } = planRule;
  // The slots of a rate have the milliseconds of the instant that it counts from, and nobody types those.
  const withinMs = rule.kind === 'rate' && meantAt % 1_000 === 0 ? 1_000 : 1;
  for (const at of instants.length === 0 ? [meantAt] : instants) {
    const slotAt = all.next(at - 1);
    if (slotAt !== null && slotAt < at + withinMs) return { askedAt: slotAt, missing };
  }
  return { askedAt: meantAt, missing };
}

/** The ids that a reference may have meant. The app of a declared schedule is this process's, unless it is named. */
function idsOf(reference: ScheduleReference, ownApp: string): string[] {
  if (typeof reference === 'object' && 'id' in reference) return [reference.id];
  if (typeof reference === 'string' && reference.startsWith('sch_')) return [reference];
  const named = typeof reference === 'string' ? { name: reference } : reference;
  const { name, tenant = null, app } = named;
  return (app === undefined ? [ownApp, null] : [app]).map((one) => scheduleIdOf({ app: one, tenant, name }));
}

/** Whether a ledger row holds this slot: a row of many slots holds only those that the rule names. */
function isSlotOf(row: { fromAt: number; toAt: number }, slotAt: number, { parsed }: Kept): boolean {
  if (row.fromAt === slotAt || row.toAt === slotAt) return true;
  const { planRule } = parsed;
  return planRule.kind === 'calendar' && planRule.all.next(slotAt - 1) === slotAt;
}

function splitTask(definition: ScheduleDefinition): { task: string; rest: EveryDefinition } {
  if (typeof definition !== 'object' || definition === null) {
    refuseOption('schedule', definition, 'to be an object with "task" and a rule');
  }
  const { task, ...rest } = definition;
  return { task: readName(task, 'task'), rest };
}

function readStoreFilter({ app, tenant, name }: Pick<SchedulesFilter, 'app' | 'tenant' | 'name'>) {
  return {
    ...(app === undefined ? {} : { app: app === null ? null : readName(app, 'app') }),
    ...(tenant === undefined ? {} : { tenant: tenant === null ? null : readName(tenant, 'tenant') }),
    ...(name === undefined ? {} : { name: readName(name, 'name') }),
  };
}

function readReference(reference: ScheduleReference): {
  ids?: string[];
  app?: string | null;
  tenant?: string | null;
  name?: string;
} {
  if (typeof reference === 'string') return { name: readName(reference, 'schedule') };
  const fields = typeof reference === 'object' && reference !== null ? Object.keys(reference) : [];
  if (fields.length === 1 && fields[0] === 'id')
    return { ids: [readName((reference as { id: string }).id, 'id')] };
  if (fields.includes('name') && fields.every((field) => ['name', 'tenant', 'app'].includes(field))) {
    return readStoreFilter(reference as SchedulesFilter);
  }
  return refuseOption('schedule', reference, 'to be a name, { id } or { name, tenant?, app? }');
}

function textOf(reference: ScheduleReference): string {
  if (typeof reference === 'string') return reference;
  return 'id' in reference ? reference.id : reference.name;
}

function ambiguous(name: string, schedules: readonly ScheduleRecord[]) {
  return dulyError('schedule_ambiguous', {
    message: `Several schedules are named "${name}": ${schedules.map(nameOf).join(', ')}.`,
    hint: 'Name it by { name, tenant, app } (app: null for one that is not declared) or by { id }.',
    details: { schedules: schedules.map(({ id, app, tenant }) => ({ id, app, tenant })) },
  });
}

function isDisabled(identity: ScheduleIdentity, note: string | null) {
  return dulyError('schedule_disabled', {
    message: `The schedule ${nameOf(identity)} is disabled${note === null ? '' : `: ${note}`}. A resume does not bring it back.`,
    hint: 'Declare it again in the code, with a release that is not lower, or delete it: duly.schedules.delete().',
    details: { name: identity.name },
  });
}

/** Two rules for one schedule in one process. */
export function secondRule(identity: ScheduleIdentity) {
  return dulyError('schedule_conflict', {
    message: `The schedule ${nameOf(identity)} was given another rule by this process before.`,
    hint: 'Give each schedule its own "name". To change the rule of one that exists: duly.schedules.edit().',
    details: { name: identity.name },
  });
}

function toDiff(step: DeclaredStep): ScheduleDiff {
  const { id, name, tenant, fields, note } = step;
  const enables = step.step === 'edit' && step.enables;
  // That another release says the same is noted, and no difference.
  const action = enables ? 'enable' : step.step === 'release' ? 'none' : step.step;
  return { id, name, tenant, action, fields, note };
}

function backfillResult(
  { slots, plan, completedCount, unfinishedCount }: BackfillPlan,
  dryRun: boolean,
): BackfillResult {
  return {
    slots: slots.map((at) => new Date(at)),
    jobs: dryRun ? [] : plan.runs.map(({ id }) => id),
    completedCount,
    unfinishedCount,
    dryRun,
  };
}
