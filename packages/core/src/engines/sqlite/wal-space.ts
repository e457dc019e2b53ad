import { closeSync, openSync, realpathSync, statSync, writeSync } from 'node:fs';

/** Keeps room in the WAL file ahead of what SQLite writes. */
export interface WalSpace {
  /** Makes room if there is little left. Call inside a write transaction, before its commit: nobody else may write the file meanwhile. */
  keepAhead(): void;
}

// A checkpoint begins after 4,000 pages of 4,096 bytes (see `openDatabase`) with 24 more each, and from then on SQLite writes over what is
// there. A little more, for the transaction that reaches it.
const enoughBytes = 17 * 1024 * 1024;
const stepBytesMin = 1024 * 1024;

// A connection that makes a job or two and closes has no use for it.
const patientCommits = 16;
// Looking costs two microseconds, and a few commits that find no room nobody notices.
const commitsPerLook = 8;

/**
 * A commit that makes a file longer has to flush the file's length and the map of its blocks as well, which takes it a third longer than
 * one that writes over blocks that are there. So zeros are written behind the end, in a few steps until a checkpoint is sure to come
 * first. To SQLite they are a tail without a valid frame, such as every WAL has that was used before.
 */
export function createWalSpace(path: string): WalSpace {
  let wal: string | null = null;
  let commits = 0;
  /** The file's length when it was last looked at or made longer here. */
  let knownBytes = 0;
  let isEnough = false;

  function look(): void {
    wal ??= `${realpathSync(path)}-wal`;
    const bytes = statSync(wal).size;
    isEnough = bytes >= enoughBytes;
    // Not longer than before: SQLite still writes over what is there.
    if (isEnough || bytes === knownBytes) return;
    knownBytes = Math.min(enoughBytes, bytes + Math.max(stepBytesMin, bytes));
    const file = openSync(wal, 'r+');
    try {
      writeSync(file, Buffer.alloc(knownBytes - bytes), 0, knownBytes - bytes, bytes);
    } finally {
      // SQLite has its locks on the other two files; closing this one frees none of them.
      closeSync(file);
    }
  }

  return {
    keepAhead() {
      if (isEnough || ++commits < patientCommits || commits % commitsPerLook !== 0) return;
      try {
        look();
      } catch {
        // A full disk, for instance. Commits work without, and take a little longer.
        isEnough = true;
      }
    },
  };
}
