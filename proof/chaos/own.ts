/** The program's own connection to the store, as a user has one: rows of its own, in transactions in which it makes and completes jobs. */
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { parseStoreAddress } from '../../packages/core/src/store/store-url.ts';
import type { OwnRows } from '../history.ts';

/** A connection with at most one transaction open. */
export interface OwnConnection {
  /** What Duly is given as `tx`. */
  readonly tx: unknown;
  begin(): Promise<void>;
  /** Writes the row that names a transaction. */
  mark(number: number): Promise<void>;
  /** Writes what a handler did, under which fence. */
  effect(job: string, fence: number): Promise<void>;
  commit(): Promise<void>;
  /** Rolls back what is open, if anything is; never throws. */
  rollBack(): Promise<void>;
  /** All rows. */
  rows(): Promise<OwnRows>;
  /** Ends it; what is open is rolled back. Waits for nobody. */
  close(): void;
}

const tables = (prefix: string): string => `
  CREATE TABLE IF NOT EXISTS ${prefix}marks (tx BIGINT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS ${prefix}effects (job TEXT, fence BIGINT)`;
// On SQLite it blocks the thread meanwhile, as it does in every program that uses node:sqlite.
const patienceMs = 500;

/** Told when a transaction of the program's own is about to begin, when it has the store locked, and when it is over. */
export type OwnListener = (state: 'open' | 'held' | 'over') => void;

/** Connects to the store at an address. */
export async function openOwn(store: string, listener: OwnListener = () => {}): Promise<OwnConnection> {
  const address = parseStoreAddress(store);
  if (address.kind === 'postgres') return openOnServer(store, address.schema);
  return listenTo(openOnFile(address.path), listener);
}

/** Tells of a transaction before it can hold a lock, and of its end after it surely holds none. */
function listenTo(own: OwnConnection, listener: OwnListener): OwnConnection {
  let isOpen = false;
  const over = (): void => {
    if (isOpen) listener('over');
    isOpen = false;
  };
  return {
    ...own,
    begin() {
      isOpen = true;
      listener('open');
      return own.begin().then(() => listener('held'));
    },
    commit: () => own.commit().then(over),
    rollBack: () => own.rollBack().then(over),
    close() {
      own.close();
      over();
    },
  };
}

/** Makes the program's own tables, once the store is there. */
export async function createOwnTables(store: string): Promise<void> {
  const address = parseStoreAddress(store);
  if (address.kind === 'postgres') {
    const client = await connect(store);
    await client.query(tables(`"${address.schema}".`));
    await client.end();
    return;
  }
  const db = new DatabaseSync(address.path, { timeout: 5_000 });
  db.exec(tables(''));
  db.close();
}

function openOnFile(path: string): OwnConnection {
  const db = new DatabaseSync(path, { timeout: patienceMs });
  return {
    tx: db,
    begin: async () => db.exec('BEGIN IMMEDIATE'),
    mark: async (number) => void db.prepare('INSERT INTO marks VALUES (?)').run(number),
    effect: async (job, fence) => void db.prepare('INSERT INTO effects VALUES (?, ?)').run(job, fence),
    commit: async () => db.exec('COMMIT'),
    async rollBack() {
      if (db.isTransaction) db.exec('ROLLBACK');
    },
    rows: async () => ({
      marks: db
        .prepare('SELECT tx FROM marks')
        .all()
        .map(({ tx }) => tx as number),
      effects: db.prepare('SELECT job, fence FROM effects').all() as unknown as OwnRows['effects'],
    }),
    close: () => db.close(),
  };
}

async function openOnServer(store: string, schema: string): Promise<OwnConnection> {
  const client = await connect(store);
  const ask = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;
  return {
    tx: client,
    begin: async () => void (await ask('BEGIN')),
    mark: async (number) => void (await ask(`INSERT INTO "${schema}".marks VALUES ($1)`, [number])),
    effect: async (job, fence) =>
      void (await ask(`INSERT INTO "${schema}".effects VALUES ($1, $2)`, [job, fence])),
    async commit() {
      const { command } = await client.query('COMMIT');
      // So the server says that it was aborted before.
      if (command === 'ROLLBACK') throw new Error('The transaction was aborted.');
    },
    // One whose connection is gone is rolled back by the server.
    rollBack: () =>
      ask('ROLLBACK').then(
        () => {},
        () => {},
      ),
    async rows() {
      const marks = (await ask(`SELECT tx FROM "${schema}".marks`)) as { tx: string }[];
      const effects = (await ask(`SELECT job, fence FROM "${schema}".effects`)) as {
        job: string;
        fence: string;
      }[];
      return {
        marks: marks.map(({ tx }) => Number(tx)),
        effects: effects.map(({ job, fence }) => ({ job, fence: Number(fence) })),
      };
    },
    close: () => void client.end().catch(() => {}),
  };
}

async function connect(store: string): Promise<pg.Client> {
  // What follows the question mark is Duly's.
  const [connectionString] = store.split('?');
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 5_000 });
  // A connection that ends while nothing is asked must not end the process; whoever asks next is told.
  client.on('error', () => {});
  await client.connect();
  return client;
}
