import { parseDuration } from '../base/duration.ts';
import { dulyError, fromPlainError, isDulyError } from '../base/errors.ts';
import { parseInstant } from '../base/instant.ts';
import {
  type OptionNames,
  readFlag,
  readName,
  readOptions,
  refuseOption,
  shown,
} from '../base/option-reader.ts';
import type { Actor, Engine, PauseValue, SettingRecord } from '../contract/engine.ts';
import { readMoment } from '../schedules/calendar/moment.ts';

/** What to pause: one queue, the jobs of one type, or everything. */
export type PauseTarget = { queue: string } | { type: string } | { all: true };

/** How to pause. */
export interface PauseOptions {
  /** When it ends by itself: an instant, or so long from the store's now (`'2h'`). Left out, it is ended by `resume`. */
  until?: Date | number | string;
  /** Why, for whoever asks `why`. */
  note?: string;
}

/** A pause: nothing of its scope is started, everything is still accepted. */
export interface Pause {
  scope: 'all' | 'queue' | 'type';
  /** The queue or the type; null for everything. */
  name: string | null;
  by: Actor;
  note: string | null;
  since: Date;
  until: Date | null;
}

/** The kind under which pauses are kept among the store's records. */
export const pauseKind = 'pause';

const noteLengthMax = 1_000;
const pauseNames: OptionNames<PauseOptions> = { until: true, note: true };

/** Creates, ends and lists pauses in one store. */
export interface Pauses {
  /** Pauses; a second pause of the same target takes the place of the first. */
  pause(target: PauseTarget, options?: PauseOptions): Promise<Pause>;
  /** Ends a pause; false: there was none. */
  resume(target: PauseTarget): Promise<boolean>;
  /** The pauses in force now, `all` first, then by name. */
  list(): Promise<Pause[]>;
}

/** The record key of a target: `all`, `queue:<name>` or `type:<type>`. */
export function pauseKey(target: PauseTarget): string {
  const fields = typeof target === 'object' && target !== null ? Object.keys(target) : [];
  const [field] = fields;
  if (fields.length !== 1 || (field !== 'queue' && field !== 'type' && field !== 'all')) {
    throw dulyError('invalid_option', {
      message: `Expected what to pause as one of { queue }, { type } or { all: true }, got ${fields.length === 0 ? shown(target) : fields.map((one) => `"${one}"`).join(', ')}.`,
    });
  }
  if (field === 'all') {
    if (!readFlag((target as { all: unknown }).all, 'all')) refuseOption('all', false, 'to be true');
    return 'all';
  }
  return `${field}:${readName((target as Record<string, unknown>)[field], field)}`;
}

/** Reads a pause back from its record; null when the record is not one. */
export function pauseFromRecord(record: SettingRecord): Pause | null {
  const value = JSON.parse(record.value) as PauseValue;
  const [scope, name] = split(record.key);
  if (scope === null) return null;
  return {
    scope,
    name,
    by: value.by,
    note: value.note,
    since: new Date(value.at),
    until: value.untilAt === null ? null : new Date(value.untilAt),
  };
}

/** Pauses over an engine; `actor` is who asks. */
export function createPauses(engine: Pick<Engine, 'records'>, actor: Actor): Pauses {
  const records = async (ops: Parameters<Engine['records']>[0]['groups'][number]['ops']) => {
    const reply = await engine.records({ groups: [{ actor, ops }] });
    const [group] = reply.groups;
    if (group === undefined) throw dulyError('internal', { message: 'The store answered without a group.' });
    if (!group.ok) throw fromPlainError(group.error);
    return { now: reply.now, items: group.items };
  };

  return {
    async pause(target, options) {
      const key = pauseKey(target);
      const { until, note } = readOptions(options, 'pause()', pauseNames);
      if (note !== undefined && (typeof note !== 'string' || note.length > noteLengthMax)) {
        refuseOption('note', note, `to be a text of at most ${noteLengthMax} characters`);
      }
      // Read first for the store's instant: the caller's own clock must not date the pause.
      const { now } = await records([{ op: 'get', kind: pauseKind, key }]);
      const untilAt = until === undefined ? null : readUntil(until, now);
      if (untilAt !== null && untilAt <= now) {
        refuseOption('until', new Date(untilAt).toISOString(), 'to be in the future');
      }
      const value: PauseValue = { untilAt, by: actor, note: note ?? null, at: now };
      await records([{ op: 'put', kind: pauseKind, key, value: JSON.stringify(value) }]);
      return pauseFromRecord({
        kind: pauseKind,
        key,
        value: JSON.stringify(value),
        version: 0,
        updatedAt: now,
      }) as Pause;
    },

    async resume(target) {
      const key = pauseKey(target);
      const { items } = await records([{ op: 'get', kind: pauseKind, key }]);
      if ((items[0] ?? []).length === 0) return false;
      await records([{ op: 'delete', kind: pauseKind, key }]);
      return true;
    },

    async list() {
      const pauses: Pause[] = [];
      const limit = 500;
      let after: string | null = null;
      for (;;) {
        const { now, items }: { now: number; items: SettingRecord[][] } = await records([
          { op: 'list', kind: pauseKind, after, limit },
        ]);
        const page: SettingRecord[] = items[0] ?? [];
        for (const record of page) {
          const pause = pauseFromRecord(record);
          if (pause !== null && (pause.until === null || pause.until.getTime() > now)) pauses.push(pause);
        }
        if (page.length < limit) return pauses;
        after = (page.at(-1) as SettingRecord).key;
      }
    },
  };
}

/**
 * Reads when a pause ends: so long from now (`2h`), or an instant, as `readMoment` where a zone is given. Throws `invalid_instant`.
 */
export function readUntil(
  until: Date | number | string,
  now: number,
  timezone: string | null = null,
): number {
  if (typeof until === 'string') {
    try {
      return now + parseDuration(until, 'until');
    } catch (error) {
      // Then it is meant as an instant, and refused as one.
      if (!isDulyError(error, 'invalid_duration')) throw error;
    }
  }
  return timezone === null ? parseInstant(until, 'until') : readMoment(until, 'until', timezone);
}

function split(key: string): [Pause['scope'], string | null] | [null, null] {
  if (key === 'all') return ['all', null];
  const colon = key.indexOf(':');
  const scope = (['queue', 'type'] as const).find((one) => one === key.slice(0, colon));
  return scope === undefined ? [null, null] : [scope, key.slice(colon + 1)];
}
