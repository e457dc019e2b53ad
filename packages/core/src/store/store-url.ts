import { parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { placeOfUrl, readPostgresUrl, textOfPostgresUrl } from '../engines/shared/pool.ts';

/** The address of a store in an SQLite file, taken apart. */
export interface SqliteAddress {
  kind: 'sqlite';
  /** A path, or `:memory:`. */
  path: string;
  /** In this thread instead of one of its own. */
  inline: boolean;
  busyMs: number;
  exclusive: boolean;
}

/** The address of a store on PostgreSQL, taken apart. */
export interface PostgresAddress {
  kind: 'postgres';
  /** The address without Duly's own parameters; holds the password. */
  connection: string;
  /** Where it is, without secrets. */
  place: string;
  /** The schema that holds the store. */
  schema: string;
  /** A direct connection to listen on, where `connection` goes through a pooler. */
  listenUrl: string | null;
  /** Most connections of one process. */
  poolSize: number;
  /** In this thread instead of one of its own. */
  inline: boolean;
  /** Only if the store is there already: looking at nothing must not make one. */
  existing: boolean;
}

/** A store's address, taken apart. */
export type StoreAddress = SqliteAddress | PostgresAddress;

/** The schema of a store on PostgreSQL when nobody says. */
export const defaultSchema = 'duly';

/** How many connections a process makes at most when nobody says. */
export const defaultPoolSize = 10;

const sqliteParameters = ['busy', 'exclusive', 'inline'];
const postgresParameters = ['schema', 'pool', 'listenUrl', 'inline', 'existing'];
const poolSizeMax = 1_000;
// 63 bytes is what PostgreSQL keeps of a name; the rest is room for what is derived from it.
const schemaLengthMax = 48;

/** Reads a store's address: `sqlite:./duly.db`, `sqlite::memory:`, `postgres://user:password@host/database?schema=duly`. */
export function parseStoreAddress(url: string): StoreAddress {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'sqlite') return parseSqlite(url);
  if (scheme === 'postgres' || scheme === 'postgresql') return parsePostgres(url);
  if (scheme === 'redis' || scheme === 'rediss' || scheme === 'valkey') {
    throw dulyError('engine_not_yet', {
      message: 'The Redis engine does not exist yet; the store was not opened.',
      hint: 'Use an SQLite file ("sqlite:./duly.db") or PostgreSQL ("postgres://host/database").',
      details: { scheme },
    });
  }
  throw dulyError('unknown_store', {
    // Never the whole address: it may hold a password.
    message: `Expected a store address like "sqlite:./duly.db", got ${scheme === undefined ? 'one without a scheme' : `the scheme "${scheme}:"`}.`,
    hint: 'Write "sqlite:" and the path of a file, "sqlite::memory:", or "postgres://user:password@host:5432/database".',
    details: { scheme: scheme ?? null },
  });
}

function parseSqlite(url: string): SqliteAddress {
  const rest = url.slice('sqlite:'.length).replace(/^\/\/(?=.)/, '');
  const [path = '', query = ''] = rest.split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  for (const name of given.keys()) {
    if (sqliteParameters.includes(name)) continue;
    throw dulyError('unknown_store', {
      message: `The store address has an unknown parameter "${name}".`,
      hint: `Known are ${sqliteParameters.map((one) => `"${one}"`).join(', ')}.`,
    });
  }
  if (path.startsWith('file:')) {
    throw dulyError('unknown_store', {
      message: 'The store address names its file as a "file:" URL, which is not understood.',
      hint: 'Write the path itself: "sqlite:./duly.db" or "sqlite:/var/lib/duly.db".',
    });
  }
  if (path === '') {
    throw dulyError('unknown_store', {
      message: 'The store address "sqlite:" names no file.',
      hint: 'Write "sqlite:./duly.db", or "sqlite::memory:" for a store that ends with the process.',
    });
  }
  return {
    kind: 'sqlite',
    path,
    // A database in memory is seen by one connection only, and there is no disk to wait for.
    inline: path === ':memory:' || isOn(given, 'inline'),
    busyMs: given.has('busy') ? parseDuration(given.get('busy') as string, 'busy') : 5_000,
    exclusive: isOn(given, 'exclusive'),
  };
}

