import { parseDuration } from '../duration.ts';
import { dulyError } from '../errors.ts';

/** A store's address, taken apart. */
export interface StoreAddress {
  kind: 'sqlite';
  /** A path, or `:memory:`. */
  path: string;
  /** In this thread instead of one of its own. */
  inline: boolean;
  busyMs: number;
  exclusive: boolean;
}

const parameters = ['busy', 'exclusive', 'inline'];

/** Reads a store's address: `sqlite:./duly.db`, `sqlite::memory:`. */
export function parseStoreAddress(url: string): StoreAddress {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'sqlite') return parseSqlite(url);
  if (
    scheme === 'postgres' ||
    scheme === 'postgresql' ||
    scheme === 'redis' ||
    scheme === 'rediss' ||
    scheme === 'valkey'
  ) {
    const name = scheme.startsWith('postgres') ? 'PostgreSQL' : 'Redis';
    throw dulyError('engine_not_yet', {
      message: `The ${name} engine does not exist yet; the store was not opened.`,
      hint: 'Use an SQLite file for now: "sqlite:./duly.db".',
      details: { scheme },
    });
  }
  throw dulyError('unknown_store', {
    // Never the whole address: it may hold a password.
    message: `Expected a store address like "sqlite:./duly.db", got ${scheme === undefined ? 'one without a scheme' : `the scheme "${scheme}:"`}.`,
    hint: 'Write "sqlite:" and the path of a file, or "sqlite::memory:".',
    details: { scheme: scheme ?? null },
  });
}

function parseSqlite(url: string): StoreAddress {
  const rest = url.slice('sqlite:'.length).replace(/^\/\/(?=.)/, '');
  const [path = '', query = ''] = rest.split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  for (const name of given.keys()) {
    if (parameters.includes(name)) continue;
    throw dulyError('unknown_store', {
      message: `The store address has an unknown parameter "${name}".`,
      hint: `Known are ${parameters.map((one) => `"${one}"`).join(', ')}.`,
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
  const isOn = (name: string) => given.has(name) && given.get(name) !== '0' && given.get(name) !== 'false';
  return {
    kind: 'sqlite',
    path,
    // A database in memory is seen by one connection only, and there is no disk to wait for.
    inline: path === ':memory:' || isOn('inline'),
    busyMs: given.has('busy') ? parseDuration(given.get('busy') as string, 'busy') : 5_000,
    exclusive: isOn('exclusive'),
  };
}
