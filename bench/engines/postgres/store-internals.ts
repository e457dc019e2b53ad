import { createRequire } from 'node:module';
import pg from 'pg';
import type { StoreInternals } from '../../store-internals.ts';

async function withClient<Value>(url: string, use: (client: pg.Client) => Promise<Value>): Promise<Value> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** See `StoreInternals`: the server's clock, by the shortest of several questions. */
export const readStoreOffset: StoreInternals['readStoreOffset'] = (url) =>
  withClient(url, async (client) => {
    let best = { tookMs: Number.POSITIVE_INFINITY, offset: 0 };
    for (let i = 0; i < 20; i++) {
      const from = Number(process.hrtime.bigint()) / 1e6;
      const { rows } = await client.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at');
      const to = Number(process.hrtime.bigint()) / 1e6;
      if (to - from < best.tookMs) {
        best = { tookMs: to - from, offset: Number((rows[0] as { at: string }).at) - (from + to) / 2 };
      }
    }
    return best.offset;
  });

/** See `StoreInternals`. */
export const readLedger: StoreInternals['readLedger'] = (url) =>
  withClient(url, async (client) => {
    const { rows } = await client.query('SELECT count(*) AS count, max(decided_at) AS last FROM duly.slots');
    const { count, last } = rows[0] as { count: string; last: string | null };
    return { count: Number(count), lastDecidedAt: last === null ? null : Number(last) };
  });

/** See `StoreInternals`: the same verbs run inline, so that every query of `pg` is made where it can be counted. */
export const countStatements: StoreInternals['countStatements'] = (url) => {
  let count = 0;
  // The driver that Duly finds: the bench may have one of its own.
  const { Client } = createRequire(import.meta.resolve('@duly/core'))('pg') as typeof pg;
  const query = Client.prototype.query as (...args: unknown[]) => unknown;
  Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    count++;
    return query.apply(this, args);
  } as typeof Client.prototype.query;
  return { url: `${url}?inline=1`, read: () => count };
};

/** See `StoreInternals`. */
export const openTransactions: StoreInternals['openTransactions'] = async (url) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    async begin() {
      await client.query('BEGIN');
      return client;
    },
    async commit() {
      await client.query('COMMIT');
    },
    close: () => client.end(),
  };
};