function parsePostgres(url: string): PostgresAddress {
  const given = readUrl(url, 'A PostgreSQL address');
  const { searchParams } = given;
  for (const name of searchParams.keys()) refuseMisspelt(name);
  const take = (name: string): string | null => {
    const value = searchParams.get(name);
    searchParams.delete(name);
    return value;
  };
  const takeFlag = (name: string): boolean => {
    const value = isOn(searchParams, name);
    searchParams.delete(name);
    return value;
  };
  const schema = readSchemaName(take('schema') ?? defaultSchema);
  const listenUrl = take('listenUrl');
  const pool = take('pool');
  // Checked now: a wrong address for notifications would otherwise only show as jobs that start late.
  if (listenUrl !== null) readUrl(listenUrl, 'The address "listenUrl" of a PostgreSQL address');
  return {
    kind: 'postgres',
    place: placeOfUrl(url, schema),
    schema,
    listenUrl,
    poolSize: pool === null ? defaultPoolSize : readPoolSize(pool),
    inline: takeFlag('inline'),
    existing: takeFlag('existing'),
    // Last: what is left is the driver's.
    connection: textOfPostgresUrl(given),
  };
}

/** The address without its password, as it may be shown. */
export function withoutPassword(url: string): string {
  const read = readPostgresUrl(url);
  if (read === null) return url;
  read.password = '';
  // It may hold another address, with a password of its own.
  read.searchParams.delete('listenUrl');
  read.searchParams.delete('password');
  return textOfPostgresUrl(read);
}

/** Checks the name of a schema. It becomes part of every statement, so it is a plain name. */
export function readSchemaName(name: string): string {
  if (/^[a-z_][a-z0-9_]*$/.test(name) && name.length <= schemaLengthMax && !/^pg_/.test(name)) return name;
  throw dulyError('unknown_store', {
    message: `Expected the name of a schema to be small letters, digits and "_", not to begin with a digit or "pg_", and to have at most ${schemaLengthMax} signs; got "${name.slice(0, 100)}".`,
    hint: `Leave "schema" out for "${defaultSchema}".`,
    details: { schema: name },
  });
}

function readPoolSize(text: string): number {
  const size = Number(text);
  if (Number.isInteger(size) && size >= 1 && size <= poolSizeMax) return size;
  throw dulyError('unknown_store', {
    message: `Expected "pool" of the store address to be a whole number from 1 to ${poolSizeMax}, got "${text.slice(0, 100)}".`,
    hint: `Leave it out for ${defaultPoolSize}.`,
  });
}

/** The driver takes any parameter and passes over what it does not know, so only what is nearly one of ours can be told. */
function refuseMisspelt(name: string): void {
  const meant = nearest(name, postgresParameters);
  if (meant === undefined || postgresParameters.includes(name)) return;
  throw dulyError('unknown_store', {
    message: `The store address has a parameter "${name}", which is not known.`,
    hint: `Did you mean "${meant}"?`,
    details: { parameter: name },
  });
}

function readUrl(url: string, what: string): URL {
  const read = readPostgresUrl(url);
  if (read !== null) return read;
  throw dulyError('unknown_store', {
    // Never the address itself: it may hold a password.
    message: `${what} cannot be read.`,
    hint: 'Write "postgres://user:password@host:5432/database", with one host; signs like "@", "/" or "#" in a password are written as %40, %2F, %23.',
  });
}

function isOn(given: URLSearchParams, name: string): boolean {
  return given.has(name) && given.get(name) !== '0' && given.get(name) !== 'false';
}
