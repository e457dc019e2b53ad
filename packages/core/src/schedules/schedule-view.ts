import type { ErrorCode } from '../base/errors.ts';
import { fromJson } from '../base/json.ts';
import type { CompactedSlots, JobRecord, Origin, ScheduleRecord } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import { taskDefaults } from '../jobs/task-options.ts';
import { type StoredRetry, writtenRetry } from '../lifecycle/retry.ts';
import type { Rule } from './calendar/rule.ts';
import type { RuleKind, RuleSpec } from './calendar/rule-input.ts';
import { baseOf } from './definition/declared.ts';
import type { ScheduleDefinition } from './definition/definition.ts';
import { explain } from './definition/explain.ts';
import { fieldOf } from './definition/override.ts';
import { type ResolvedPolicies, windowMsOf } from './definition/policies.ts';
import type { ParsedSchedule } from './definition/schedule-cache.ts';
import { currentPause, type Pause } from './definition/state.ts';
import type { Decision } from './planner/decision.ts';
import { endOf } from './planner/plan-operations.ts';
import { nextComing } from './planner/upcoming-slot.ts';
import type { ReadableSchedule } from './unreadable.ts';

/** `disabled`: its app no longer declares it. `ended`: nothing more will fire. `deleted`: it is no more, and its ledger is kept. */
export type ScheduleStatus = 'active' | 'paused' | 'disabled' | 'ended' | 'deleted';

/** The last run that a slot created. */
export interface LastRun {
  slot: Date;
  jobId: string;
  /** null: its job is past its retention. */
  status: JobStatus | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** From start to end; null before. */
  durationMs: number | null;
  /** How long after its due instant it started; null before. */
  latenessMs: number | null;
}

/** How a schedule differs from what code declares. */
export interface ScheduleDrift {
  /** `overridden`: a person changed it. `undeclared`: the process that looked last does not declare it. */
  kind: 'overridden' | 'undeclared';
  /** The fields that differ, as declared and as they stand. */
  fields: { field: string; declared: unknown; stands: unknown }[];
  by: string | null;
  at: Date | null;
  note: string | null;
}

/** Policies with every choice made; `catchUpWindowMs` is that of `all` where a policy says so. */
export type PoliciesView = Omit<ResolvedPolicies, 'startAt' | 'endAt'> & {
  readonly startAt: Date | null;
  readonly endAt: Date | null;
};

/** A rule with nothing left open, as it can be given again: `dst` is left out where real time counts and no clock, of a rate and a fixed delay. */
export type RuleView = Readonly<Omit<RuleSpec, 'dst'> & Partial<Pick<RuleSpec, 'dst'>>>;

/** A schedule as users see it: plain data, instants as `Date`. */
export interface Schedule {
  id: string;
  name: string;
  /** The app that declares it; null: dynamic, created by `every()`. */
  app: string | null;
  tenant: string | null;
  /** Type of its jobs: the name of the task that it runs. */
  type: string;
  /** Grows when a deleted schedule is created again under the same name. */
  generation: number;
  status: ScheduleStatus;
  kind: RuleKind;
  rule: RuleView;
  /** The rule in words. */
  words: string;
  /** Why the rule cannot be read in this process (`rrule_library_missing`): then its next slot is not known here. null: it can. */
  unreadable: { code: ErrorCode; message: string; hint: string | null } | null;
  timezone: string;
  policies: PoliciesView;
  input: unknown;
  queue: string;
  priority: number;
  metadata: Record<string, unknown>;
  /** The next slot that should fire; null: none is known (paused without an end, over, or a fixed delay whose run goes on). */
  nextSlot: Date | null;
  /** When that slot falls due: the slot and its jitter. One that a pause holds and `onResume` runs is due when the pause ends. */
  nextRunAt: Date | null;
  lastRun: LastRun | null;
  /** Slots that `skipNext` named. */
  skips: Date[];
  paused: {
    by: string | null;
    note: string | null;
    at: Date;
    until: Date | null;
    /** Who or what paused it. A disabled schedule that was paused tells that pause: it goes back to it when it is declared again. */
    cause: 'person' | 'failures' | 'disabled';
  } | null;
  /** Since when its app no longer declares it; it makes no decisions. */
  disabled: { at: Date; note: string | null } | null;
  flagged: { at: Date; failureCount: number } | null;
  drift: ScheduleDrift | null;
  counts: { fired: number; failuresInRow: number };
  /** The release that declared it last. */
  release: string | null;
  note: string | null;
  createdAt: Date;
  updatedAt: Date;
  /** It is no more, and this is how it was then; null: it is there. */
  deleted: ScheduleDeletion | null;
  /** The same as `duly.schedules.put()` takes it. */
  definition: ScheduleDefinition;
}

