import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { EngineRoom } from '../../room.ts';

async function createPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'duly-bench-'));
  return {
    folder,
    url: `sqlite:${join(folder, 'duly.db')}`,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** SQLite: a file in a folder of its own. */
export const room: EngineRoom = {
  name: 'sqlite',
  settings: 'WAL, synchronous=FULL, default options',
  bare: { name: 'bare', module: new URL('./bare.ts', import.meta.url) },
  peers: [],
  createPlace,
  async copyPlace(from) {
    const place = await createPlace();
    for (const name of await readdir(from.folder)) {
      await copyFile(join(from.folder, name), join(place.folder, basename(name)));
    }
    return place;
  },
};
