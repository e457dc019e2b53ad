// Which jobs are meant: a filter as a caller writes it, and how it is checked.

import { dulyError } from '../base/errors.ts';
import { parseInstant } from '../base/instant.ts';
import { nearest } from '../base/nearest.ts';
import { type OptionNames, readOptions, shown } from '../base/option-reader.ts';
import type { JobFilter } from '../contract/engine.ts';
import { type JobStatus, jobStatuses } from '../contract/job-status.ts';

/** Which jobs. Every field given must match; a list matches any of its values. */
export interface JobsFilter {
  ids?: readonly string[];
  status?: JobStatus | readonly JobStatus[];
  type?: string | readonly string[];
  queue?: string | readonly string[];
  /** null: only jobs without a tenant. */
  tenant?: string | null;
  /** The dedupe key. */
  key?: string;
  serial?: string;
  /** Jobs created in the handler of this one. */
  parent?: string;
  /** Jobs of the schedule with this id. */
  schedule?: string;
  /** Created at or after this instant. */
  since?: Date | number | string;
  /** Created before this instant. */
  before?: Date | number | string;
  /** A part of the error's name or message. */
  error?: string;
  /** Each string must be a part of the type, the tenant or the error, or be the status; any case. */
  text?: string | readonly string[];
  /** Values at paths of the input: `{ 'user.id': 42 }`. */
  input?: Record<string, string | number | boolean | null>;
  /** Only dead letters, or only others. */
  dead?: boolean;
}

const filterNames: OptionNames<JobsFilter> = {
  ids: true,
  status: true,
  type: true,
  queue: true,
  tenant: true,
  key: true,
  serial: true,
  parent: true,
  schedule: true,
  since: true,
  before: true,
  error: true,
  text: true,
  input: true,
  dead: true,
};

/** Checks a filter and brings it into the engine's form. Throws `invalid_filter`. */
export function readFilter(given: JobsFilter | undefined): JobFilter {
  const filter = readOptions(given, 'a filter', filterNames, 'invalid_filter');
  const result: JobFilter = {};
  if (filter.ids !== undefined) result.ids = readTexts(filter.ids, 'ids');
  if (filter.status !== undefined) result.status = readStatuses(filter.status);
  if (filter.type !== undefined) result.type = readTexts(filter.type, 'type');
  if (filter.queue !== undefined) result.queue = readTexts(filter.queue, 'queue');
  if (filter.tenant !== undefined)
    result.tenant = filter.tenant === null ? null : readText(filter.tenant, 'tenant');
  if (filter.key !== undefined) result.dedupeKey = readText(filter.key, 'key');
  if (filter.serial !== undefined) result.serial = readText(filter.serial, 'serial');
  if (filter.parent !== undefined) result.parentId = readText(filter.parent, 'parent');
  if (filter.schedule !== undefined) result.scheduleId = readText(filter.schedule, 'schedule');
  if (filter.since !== undefined) result.createdFrom = parseInstant(filter.since, 'since');
  if (filter.before !== undefined) result.createdBefore = parseInstant(filter.before, 'before');
  if (filter.error !== undefined) result.error = readText(filter.error, 'error');
  if (filter.text !== undefined) result.text = readTexts(filter.text, 'text');
  if (filter.dead !== undefined) {
    if (typeof filter.dead !== 'boolean') refuse('dead', filter.dead, 'to be true or false');
    result.dead = filter.dead;
  }
  if (filter.input !== undefined) {
    if (typeof filter.input !== 'object' || filter.input === null || Array.isArray(filter.input)) {
      refuse('input', filter.input, 'to be an object of paths and values');
    }
    result.input = Object.entries(filter.input).map(([path, value]) => {
      if (path === '' || (value !== null && !['string', 'number', 'boolean'].includes(typeof value))) {
        refuse(`input.${path.slice(0, 40)}`, value, 'to be a text, a number, true, false or null');
      }
      return { path: readText(path, 'input'), value: JSON.stringify(value) };
    });
  }
  return result;
}

function readStatuses(value: JobStatus | readonly JobStatus[]): JobStatus[] {
  return readTexts(value, 'status').map((text) => {
    const status = text.toUpperCase();
    if ((jobStatuses as readonly string[]).includes(status)) return status as JobStatus;
    const near = nearest(status, jobStatuses);
    return refuse(
      'status',
      text,
      `to be one of ${jobStatuses.join(', ')}`,
      near === undefined ? undefined : `Did you mean "${near}"?`,
    );
  });
}

function readTexts(value: unknown, field: string): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((one) => readText(one, field));
}

function readText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '') refuse(field, value, 'to be a text');
  // No job holds one, and not every store can even be asked.
  if (value.includes('\0') || !value.isWellFormed()) {
    refuse(field, value, 'to be a text without NUL characters and halves of surrogate pairs');
  }
  return value;
}

function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  throw dulyError('invalid_filter', {
    message: `Expected "${field}" of a filter ${expected}, got ${shown(value)}.`,
    hint,
    details: { field },
  });
}
