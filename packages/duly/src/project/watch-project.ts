import { systemClock } from '@duly/core';
import { modulesOnDisk } from './followed-modules.ts';
import { findProject } from './modules.ts';

// So often the files are looked at. Asked for and not listened to: it is the same on every file system, whatever an editor does to save a
// file, and the store in the same folder, which changes all the time, rings no bell. A look at a dozen files takes 0.1 ms.
const lookMs = 300;

/** Calls back when modules of the user's have changed, come or gone, once they are left alone for a moment. */
export function watchProject(config: string | undefined, onChange: () => void): { close(): void } {
  let seen = look();
  let before = seen;
  const tick = (): void => {
    const found = look();
    // Twice the same: whoever writes has finished.
    if (found !== seen && found === before) {
      onChange();
      seen = found;
    }
    before = found;
    timer = systemClock.after(lookMs, tick, { unref: true });
  };
  let timer = systemClock.after(lookMs, tick, { unref: true });

  function look(): string {
    try {
      const { config: file, tasks } = findProject(config);
      return [file ?? '', ...tasks, modulesOnDisk()].join('\n');
    } catch {
      // A folder that is being moved, or a config that was named and is gone: as it was, until it can be read.
      return seen ?? '';
    }
  }
  return { close: () => timer.cancel() };
}
