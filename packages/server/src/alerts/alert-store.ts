import { type Duly, DulyError, isDulyError, type StoredRecord } from '@duly/core';
import { randomText } from '../auth/keys.ts';
import { type AlertRule, defaultAlertRules } from './alert-rule.ts';
import { type AlertState, quietState } from './alert-state.ts';
import type { AlertChannel } from './channel.ts';
import type { MaintenanceWindow } from './maintenance.ts';

/** Things of one kind, each under an id. */
export interface AlertTable<Item extends { id: string }> {
  list(): Promise<Item[]>;
  /** Throws `alert_not_found`. */
  get(id: string): Promise<Item>;
  /** Creates it; without an id under a new one. Throws `records_conflict` if the id is taken. */
  create(item: Omit<Item, 'id'> & { id?: string | undefined }): Promise<Item>;
  /** Puts it in the place of the one that is there. Throws `alert_not_found`. */
  replace(item: Item): Promise<Item>;
  /** Throws `alert_not_found`. */
  delete(id: string): Promise<void>;
}

/** What is kept of alerts. */
export interface AlertStore {
  rules: AlertTable<AlertRule>;
  channels: AlertTable<AlertChannel>;
  windows: AlertTable<MaintenanceWindow>;
  /** The state of a rule, and the version to write it over. */
  state(ruleId: string): Promise<{ state: AlertState; version: number | null }>;
  /** Writes it over this version; answers the next one. Throws `records_conflict` when somebody else wrote. */
  keep(ruleId: string, state: AlertState, version: number | null): Promise<number>;
  /** Forgets the state of a rule that is no more, or no longer looks. */
  forget(ruleId: string): Promise<void>;
  /** Puts the default rules in place, once in the life of a store: one that was deleted stays deleted. */
  ensureDefaults(): Promise<void>;
}

// It changes all the time and nobody changes it: as where a program stands, it is not in the audit.
const stateKind = 'cursor';
const stateKey = (ruleId: string): string => `alert-state/${ruleId}`;
const settingKind = 'alert-setting';
const defaultsKey = 'defaults';
const pageSize = 500;

/** Makes it over a Duly's records. */
export function createAlertStore(duly: Duly): AlertStore {
  const rules = createTable<AlertRule>(duly, 'alert-rule', 'rule');
  return {
    rules,
    channels: createTable<AlertChannel>(duly, 'alert-channel', 'channel'),
    windows: createTable<MaintenanceWindow>(duly, 'alert-window', 'window'),

    async state(ruleId) {
      const record = await duly.records.get<AlertState>(stateKind, stateKey(ruleId));
      return { state: record?.value ?? quietState, version: record?.version ?? null };
    },

    async keep(ruleId, state, version) {
      return (await duly.records.put(stateKind, stateKey(ruleId), state, { expectVersion: version })).version;
    },

    async forget(ruleId) {
      await duly.records.delete(stateKind, stateKey(ruleId));
    },

    async ensureDefaults() {
      if ((await duly.records.get(settingKind, defaultsKey)) !== null) return;
      for (const rule of defaultAlertRules) {
        await rules.create(rule).catch((error: unknown) => {
          if (!isDulyError(error, 'records_conflict')) throw error;
        });
      }
      await duly.records.put(settingKind, defaultsKey, true);
    },
  };
}

function createTable<Item extends { id: string }>(duly: Duly, kind: string, noun: string): AlertTable<Item> {
  type Value = Omit<Item, 'id'>;
  const toItem = ({ key: id, value }: StoredRecord<Value>): Item => ({ id, ...value }) as Item;

  async function read(id: string): Promise<StoredRecord<Value>> {
    const record = await duly.records.get<Value>(kind, id);
    if (record === null) throw notFound(noun, id);
    return record;
  }

  return {
    async list() {
      const found: Item[] = [];
      for (let after: string | null = null; ; ) {
        const page: StoredRecord<Value>[] = await duly.records.list(kind, { after, limit: pageSize });
        found.push(...page.map(toItem));
        if (page.length < pageSize) return found;
        after = (page.at(-1) as StoredRecord).key;
      }
    },
    get: async (id) => toItem(await read(id)),
    async create({ id = randomText(8), ...value }) {
      return toItem(
        await duly.records.put<Value>(kind, id, value as unknown as Value, { expectVersion: null }),
      );
    },
    async replace({ id, ...value }) {
      const { version } = await read(id);
      return toItem(
        await duly.records.put<Value>(kind, id, value as unknown as Value, { expectVersion: version }),
      );
    },
    async delete(id) {
      if (!(await duly.records.delete(kind, id))) throw notFound(noun, id);
    },
  };
}

function notFound(noun: string, id: string): DulyError {
  return new DulyError('alert_not_found', {
    message: `No alert ${noun} has the id "${id.slice(0, 100)}".`,
    details: { id: id.slice(0, 100) },
  });
}
