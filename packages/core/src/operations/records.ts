import { dulyError } from '../base/errors.ts';
import { fromJson, toJson } from '../base/json.ts';
import { readName, readWholeNumber } from '../base/option-reader.ts';
import type { Actor, Engine, RecordsInput, SettingRecord } from '../contract/engine.ts';
import { pauseKind } from '../jobs/pauses.ts';
import { groupItems } from '../store/session.ts';

/** A small setting, as `duly.records` gives it. */
export interface StoredRecord<Value = unknown> {
  kind: string;
  key: string;
  value: Value;
  /** Grows with every write. */
  version: number;
  updatedAt: Date;
}

/** How to write a record. */
export interface PutRecordOptions {
  /** Writes only over this version; null: only if there is none yet. Left out: whatever is there. Else `records_conflict`. */
  expectVersion?: number | null;
}

/**
 * Small settings by kind and key, kept in the store: keys, rules, endpoints of programs around Duly. Every write is recorded in the audit
 * under `record:<kind>/<key>`; of records of kind `secret` without what was written. Those of kind `cursor` are where a program stands: they
 * change all the time, and are not in the audit.
 */
export interface Records {
  /** The record; null: there is none. */
  get<Value = unknown>(kind: string, key: string): Promise<StoredRecord<Value> | null>;
  /** Records of a kind by key, those after `after`; 1 to 1000, default 100. */
  list<Value = unknown>(
    kind: string,
    options?: { after?: string | null; limit?: number },
  ): Promise<StoredRecord<Value>[]>;
  /** Writes a record: any JSON of at most 64 KiB. */
  put<Value>(
    kind: string,
    key: string,
    value: Value,
    options?: PutRecordOptions,
  ): Promise<StoredRecord<Value>>;
  /** Removes a record; false: there was none. */
  delete(kind: string, key: string, options?: { expectVersion?: number }): Promise<boolean>;
}

/** Records of this kind hold secrets: the audit says that they were written, and not what. */
export const secretKind = 'secret';

type Operation = RecordsInput['groups'][number]['ops'][number];

const valueBytesMax = 64 * 1024;

/** Makes them over an engine. */
export function createRecords(deps: { engine(): Promise<Engine>; actor(): Actor }): Records {
  async function ask(op: Operation): Promise<SettingRecord[]> {
    const actor = deps.actor();
    const engine = await deps.engine();
    const { groups } = await engine.records({ groups: [{ actor, ops: [op] }] });
    const [group] = groups;
    if (group === undefined) throw dulyError('internal', { message: 'The store answered without a group.' });
    return groupItems(group)[0] ?? [];
  }

  return {
    async get(kind, key) {
      const [record] = await ask({ op: 'get', kind: readKind(kind), key: readName(key, 'key') });
      return record === undefined ? null : view(record);
    },

    async list(kind, { after = null, limit = 100 } = {}) {
      const records = await ask({
        op: 'list',
        kind: readKind(kind),
        after: after === null ? null : readName(after, 'after'),
        limit: readWholeNumber(limit, 'limit', 1, 1_000),
      });
      return records.map((record) => view(record));
    },

    async put(kind, key, value, { expectVersion } = {}) {
      const [record] = await ask({
        op: 'put',
        kind: readKind(kind),
        key: readName(key, 'key'),
        value: toJson(value, { what: 'input', maxBytes: valueBytesMax }),
        ...(expectVersion === undefined ? {} : { expectVersion }),
      });
      return view(record as SettingRecord);
    },

    async delete(kind, key, { expectVersion } = {}) {
      const target = { kind: readKind(kind), key: readName(key, 'key') };
      if ((await ask({ op: 'get', ...target })).length === 0) return false;
      await ask({ op: 'delete', ...target, ...(expectVersion === undefined ? {} : { expectVersion }) });
      return true;
    },
  };
}

/** Pauses are records too, but have verbs of their own, which check more. */
function readKind(kind: string): string {
  if (kind !== pauseKind) return readName(kind, 'kind');
  throw dulyError('invalid_option', {
    message: 'Records of kind "pause" are written by pause() and resume().',
    details: { field: 'kind' },
  });
}

function view<Value>({ kind, key, value, version, updatedAt }: SettingRecord): StoredRecord<Value> {
  return { kind, key, value: fromJson(value) as Value, version, updatedAt: new Date(updatedAt) };
}