/** A run of a slot. */
export interface SlotRun {
  id: string;
  /** The slot that it ran for. */
  slot: Date | null;
  origin: Origin;
  status: JobStatus;
  dueAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  latenessMs: number | null;
  node: string | null;
}

/** What became of a slot: its decision, and for one that fired how far its run is. */
export type SlotStatus = 'pending' | 'late' | 'held' | 'enqueued' | 'completed' | 'compacted' | Decision;

/** A line of the ledger: one slot, or a run of slots with one decision and reason. */
export interface LedgerSlot {
  /** The first slot of the line. */
  slot: Date;
  /** The last one; the same as `slot` for one slot. */
  to: Date;
  /** How many slots have the decision; excluded ones between them are not counted. null: too many to be counted when they were decided. */
  count: number | null;
  /**
   * What became of the line. `none`: the schedule decided nothing about the slot, and a backfill ran it. `pending`: not decided yet. `late`: past its grace and not decided. `held`: by a pause. `enqueued`: its run is not over. `compacted`: past
   * the ledger's retention, and stored by month.
   */
  status: SlotStatus | 'none';
  /** null: not decided, or compacted. */
  decision: Decision | null;
  reason: string | null;
  /** What became of the slots of the line, where it is a month of old ones; null: it is not. */
  compacted: CompactedMonth | null;
  /** Who decided the first slot of the line, and when. */
  node: string | null;
  decidedAt: Date | null;
  /** When the last slot of the line was decided. */
  lastDecidedAt: Date | null;
  generation: number;
  /** Its runs, oldest first: the one that it fired, and those of backfills. Of a line of several slots those of all of them, each with its slot. */
  runs: SlotRun[];
  /** The schedule is no more; null: it is there. */
  deleted: ScheduleDeletion | null;
}

/** How many slots of a month had which decision: what the ledger keeps of slots that are past its retention. */
export interface CompactedMonth {
  /** The month (UTC) in which the first slot lies, `2027-03`. */
  month: string;
  counts: { decision: Decision; count: number /** Whether there may be more. */; atLeast: boolean }[];
}

/** That a schedule was deleted. Its ledger is kept, and can be read by the schedule's id or name. */
export interface ScheduleDeletion {
  at: Date;
  by: string;
  note: string | null;
}

/** A schedule as users see it. `last` is the record of its last run, where it is still kept. One that was deleted has nothing to come. */
export function toSchedule(
  record: ScheduleRecord,
  parsed: ReadableSchedule,
  last: JobRecord | null,
  now: number,
  deleted: ScheduleDeletion | null = null,
): Schedule {
  const { spec, state, rule, planRule, unreadable } = parsed;
  const { policies, job } = spec;
  const coming = deleted === null ? nextComing({ id: record.id, rule: planRule, spec, state }) : null;
  const pause = currentPause(state, now);
  const isDisabled = pause?.cause === 'disabled';
  const kept = pause?.kept;
  const shown = kept === undefined || (kept.untilAt !== null && kept.untilAt <= now) ? pause : kept;
  return {
    id: record.id,
    name: record.name,
    app: record.app,
    tenant: record.tenant,
    type: job.type,
    generation: record.generation,
    status: deleted === null ? statusOf(parsed, pause) : 'deleted',
    kind: rule.kind,
    rule: ruleView(rule),
    words: unreadable === null ? explain(rule, { now }) : `The rule cannot be read here: ${unreadable.code}.`,
    unreadable:
      unreadable === null
        ? null
        : { code: unreadable.code, message: unreadable.message, hint: unreadable.hint ?? null },
    timezone: rule.timezone,
    policies: policiesView(policies),
    input: fromJson(job.input, 'input'),
    queue: job.queue,
    priority: job.priority,
    metadata: job.metadata === null ? {} : (fromJson(job.metadata, 'metadata') as Record<string, unknown>),
    nextSlot: date(coming?.slotAt ?? null),
    nextRunAt: date(coming?.dueAt ?? null),
    lastRun: state.lastFired === null ? null : lastRunOf(state.lastFired, last),
    skips: state.skips.map((at) => new Date(at)),
    paused:
      shown === null
        ? null
        : {
            by: shown.by,
            note: shown.note,
            at: new Date(shown.at),
            until: date(shown.untilAt),
            cause: shown.cause,
          },
    disabled:
      pause !== null && isDisabled ? { at: new Date(pause.disabledAt ?? pause.at), note: pause.note } : null,
    flagged:
      state.flaggedAt === null ? null : { at: new Date(state.flaggedAt), failureCount: state.failureCount },
    drift: driftOf(parsed),
    counts: { fired: state.firedCount, failuresInRow: state.failureCount },
    release: spec.release,
    note: spec.note,
    createdAt: new Date(record.createdAt),
    updatedAt: new Date(record.updatedAt),
    deleted,
    definition: definitionOf(record, parsed),
  };
}

