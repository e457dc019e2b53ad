import { snakeName, toSnakeCase } from '../base/snake-case.ts';
import type { Rule } from './calendar/rule.ts';
import type { DefinitionJson } from './definition-json.ts';
import type { LedgerSlot, Schedule } from './schedule-view.ts';

type Instant = string;

/** A schedule as the HTTP API and the command's `-o json` show it: snake case, instants as ISO 8601 in UTC. */
export interface ScheduleJson {
  id: string;
  name: string;
  /** Type of its jobs: the name of the task. */
  type: string;
  app: string | null;
  tenant: string | null;
  status: Schedule['status'];
  kind: Schedule['kind'];
  cron?: unknown;
  rate?: unknown;
  anchor?: unknown;
  delay?: unknown;
  rrule?: unknown;
  timezone: string;
  dst?: unknown;
  exclude?: unknown;
  /** The rule in words. */
  words: string;
  unreadable: Schedule['unreadable'];
  next_slot: Instant | null;
  next_run_at: Instant | null;
  last_run: {
    slot: Instant;
    job_id: string;
    status: NonNullable<Schedule['lastRun']>['status'];
    started_at: Instant | null;
    finished_at: Instant | null;
    duration_ms: number | null;
    lateness_ms: number | null;
  } | null;
  skips: Instant[];
  paused: {
    by: string | null;
    note: string | null;
    at: Instant;
    until_at: Instant | null;
    cause: NonNullable<Schedule['paused']>['cause'];
  } | null;
  disabled: { at: Instant; note: string | null } | null;
  deleted: { at: Instant; by: string; note: string | null } | null;
  flagged: { at: Instant; failure_count: number } | null;
  drift: {
    kind: NonNullable<Schedule['drift']>['kind'];
    fields: { field: string; declared: unknown; stands: unknown }[];
    by: string | null;
    at: Instant | null;
    note: string | null;
  } | null;
  policies: Record<string, unknown>;
  input: unknown;
  queue: string;
  priority: number;
  metadata: Record<string, unknown>;
  generation: number;
  fired_count: number;
  failures_in_row: number;
  release: string | null;
  note: string | null;
  created_at: Instant;
  updated_at: Instant;
  /** What creates the same schedule; only where it was asked for. */
  definition?: DefinitionJson;
}

/** Turns a schedule into the JSON that programs are shown: what it is, the rule in words, its next and its last run, and what is special about it. */
export function toScheduleJson(schedule: Schedule): ScheduleJson {
  const { rule, drift } = schedule;
  return {
    id: schedule.id,
    name: schedule.name,
    type: schedule.type,
    app: schedule.app,
    tenant: schedule.tenant,
    status: schedule.status,
    kind: schedule.kind,
    ...(rule.cron === undefined ? {} : { cron: rule.cron }),
    ...(rule.rate === undefined ? {} : { rate: rule.rate, anchor: rule.anchor }),
    ...(rule.delay === undefined ? {} : { delay: rule.delay }),
    ...(rule.rrule === undefined ? {} : { rrule: rule.rrule }),
    timezone: schedule.timezone,
    ...(rule.dst === undefined ? {} : { dst: rule.dst }),
    exclude: rule.exclude,
    words: schedule.words,
    unreadable: schedule.unreadable,
    next_slot: text(schedule.nextSlot),
    next_run_at: text(schedule.nextRunAt),
    last_run: toSnakeCase(schedule.lastRun) as ScheduleJson['last_run'],
    skips: schedule.skips.map((slot) => slot.toISOString()),
    paused: toSnakeCase(schedule.paused) as ScheduleJson['paused'],
    disabled: toSnakeCase(schedule.disabled) as ScheduleJson['disabled'],
    deleted: toSnakeCase(schedule.deleted) as ScheduleJson['deleted'],
    flagged: toSnakeCase(schedule.flagged) as ScheduleJson['flagged'],
    // The values are what users wrote.
    drift:
      drift === null
        ? null
        : {
            ...drift,
            at: text(drift.at),
            fields: drift.fields.map((one) => ({ ...one, field: snakeName(one.field) })),
          },
    policies: toSnakeCase(schedule.policies) as Record<string, unknown>,
    input: schedule.input,
    queue: schedule.queue,
    priority: schedule.priority,
    metadata: schedule.metadata,
    generation: schedule.generation,
    fired_count: schedule.counts.fired,
    failures_in_row: schedule.counts.failuresInRow,
    release: schedule.release,
    note: schedule.note,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
  };
}

/** A line of the ledger as JSON. */
export interface LedgerSlotJson {
  slot: Instant;
  to: Instant;
  count: number | null;
  status: LedgerSlot['status'];
  decision: LedgerSlot['decision'];
  reason: string | null;
  compacted: {
    month: string;
    counts: { decision: string; count: number; at_least: boolean }[];
  } | null;
  node: string | null;
  decided_at: Instant | null;
  last_decided_at: Instant | null;
  generation: number;
  runs: {
    id: string;
    /** The slot that it ran for; null: none, as of a trigger. */
    slot: Instant | null;
    origin: string;
    status: string;
    due_at: Instant;
    started_at: Instant | null;
    finished_at: Instant | null;
    lateness_ms: number | null;
    node: string | null;
  }[];
  deleted: ScheduleJson['deleted'];
}

/** Turns a line of the ledger into JSON. */
export function toLedgerJson(line: LedgerSlot): LedgerSlotJson {
  return toSnakeCase(line) as LedgerSlotJson;
}

/** A coming slot as JSON: the instant, what the clock shows, and what a change of the clock does to it. */
export interface ComingSlotJson {
  slot: Instant;
  /** `2027-03-14T03:00-04:00`. */
  local: string;
  /** The time that the slot names and that does not exist. */
  gap: { date: string; time: string } | null;
  /** Which one of a time that comes twice. */
  repeat: 'first' | 'last' | null;
}

/** Turns a coming slot of a rule into JSON. */
export function toComingSlotJson(slot: Date, rule: Pick<Rule, 'read'>): ComingSlotJson {
  const { gap, repeat } = rule.read(slot.getTime());
  return {
    slot: slot.toISOString(),
    local: localText(slot, rule, 'T', ''),
    gap: gap === null ? null : { date: gap.date, time: gap.time },
    repeat,
  };
}

/** `2027-03-14 03:00 -04:00`: what the clock of the rule's zone shows at an instant. */
export function localText(
  instant: Date,
  rule: Pick<Rule, 'read'>,
  beforeTime = ' ',
  beforeOffset = ' ',
): string {
  const { date, time, offsetMs } = rule.read(instant.getTime());
  return `${date}${beforeTime}${time}${beforeOffset}${offsetText(offsetMs)}`;
}

function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function text(instant: Date | null): Instant | null {
  return instant === null ? null : instant.toISOString();
}
