import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { DulyError } from '@duly/core';
import { nearest } from '@duly/core/internal';

/** A server with its key, by a short name. */
export interface Profile {
  url: string;
  key: string | null;
}

/** What is kept of servers in the user's config folder. */
export interface Profiles {
  /** The one that is used when nothing else is named; null: none. */
  used: string | null;
  servers: Record<string, Profile>;
}

/** Where they are kept. */
export function profilesPath(env: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: folder, APPDATA: data } = env;
  return join(folder || data || join(env.HOME ?? homedir(), '.config'), 'duly', 'profiles.json');
}

/** Reads them; none where there is no file. Throws `config_invalid` where it cannot be read. */
export function readProfiles(): Profiles {
  const path = profilesPath();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { used: null, servers: {} };
    throw error;
  }
  try {
    const { used = null, servers } = JSON.parse(text) as Profiles;
    if (typeof servers === 'object' && servers !== null) return { used, servers };
  } catch {}
  throw new DulyError('config_invalid', {
    message: `The profiles in "${path}" cannot be read.`,
    hint: 'Mend the file, or remove it and add them again.',
    details: { path },
  });
}

/** Writes them, for this user only: they hold keys. */
export function writeProfiles(profiles: Profiles): void {
  const path = profilesPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Beside it and then in its place: a reader never sees a half, and the mode is right from the first byte.
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  chmodSync(beside, 0o600);
  renameSync(beside, path);
}

/** The profile of a name. Throws `profile_not_found`. */
export function profileOf({ servers }: Profiles, name: string): Profile {
  const found = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (found !== undefined) return found;
  const near = nearest(name, Object.keys(servers));
  throw new DulyError('profile_not_found', {
    message: `There is no profile "${name}".`,
    hint: near === undefined ? 'Those there are: duly profiles ls' : `Did you mean "${near}"?`,
    details: { name },
  });
}