function ruleView({ kind, spec }: Rule): RuleView {
  if (kind !== 'rate' && kind !== 'delay') return spec;
  const { dst: _, ...rest } = spec;
  return rest;
}

function policiesView(policies: ResolvedPolicies): PoliciesView {
  const modes = [policies.missed, policies.onResume, policies.onEdit];
  return {
    ...policies,
    catchUpWindowMs: windowMsOf(policies, modes.includes('all') ? 'all' : 'latest'),
    startAt: date(policies.startAt),
    endAt: date(policies.endAt),
  };
}

function statusOf({ spec, state, planRule: rule }: ParsedSchedule, pause: Pause | null): ScheduleStatus {
  if (pause !== null) return pause.cause === 'disabled' ? 'disabled' : 'paused';
  return endOf({ rule, spec, state }) === null ? 'active' : 'ended';
}

function lastRunOf({ slotAt, runId }: { slotAt: number; runId: string }, job: JobRecord | null): LastRun {
  const { startedAt = null, finishedAt = null } = job ?? {};
  return {
    slot: new Date(slotAt),
    jobId: runId,
    status: job?.status ?? null,
    startedAt: date(startedAt),
    finishedAt: date(finishedAt),
    durationMs: startedAt === null || finishedAt === null ? null : finishedAt - startedAt,
    latenessMs: job?.latenessMs ?? null,
  };
}

function driftOf({ spec }: ParsedSchedule): ScheduleDrift | null {
  const { drift, override } = spec;
  if (drift === null) return null;
  const base = baseOf(spec);
  const fields =
    override === null
      ? []
      : Object.keys(override.changes).map((field) => ({
          field,
          declared: fieldOf(base, field),
          stands: fieldOf(spec, field),
        }));
  return {
    kind: drift.kind,
    fields,
    by: override?.by ?? null,
    at: date(override?.at ?? null),
    note: override?.note ?? null,
  };
}

function definitionOf({ name, tenant }: ScheduleRecord, { spec }: ParsedSchedule): ScheduleDefinition {
  const { job, rule, written, note } = spec;
  const definition: Record<string, unknown> = { type: job.type, name, ...rule, ...written };
  if ((rule.exclude as unknown[] | undefined)?.length === 0) delete definition.exclude;
  if ('rate' in rule || 'delay' in rule) delete definition.dst;
  const input = fromJson(job.input, 'input');
  if (input !== null) definition.input = input;
  if (tenant !== null) definition.tenant = tenant;
  if (job.queue !== 'default') definition.queue = job.queue;
  if (job.priority !== 0) definition.priority = job.priority;
  if (job.metadata !== null) definition.metadata = fromJson(job.metadata, 'metadata');
  if (job.serial !== null) definition.serial = job.serial;
  const { timeoutMs, delivery, retry } = job.policy;
  if (timeoutMs !== taskDefaults.timeoutMs) definition.timeout = timeoutMs ?? 'none';
  if (delivery !== 'at-least-once') definition.delivery = delivery;
  const own = writtenRetry(retry as StoredRetry);
  if (own !== null) definition.retry = own;
  if (note !== null) definition.note = note;
  return definition as unknown as ScheduleDefinition;
}

/** A month of the ledger as users see it. */
export function toCompactedMonth({ fromAt, counts }: CompactedSlots): CompactedMonth {
  return {
    month: new Date(fromAt).toISOString().slice(0, 7),
    counts: counts.map(({ decision, count, exact }) => ({
      decision: decision as Decision,
      count,
      atLeast: !exact,
    })),
  };
}

/** A run as the ledger shows it. */
export function toSlotRun(job: JobRecord): SlotRun {
  return {
    id: job.id,
    slot: date(job.slot?.slotAt ?? null),
    origin: job.origin,
    status: job.status,
    dueAt: new Date(job.dueAt),
    startedAt: date(job.startedAt),
    finishedAt: date(job.finishedAt),
    latenessMs: job.latenessMs,
    node: job.node ?? job.attempts.at(-1)?.node ?? null,
  };
}

function date(at: number | null): Date | null {
  return at === null ? null : new Date(at);
}
