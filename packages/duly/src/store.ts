import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DulyError, defaultStore, parseStoreAddress } from '@duly/core';
import { invocation } from './invocation.ts';

/** The store that the command line or the environment names; undefined: neither does. */
export function givenStore(option: string | undefined): string | undefined {
  const { DULY_STORE } = process.env;
  return option ?? (DULY_STORE === undefined || DULY_STORE === '' ? undefined : DULY_STORE);
}

/** Refuses a store that is not there: looking at nothing must not make a file. */
export function refuseMissing(store: string): void {
  const { path } = parseStoreAddress(store);
  if (path === ':memory:') {
    throw new DulyError('store_not_found', {
      message: 'A store in memory is seen only by the process that made it; this command is another one.',
      hint: 'Name a file: --store sqlite:./duly.db',
    });
  }
  if (existsSync(path)) return;
  throw new DulyError('store_not_found', {
    message: `There is no store at "${path}"${path.startsWith('/') ? '' : ` in "${process.cwd()}"`}.`,
    hint: `Start one with "${invocation()} up", or name another with --store sqlite:<path>.`,
    details: { path: resolve(path) },
  });
}

/** Whether opening this store will make a new file. */
export function isNew(store: string): boolean {
  const { path } = parseStoreAddress(store);
  return path !== ':memory:' && !existsSync(path);
}

/** Whether two addresses name the same place. */
export function isSameStore(one: string, other: string): boolean {
  const place = (store: string): string => {
    const { path } = parseStoreAddress(store);
    return path === ':memory:' ? path : resolve(path);
  };
  return place(one) === place(other);
}

/** ` --store …` for commands that people are told to type; nothing for the default. Another terminal may not have DULY_STORE. */
export function storeArgument(store: string): string {
  if (isSameStore(store, defaultStore)) return '';
  return ` --store ${/^[\w./:-]+$/.test(store) ? store : `'${store}'`}`;
}

/**
 * The same store, opened in this thread. A command that only asks has no handlers that a commit could block, and a third of
 * the start would be the thread.
 */
export function inline(store: string): string {
  return `${store}${store.includes('?') ? '&' : '?'}inline=1`;
}
