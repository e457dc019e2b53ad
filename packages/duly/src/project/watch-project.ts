import { statSync } from 'node:fs';
import { systemClock } from '@duly/core';
import { followedModules } from './followed-modules.ts';
import { findProject } from './modules.ts';

// How often the files are polled. Polling works on every file system and with every editor, and ignores the store in the same folder,
// which changes all the time. A poll of a dozen files takes 0.1 ms.
const lookMs = 300;

/** How files stand on the disk, by their paths. */
type Stamps = Map<string, string>;

/** Calls back when modules of the user's have changed, come or gone, once they are left alone for a moment. */
export function watchProject(config: string | undefined, onChange: () => void): { close(): void } {
  let seen: Stamps = new Map();
  let before = '';
  const tick = (): void => {
    const { own, imported } = look();
    const found = new Map([...imported, ...own]);
    const now = JSON.stringify([...found]);
    // That a module is followed from now on is no change: what imports it was loaded a moment ago.
    for (const [path, stamp] of imported) if (!seen.has(path)) seen.set(path, stamp);
    const isChanged =
      [...own.keys()].some((path) => !seen.has(path)) ||
      [...seen].some(([path, stamp]) => found.get(path) !== stamp);
    // Twice the same: whoever writes has finished.
    if (isChanged && now === before) {
      seen = found;
      onChange();
    }
    before = now;
    timer = systemClock.after(lookMs, tick, { unref: true });
  };
  let timer = systemClock.after(lookMs, tick, { unref: true });
  const { own, imported } = look();
  seen = new Map([...imported, ...own]);

  /** The config and the modules of `tasks/`, and what they import. */
  function look(): { own: Stamps; imported: Stamps } {
    const imported = stampsOf([...followedModules()].sort());
    try {
      const { config: file, tasks } = findProject(config);
      return { own: stampsOf(file === null ? tasks : [file, ...tasks]), imported };
    } catch {
      // A folder that is being moved, or a config that was named and is gone: as it was, until it can be read.
      return { own: seen, imported };
    }
  }
  return { close: () => timer.cancel() };
}

function stampsOf(paths: readonly string[]): Stamps {
  return new Map(
    paths.map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return [path, `${found?.mtimeMs} ${found?.size}`];
    }),
  );
}
