import type { LedgerSlot, Rule, Schedule } from '@duly/core';
import { toSnakeCase } from './output/json.ts';
import { localText } from './schedule-times.ts';

/** A schedule as JSON, the same everywhere: what it is, the rule in words, its next and its last run, and what is special about it. */
export function toScheduleJson(schedule: Schedule): Record<string, unknown> {
  const { rule, policies, drift } = schedule;
  return {
    id: schedule.id,
    name: schedule.name,
    type: schedule.task,
    app: schedule.app,
    tenant: schedule.tenant,
    status: schedule.status,
    kind: schedule.kind,
    ...(rule.cron === undefined ? {} : { cron: rule.cron }),
    ...(rule.rate === undefined ? {} : { rate: rule.rate, anchor: rule.anchor }),
    ...(rule.delay === undefined ? {} : { delay: rule.delay }),
    ...(rule.rrule === undefined ? {} : { rrule: rule.rrule }),
    timezone: schedule.timezone,
    dst: rule.dst,
    exclude: rule.exclude,
    words: schedule.words,
    unreadable: schedule.unreadable,
    next_slot: schedule.nextSlot,
    next_run_at: schedule.nextRunAt,
    last_run: toSnakeCase(schedule.lastRun),
    skips: schedule.skips,
    paused: toSnakeCase(schedule.paused),
    disabled: schedule.disabled,
    deleted: schedule.deleted,
    flagged: toSnakeCase(schedule.flagged),
    // The values are what users wrote.
    drift:
      drift === null
        ? null
        : { ...drift, fields: drift.fields.map((one) => ({ ...one, field: snakeName(one.field) })) },
    policies: toSnakeCase(policies),
    input: schedule.input,
    queue: schedule.queue,
    priority: schedule.priority,
    metadata: schedule.metadata,
    generation: schedule.generation,
    fired_count: schedule.counts.fired,
    failures_in_row: schedule.counts.failuresInRow,
    release: schedule.release,
    note: schedule.note,
    created_at: schedule.createdAt,
    updated_at: schedule.updatedAt,
  };
}

/** A line of the ledger as JSON. */
export function toLedgerJson(line: LedgerSlot): unknown {
  return toSnakeCase(line);
}

/** A coming slot as JSON: the instant, what the clock shows, and what a change of the clock does to it. */
export function toSlotJson(slot: Date, rule: Rule): Record<string, unknown> {
  const { gap, repeat } = rule.read(slot.getTime());
  return {
    slot,
    local: localText(slot, rule, 'T', ''),
    gap: gap === null ? null : { date: gap.date, time: gap.time },
    repeat,
  };
}

/** The name of a field as JSON has it. */
export function snakeName(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
