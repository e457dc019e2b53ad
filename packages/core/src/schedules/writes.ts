/** How what is asked of a schedule becomes one write: read it, plan, compare and set, and again if someone was faster. */

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { dulyError, isDulyError } from '../base/errors.ts';
import type { Ids } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { Actor, Engine, JsonText, ScheduleChange, ScheduleRecord, SlotRow } from '../contract/engine.ts';
import { createChangeSender } from './change-sender.ts';
import { specOf } from './definition/declared.ts';
import { isRefused, type ScheduleDraft } from './definition/definition.ts';
import { type ScheduleIdentity, scheduleIdOf } from './definition/identity.ts';
import { resolveStoredRule } from './definition/planned-rule.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { type ScheduleSpec, serialiseSpec } from './definition/spec.ts';
import { serialiseState } from './definition/state.ts';
import { planCreate } from './planner/plan.ts';
import { planEdit } from './planner/plan-edit.ts';
import { planDelete } from './planner/plan-operations.ts';
import type { Plan } from './planner/plan-types.ts';
import { planDeleteUnreadable } from './planner/plan-unreadable.ts';
import { runSpecOf } from './planner/run-spec.ts';
import { slotDetailsOf } from './planner/slot-details.ts';
import { createScheduleLoader, type Loaded, planLimits, type ScheduleLoader } from './schedule-loader.ts';
import type { ReadSchedule } from './schedule-reader.ts';
import { readSchedule } from './unreadable.ts';

/** What is to be written. */
export interface Wanted<Result> {
  /** What happened, for the audit row. */
  action: string;
  plan: Plan;
  /** The new spec; left out: it stays. */
  spec?: ScheduleSpec;
  note?: string | null;
  /** Of the jobs that are created; left out: the schedule's. */
  jobInput?: JsonText;
  result: Result;
  /** Something is left to do after this write: read and plan once more. */
  again?: boolean;
}

/** What it is made of. */
export interface ScheduleWritesOptions {
  engine(): Promise<
    Pick<Engine, 'schedules' | 'applySchedules' | 'get' | 'list'> & Partial<Pick<Engine, 'info'>>
  >;
  read: ReadSchedule;
  clock: Clock;
  random: Random;
  /** Who asks, at the moment of the call. */
  actor(): Actor;
  /** Named in the ledger for what is decided here. */
  node: string;
  ids: Ids;
  parsed: ParsedSchedules;
}

/** Reads and changes single schedules. */
export interface ScheduleWrites {
  /** The schedule of this id as it stands, or null. Throws what its rule throws where it cannot be read here. */
  load(id: string): Promise<Loaded | null>;
  /**
   * Plans and writes, as often as it takes; `plan` answers null when there is nothing to do. Throws what a rule throws that cannot be read
   * here, unless the plan is made for that (`unread`).
   */
  change<Result>(
    id: string,
    plan: (loaded: Loaded) => Promise<Wanted<Result> | null> | Wanted<Result> | null,
    options?: { unread: boolean },
  ): Promise<Result | null>;
  /** Creates a schedule; false: it is there already. */
  create(identity: ScheduleIdentity, spec: ScheduleSpec): Promise<boolean>;
  /** Creates the schedule or edits it to this; does nothing when it is so already. */
  upsert(draft: ScheduleDraft): Promise<'created' | 'edited' | 'unchanged'>;
  /** Deletes it; false: it was gone already, or `isWanted` says no to what is stored by now. */
  remove(id: string, note: string | null, isWanted?: (spec: ScheduleSpec) => boolean): Promise<boolean>;
}

// A conflict means that somebody else made progress, so this is reached only when something is wrong.
const tryCountMax = 100;

/** Makes it. */
export function createScheduleWrites(options: ScheduleWritesOptions): ScheduleWrites {
  const { parsed, read } = options;
  const loader = createScheduleLoader(options);
  const { loadAny, load } = loader;
  const write = createChangeSender(options);

  const writes: ScheduleWrites = {
    load,

    async change(id, planOf, { unread } = { unread: false }) {
      for (let tried = 0; tried < tryCountMax; tried++) {
        const loaded = await (unread ? loadAny(id) : load(id));
        if (loaded === null) return null;
        const wanted = await planOf(loaded);
        if (wanted === null) return null;
        const change = await putChange(await options.engine(), loaded, wanted);
        if ((await write(change)) && !wanted.again) return wanted.result;
      }
      throw tooBusy(id);
    },

    async create(identity, spec) {
      const { record, now } = await read(scheduleIdOf(identity));
      return record === null && write(creationOf(identity, spec, now, options));
    },

    async upsert(draft) {
      const { app, tenant, name } = draft;
      const spec = specOf(draft, { release: null, override: null, drift: null });
      const { record, now } = await read(scheduleIdOf(draft));
      if (record === null) {
        if (draft.refusal !== null) throw draft.refusal;
        if (await write(creationOf({ app, tenant, name }, spec, now, options))) return 'created';
      } else {
        const known = readSchedule(parsed, record);
        if (known.unreadable === null && isSame(known.spec, spec)) return 'unchanged';
      }
      const edited = await writes.change(scheduleIdOf(draft), (loaded) => {
        if (isSame(loaded.parsed.spec, spec)) return null;
        if (isRefused(draft.refusal, loaded.parsed.spec, spec)) throw draft.refusal;
        return wantEdit(loaded, spec, {});
      });
      return edited === null ? 'unchanged' : 'edited';
    },

    async remove(id, note, isWanted) {
      for (let tried = 0; tried < tryCountMax; tried++) {
        const { record, now } = await read(id);
        if (record === null) return false;
        if (isWanted !== undefined && !isWanted(readSchedule(parsed, record).spec)) return false;
        const expected = { expectVersion: record.version, expectGeneration: record.generation };
        const slots = await leftUndecided(loader, record, now);
        if (await write({ op: 'delete', id, ...expected, action: 'delete', slots, note })) return true;
      }
      throw tooBusy(id);
    },
  };
  return writes;
}

