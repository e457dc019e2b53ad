import type { Attempt, Job, JobWait, Schedule } from '@duly/core';
import { fromDefinitionJson, type JobJson, type ScheduleJson } from '@duly/core/internal';

// What users wrote themselves stays as they wrote it.
const untouched = new Set(['input', 'metadata', 'result', 'error', 'details', 'fields']);
// Instants whose names do not end in `_at`.
const instants = new Set(['slot', 'next_slot', 'previous_slot', 'from', 'to', 'skips', 'until']);

/**
 * The views of the library, of the JSON that the HTTP API shows: camel case, instants as `Date`. The JSON calls `until` and `untilAt` both `until_at`, so an instant is there
 * under both names.
 */
export function fromJson<View>(json: unknown): View {
  return revive(json) as View;
}

function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  const view: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) {
    const camel = camelName(name);
    if (untouched.has(name)) view[camel] = one;
    else if (name === 'at') view.at = dateOf(one);
    else if (name.endsWith('_at')) {
      view[camel] = dateOf(one);
      // Not listed: whoever prints the view would say it twice.
      Object.defineProperty(view, camel.slice(0, -2), { value: view[camel] });
    } else if (instants.has(name)) view[camel] = Array.isArray(one) ? one.map(dateOf) : dateOf(one);
    else view[camel] = revive(one);
  }
  return view;
}

/** A name of the HTTP API as the library has it. */
export function camelName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function dateOf(value: unknown): unknown {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value) : value;
}

/** A job. Its attempts are asked for apart. */
export function jobFromJson(json: JobJson, attempts: Attempt[] = []): Job {
  const view = fromJson<Job>(json);
  const { current_step: message, steps_completed: step, steps_total: of, ...metadata } = json.metadata;
  return {
    ...view,
    finishedAt: json.completed_at === null ? null : new Date(json.completed_at),
    progress: { percent: json.progress, message, step, of } as Job['progress'],
    metadata,
    waitingFor: fromJson<JobWait | null>(json.waiting_for),
    attemptList: attempts,
  };
}

/** A schedule. */
export function scheduleFromJson(json: ScheduleJson): Schedule {
  const view = fromJson<Schedule>(json);
  const { cron, rate, anchor, delay, rrule, timezone, dst, exclude } = json;
  const rule = Object.fromEntries(
    Object.entries({ cron, rate, anchor, delay, rrule, timezone, dst, exclude }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    ...view,
    rule: rule as unknown as Schedule['rule'],
    counts: { fired: json.fired_count, failuresInRow: json.failures_in_row },
    ...(json.definition === undefined ? {} : { definition: fromDefinitionJson(json.definition) }),
  };
}
