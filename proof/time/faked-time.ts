/**
 * Processes whose wall clock can be stepped while they run, by Debian's libfaketime; the monotonic clock is left alone, as a step of the
 * real clock leaves it. The library is installed if it is missing and this user may install it.
 */
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import { installPackages, mayInstall } from '../../test/servers/debian.ts';

const libraryName = 'libfaketimeMT.so.1';

function findLibrary(): string | null {
  if (process.platform !== 'linux' || !existsSync('/usr/lib')) return null;
  const folders = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))];
  const paths = folders.map((folder) => join(folder, 'faketime', libraryName));
  return paths.find((path) => existsSync(path)) ?? null;
}

let library: string | null | undefined;

/** Where the library is, after an attempt to install it; null: it is not to be had. */
export function fakeTimeLibrary(): string | null {
  if (library !== undefined) return library;
  library = findLibrary();
  if (library === null && process.platform === 'linux' && mayInstall() && installPackages(['faketime'])) {
    library = findLibrary();
  }
  return library;
}

/** A wall clock of a process's own. */
export interface FakedTime {
  /** For the process that is to have it. */
  env: Record<string, string>;
  /** Sets the wall clock so far from the real one, at once, also while the process runs. */
  setOffset(ms: number): void;
  /** How far it is from the real one now. */
  offsetMs(): number;
  /** What the process believes the time to be. */
  now(): number;
}

/** Makes a wall clock that can be stepped, kept in a folder. Only where there is a library. */
export function createFakedTime(folder: string, name: string, offsetMs: number): FakedTime {
  const file = join(folder, `${name}.faketime`);
  let current = 0;
  const setOffset = (ms: number) => {
    current = ms;
    // In one step: a process that reads a half-written file would see the real time for a moment.
    writeFileSync(`${file}.new`, `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1000).toFixed(3)}s\n`);
    renameSync(`${file}.new`, file);
  };
  setOffset(offsetMs);
  return {
    env: {
      LD_PRELOAD: fakeTimeLibrary() as string,
      FAKETIME_TIMESTAMP_FILE: file,
      // Read at every call, so that a step is seen at once.
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    setOffset,
    offsetMs: () => current,
    now: () => systemClock.now() + current,
  };
}
