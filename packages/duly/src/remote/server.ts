import { DulyError } from '@duly/core';
import type { CommonOptions } from '../cli/context.ts';
import { profileOf, readProfiles } from './profiles.ts';
import type { RemoteServer } from './remote-duly.ts';

/**
 * The server that the options, the environment or the profile in use name; null: a store is meant. What is named on the command line goes before the environment, and that
 * before the profile in use.
 */
export function givenServer(options: CommonOptions): RemoteServer | null {
  const { DULY_SERVER = '', DULY_KEY = '', DULY_STORE = '' } = process.env;
  if (options.store !== undefined) {
    if (typeof options.server !== 'string' && options.profile === undefined) return null;
    throw new DulyError('usage', { message: 'Give a store or a server, not both.' });
  }
  const key = options.serverKey ?? (DULY_KEY === '' ? undefined : DULY_KEY);
  // Of `up` it says whether one is started.
  if (typeof options.server === 'string') return { url: addressOf(options.server), key };
  if (options.profile !== undefined) return ofProfile(options.profile, options.serverKey);
  if (DULY_SERVER !== '') return { url: addressOf(DULY_SERVER), key };
  if (DULY_STORE !== '') return null;
  const { used } = readProfiles();
  return used === null ? null : ofProfile(used, options.serverKey);
}

/** Says that a server cannot do it. */
export function requiresStoreAccess(what: string): DulyError {
  return new DulyError('requires_store_access', {
    message: 'This command cannot be given to a server: it needs the store itself.',
    hint: 'Give it the store: --store <url>, where the store can be reached.',
    details: { what },
  });
}

function ofProfile(name: string, given: string | undefined): RemoteServer {
  const { url, key } = profileOf(readProfiles(), name);
  return { url, key: given ?? key ?? undefined };
}

/** Checks the address of a server. */
export function addressOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '') return text.replace(/\/+$/, '');
  throw new DulyError('usage', {
    message: `Expected the address of a server like "https://duly.example.com", got "${text.slice(0, 80)}".`,
    hint: /^[\w.-]+(:\d+)?(\/\S*)?$/.test(text)
      ? `Write the scheme too: http://${text}`
      : 'A store is named with --store.',
  });
}
