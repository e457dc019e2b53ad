import { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoreInternals } from '../../store-internals.ts';

/** See `StoreInternals`: the file keeps the offset for each boot of the machine. */
export const readStoreOffset: StoreInternals['readStoreOffset'] = async (url) => {
  const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const row = db.prepare('SELECT offset_ms FROM clocks ORDER BY seen_at DESC LIMIT 1').get() as {
    offset_ms: number;
  };
  db.close();
  return row.offset_ms;
};

/** See `StoreInternals`. */
export const readLedger: StoreInternals['readLedger'] = async (url) => {
  const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const row = db.prepare('SELECT count(*) AS count, max(decided_at) AS lastDecidedAt FROM slots').get();
  db.close();
  return row as { count: number; lastDecidedAt: number | null };
};

/** See `StoreInternals`: a `DatabaseSync` on the same file, with what `node:sqlite` sets by itself: `synchronous=FULL`. */
export const openTransactions: StoreInternals['openTransactions'] = async (url) => {
  const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 });
  return {
    async begin() {
      db.exec('BEGIN IMMEDIATE');
      return db;
    },
    commit: async () => db.exec('COMMIT'),
    close: async () => db.close(),
  };
};

/** See `StoreInternals`: the same verbs run inline, so that every call of `node:sqlite` is made where it can be counted. */
export const countStatements: StoreInternals['countStatements'] = (url) => {
  let count = 0;
  const wrap = (prototype: object, names: readonly string[]) => {
    const methods = prototype as Record<string, (...args: unknown[]) => unknown>;
    for (const name of names) {
      const original = methods[name] as (...args: unknown[]) => unknown;
      methods[name] = function (this: unknown, ...args: unknown[]) {
        count++;
        return original.apply(this, args);
      };
    }
  };
  wrap(StatementSync.prototype, ['run', 'get', 'all', 'iterate']);
  wrap(DatabaseSync.prototype, ['exec']);
  return { url: `${url}?inline=1`, read: () => count };
};