/** The change that creates a schedule which a read of this instant did not find. */
function creationOf(
  identity: ScheduleIdentity,
  spec: ScheduleSpec,
  now: number,
  { node, ids }: ScheduleWritesOptions,
): ScheduleChange {
  const id = scheduleIdOf(identity);
  const { planRule } = resolveStoredRule(spec.rule, spec.policies, now);
  const plan = planCreate({
    ...{ id, generation: 0, spec, rule: planRule, now, node },
    ...{ limits: planLimits, newJobId: ids.jobId },
  });
  return {
    ...{ op: 'put', action: 'create', id, ...identity, expectVersion: null },
    ...{ spec: serialiseSpec(spec), state: serialiseState(plan.state) },
    ...{ dueAt: plan.dueAt, waitsFor: plan.waitsFor, slots: [], jobs: [] },
  };
}

/** What a deletion decides. Nothing where nothing of the schedule can be read here: it can be deleted all the same. */
async function leftUndecided(
  { toLoaded }: ScheduleLoader,
  record: ScheduleRecord,
  now: number,
): Promise<SlotRow[]> {
  try {
    const { input, parsed: one } = await toLoaded(record, now);
    return one.unreadable === null ? planDelete(input).slots : planDeleteUnreadable(input);
  } catch (error) {
    if (isDulyError(error, 'store_corrupt') || isDulyError(error, 'schema_too_new')) return [];
    throw error;
  }
}

/** What is wanted as one change of the schedule as it was loaded. */
async function putChange(
  engine: Pick<Engine, 'get'>,
  { record, parsed: one }: Loaded,
  wanted: Wanted<unknown>,
): Promise<ScheduleChange> {
  const { plan, spec = one.spec } = wanted;
  return {
    op: 'put',
    id: record.id,
    app: record.app,
    tenant: record.tenant,
    name: record.name,
    expectVersion: record.version,
    expectGeneration: record.generation,
    spec: serialiseSpec(spec),
    state: serialiseState(plan.state),
    dueAt: plan.dueAt,
    waitsFor: plan.waitsFor,
    action: wanted.action,
    note: wanted.note ?? null,
    slots: plan.slots,
    // What was decided before an edit took effect runs as the schedule was then.
    jobs: plan.runs.map((run) => runSpecOf(record, one.spec.job, run, wanted.jobInput)),
    cancel: plan.cancel,
    slotDetails: await slotDetailsOf(engine, plan.mergedInto),
  };
}

/** An edit as it is written: in one step, or in several when the old rule's slots do not all fit into one. */
export function wantEdit(
  { input, record, parsed }: Loaded,
  spec: ScheduleSpec,
  { action = 'edit', note = null }: { action?: string; note?: string | null },
): Wanted<'edited'> {
  // A new input, note or release is no reason to decide anything: slots that are due stay for the next pass.
  if (hasSameDecisions(parsed.spec, spec)) {
    const plan: Plan = { ...nothing, state: parsed.state, dueAt: record.dueAt, waitsFor: record.waitsFor };
    return { action, plan, spec, note, result: 'edited' };
  }
  const { plan, applied } = planEdit(input, {
    spec,
    ruleFor: (anchorAt) => resolveStoredRule(spec.rule, spec.policies, anchorAt).planRule,
  });
  if (!applied) return { action: 'decide', plan, result: 'edited', again: true };
  return { action, plan, spec, note, result: 'edited' };
}

const nothing = { slots: [], runs: [], cancel: [], mergedInto: [], more: false, events: [] };

function hasSameDecisions(one: ScheduleSpec, other: ScheduleSpec): boolean {
  const decisive = ({ rule, policies }: ScheduleSpec) =>
    JSON.parse(JSON.stringify({ rule, policies })) as unknown;
  return isDeepStrictEqual(decisive(one), decisive(other));
}

/** Whether two specs say the same, as JSON keeps them. */
export function isSame(one: ScheduleSpec, other: ScheduleSpec): boolean {
  return isDeepStrictEqual(JSON.parse(serialiseSpec(one)), JSON.parse(serialiseSpec(other)));
}

function tooBusy(id: string) {
  return dulyError('records_conflict', {
    message: `Schedule "${id}" was changed by others ${tryCountMax} times while it was to be changed here.`,
    hint: 'Try again.',
    details: { id },
  });
}
