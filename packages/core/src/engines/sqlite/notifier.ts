import { closeSync, type FSWatcher, readSync, watch, writeSync } from 'node:fs';
import { systemRandom } from '../../base/random.ts';
import type { Notification, NotificationKind } from '../../contract/engine.ts';
import { openBeside } from './private-file.ts';

/** Notifies other processes on the same file that there may be work, and receives their notifications. */
export interface Notifier {
  /** Sends these notifications. Their types stay in this process: the file has no room for them. */
  notify(notifications: Iterable<Notification>): void;
  /** Whether notifications of other processes can be received. */
  readonly isReceiving: boolean;
  close(): void;
}

const kinds: readonly NotificationKind[] = ['jobs', 'cancel', 'schedules', 'locks', 'probe'];
const bytesPerKind = 4;

/**
 * Opens a small file beside the database. After a commit that others may act on, a process writes a new mark at the position
 * of its kind; all processes watch the file. The kernel wakes the watchers at once and an idle notifier costs nothing. If a
 * notification is lost, the next poll finds the work.
 */
export function openNotifier(
  database: string,
  onNotification: (notification: Notification) => void,
): Notifier {
  const path = notifierPath(database);
  const file = openBeside(path, database);
  const marks = Buffer.alloc(kinds.length * bytesPerKind);
  const seen = Buffer.alloc(marks.length);
  const read = (into: Buffer) => {
    into.fill(0);
    readSync(file, into, 0, into.length, 0);
  };
  read(marks);
  read(seen);

  const receive = () => {
    const current = Buffer.alloc(marks.length);
    read(current);
    for (const [index, kind] of kinds.entries()) {
      const from = index * bytesPerKind;
      const mark = current.readUInt32LE(from);
      if (mark === seen.readUInt32LE(from)) continue;
      seen.writeUInt32LE(mark, from);
      const isOwn = mark === marks.readUInt32LE(from);
      // Our own notification matters only as a probe: it proves that notifications arrive.
      if (isOwn === (kind === 'probe')) onNotification({ kind });
    }
  };

  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(path, { persistent: false }, receive);
    watcher.on('error', () => {
      watcher?.close();
      watcher = undefined;
    });
  } catch {
    // No watches left, or a file system without them: polling is the truth anyway.
  }

  return {
    notify(notifications) {
      for (const { kind } of notifications) {
        const from = kinds.indexOf(kind) * bytesPerKind;
        marks.writeUInt32LE(Math.floor(systemRandom.next() * 0xffffffff) + 1, from);
        try {
          writeSync(file, marks, from, bytesPerKind, from);
        } catch {
          // A full disk. The change is committed, so its caller must not see a failure; the next poll finds the work.
        }
      }
    },
    get isReceiving() {
      return watcher !== undefined;
    },
    close() {
      watcher?.close();
      closeSync(file);
    },
  };
}

/** The notifier's file beside a database file. */
export function notifierPath(database: string): string {
  return `${database}-bell`;
}
