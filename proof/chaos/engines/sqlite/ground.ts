/** Real processes on one SQLite file. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { freeze } from '../../../../packages/core/test/processes/freeze.ts';
import type { Ground, GroundOptions } from '../../ground.ts';
import { fileFaults } from './faults.ts';
import { createPlace } from './place.ts';

/** Makes a place for the file. */
export function createSqliteGround({ folder }: GroundOptions): Ground {
  const place = createPlace(folder);
  const file = join(place.folder, 'duly.db');
  // The patience of a call is shorter than the longest lock, so that callers meet it.
  const store = `sqlite:${file}?busy=2s`;
  const seat = { store, command: [], env: {}, release() {} };
  return {
    engine: 'sqlite',
    leaseMs: 2_000,
    // One writer at a time.
    unorderedMs: 0,
    faults: fileFaults(file, place),
    notes: [['disk created full by', place.how]],
    seat: async () => seat,
    store: () => store,
    freeze: (one) => freeze(one, file),
    stopMayLock: true,
    canWrite: () => canWrite(file),
    async check() {
      const db = new DatabaseSync(file, { readOnly: true });
      const rows = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
      db.close();
      return rows
        .filter(({ integrity_check }) => integrity_check !== 'ok')
        .map(({ integrity_check }) => ({
          invariant: 'file-is-whole',
          subjects: [],
          message: integrity_check,
        }));
    },
    close: async (options) => place.close(options),
  };
}

function canWrite(file: string): boolean {
  const db = new DatabaseSync(file, { timeout: 100 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}
