import { existsSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DulyError, defaultStore } from '@duly/core';
import { parseStoreAddress, withoutPassword } from '@duly/core/internal';
import { invocation } from '../cli/invocation.ts';

/** The store that the command line or the environment names; undefined: neither does. */
export function givenStore(option: string | undefined): string | undefined {
  const { DULY_STORE } = process.env;
  return option ?? (DULY_STORE === undefined || DULY_STORE === '' ? undefined : DULY_STORE);
}

/** The file of a store; null: it is on a server. */
function fileOf(store: string): string | null {
  const address = parseStoreAddress(store);
  return address.kind === 'sqlite' ? address.path : null;
}

/** Refuses a store that is not there: looking at nothing must not make a file. A server is asked when it is opened: see `existing`. */
export function refuseMissing(store: string): void {
  refuseMemory(store);
  refuseUnmakable(store);
  const path = fileOf(store);
  if (path === null || !isNew(store)) return;
  const isEmpty = existsSync(path);
  throw new DulyError('store_not_found', {
    message: `There is no store at "${path}"${path.startsWith('/') ? '' : ` in "${process.cwd()}"`}${isEmpty ? ': the file is empty' : ''}.`,
    hint: `Start one with "${invocation()} up${storeArgument(store)}", or name another with --store sqlite:<path>.`,
    details: { path: resolve(path) },
  });
}

/** Refuses a store that ends with the command. */
export function refuseMemory(store: string): void {
  if (fileOf(store) !== ':memory:') return;
  throw new DulyError('store_not_found', {
    message: 'A store in memory is seen only by the process that created it, and ends with this command.',
    hint: 'Name a file: --store sqlite:./duly.db',
  });
}

/** Refuses a place where no store can be made, before anybody is told that one is made there. */
export function refuseUnmakable(store: string): void {
  const path = fileOf(store);
  if (path === null || path === ':memory:') return;
  if (statOf(path)?.isDirectory()) {
    throw new DulyError('store_unavailable', {
      message: `"${path}" is a folder; a store is a file.`,
      hint: `Name a file in it: --store sqlite:${path.replace(/\/+$/, '')}/duly.db`,
      details: { path: resolve(path) },
    });
  }
  const folder = dirname(resolve(path));
  const found = statOf(folder);
  if (found === null || found?.isDirectory()) return;
  throw new DulyError('store_unavailable', {
    message: `There is no folder "${folder}" for the store "${path}".`,
    hint: 'Create the folder first, or name another file with --store sqlite:<path>.',
    details: { path: resolve(path) },
  });
}

/** Whether opening this store will make a new file. An empty one holds no store. */
export function isNew(store: string): boolean {
  const path = fileOf(store);
  if (path === null || path === ':memory:') return false;
  const found = statOf(path);
  return found !== null && (found === undefined || found.size === 0);
}

/** What is at a path; undefined: nothing, null: it cannot be told, and opening it will say why. */
function statOf(path: string): Stats | undefined | null {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return null;
  }
}

/** Whether two addresses name the same place. */
export function isSameStore(one: string, other: string): boolean {
  const place = (store: string): string => {
    const address = parseStoreAddress(store);
    if (address.kind === 'postgres') return address.place;
    return address.path === ':memory:' ? address.path : resolve(address.path);
  };
  return place(one) === place(other);
}

/** ` --store …` for commands that people are told to type; nothing for the default. Another terminal may not have DULY_STORE. */
export function storeArgument(store: string): string {
  if (isSameStore(store, defaultStore)) return '';
  // Never the password: what is printed is copied, logged and seen by others.
  return ` --store ${shellWord(withoutPassword(store))}`;
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What people are told to type to do something with this store. */
export function commandFor(store: string, words: string): string {
  return `${invocation()} ${words}${storeArgument(store)}`;
}

/**
 * The same store, opened in this thread. A command that only asks has no handlers that a commit could block, and a third of
 * the start would be the thread.
 */
export function inline(store: string): string {
  return withParameter(store, 'inline=1');
}

/** The same store, refused when it is opened and not there. What is in a file was looked for before. */
export function existing(store: string): string {
  return fileOf(store) === null ? withParameter(store, 'existing=1') : store;
}

function withParameter(store: string, parameter: string): string {
  return `${store}${store.includes('?') ? '&' : '?'}${parameter}`;
}
