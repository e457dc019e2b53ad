import { closeSync, type FSWatcher, readSync, watch, writeSync } from 'node:fs';
import { systemRandom } from '../../base/random.ts';
import type { Hint } from '../../contract/engine.ts';
import { openBeside } from './private-file.ts';

/** Tells other processes on the same file that something may be there to do, and hears it from them. */
export interface Bell {
  /** Rings for these hints. */
  ring(hints: Iterable<Hint>): void;
  /** Whether rings of other processes can be heard. */
  readonly hears: boolean;
  close(): void;
}

const kinds: readonly Hint[] = ['jobs', 'cancel', 'schedules', 'locks', 'echo'];
const bytesPerKind = 4;

/**
 * A small file beside the database. Whoever has committed something worth a look writes a new mark into the
 * place of its kind; everyone watches the file. The kernel wakes the watchers at once and an idle bell costs nothing.
 * A lost ring only means that the next poll finds the work.
 */
export function openBell(database: string, onHint: (hint: Hint) => void): Bell {
  const path = bellPath(database);
  const file = openBeside(path, database);
  const marks = Buffer.alloc(kinds.length * bytesPerKind);
  const seen = Buffer.alloc(marks.length);
  const read = (into: Buffer) => {
    into.fill(0);
    readSync(file, into, 0, into.length, 0);
  };
  read(marks);
  read(seen);

  const hear = () => {
    const current = Buffer.alloc(marks.length);
    read(current);
    for (const [index, kind] of kinds.entries()) {
      const from = index * bytesPerKind;
      const mark = current.readUInt32LE(from);
      if (mark === seen.readUInt32LE(from)) continue;
      seen.writeUInt32LE(mark, from);
      const isOwn = mark === marks.readUInt32LE(from);
      // Our own ring is news only as an echo: it proves that rings arrive.
      if (isOwn === (kind === 'echo')) onHint(kind);
    }
  };

  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(path, { persistent: false }, hear);
    watcher.on('error', () => {
      watcher?.close();
      watcher = undefined;
    });
  } catch {
    // No watches left, or a file system without them: polling is the truth anyway.
  }

  return {
    ring(hints) {
      for (const kind of hints) {
        const from = kinds.indexOf(kind) * bytesPerKind;
        marks.writeUInt32LE(Math.floor(systemRandom.next() * 0xffffffff) + 1, from);
        try {
          writeSync(file, marks, from, bytesPerKind, from);
        } catch {
          // A full disk. What is rung for is committed: its caller must not be told that it failed, and the next poll finds the work.
        }
      }
    },
    get hears() {
      return watcher !== undefined;
    },
    close() {
      watcher?.close();
      closeSync(file);
    },
  };
}

/** The bell of a database file. */
export function bellPath(database: string): string {
  return `${database}-bell`;
}
