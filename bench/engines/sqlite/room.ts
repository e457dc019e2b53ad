import { mkdtempSync, rmSync } from 'node:fs';
import { copyFile, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { endIfInterrupted } from '../../interruption.ts';
import type { EngineRoom } from '../../room.ts';

const shared = mkdtempSync(join(tmpdir(), 'duly-bench-shared-'));
process.once('exit', () => rmSync(shared, { recursive: true, force: true }));

async function createPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'duly-bench-'));
  // At once, for the process may be about to end; again if somebody still copies into it.
  const forget = endIfInterrupted(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return {
    folder,
    shared,
    url: `sqlite:${join(folder, 'duly.db')}`,
    async remove() {
      await rm(folder, { recursive: true, force: true });
      forget();
    },
  };
}

/** SQLite: a file in a folder of its own. */
export const room: EngineRoom = {
  name: 'sqlite',
  settings: 'WAL, synchronous=FULL, default options',
  bare: { name: 'bare', module: new URL('./bare.ts', import.meta.url) },
  peers: [
    { name: 'plainjob', module: new URL('./plainjob.ts', import.meta.url) },
    { name: 'sidequest', module: new URL('./sidequest.ts', import.meta.url) },
  ],
  targets: {
    drain: { text: '≥ 0.5 of bare', of: 'ratio', atLeast: 0.5 },
    burstStarted: { text: '≤ 1 s', of: 'value', atMost: 1 },
  },
  createPlace,
  async copyPlace(from) {
    const place = await createPlace();
    for (const name of await readdir(from.folder)) {
      const path = join(place.folder, basename(name));
      await copyFile(join(from.folder, name), path);
      // On the disk before anybody starts: a commit would otherwise wait for the copy's pages.
      const file = await open(path, 'r+');
      await file.sync();
      await file.close();
    }
    return place;
  },
};
