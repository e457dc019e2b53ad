/** Where a chaos run keeps its store: a file system of its own that can be full, or files that cannot grow. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A place for the store that can be made full. */
export interface Place {
  folder: string;
  /** How it is made full. */
  how: 'a small file system' | 'a limit on the size of files';
  /** Makes it full for these processes; the answer undoes it. */
  fill(pids: number[]): () => void;
  /** Ends it; what lies in it is kept in the folder it was made in, if so wished. */
  close(options: { keep: boolean }): void;
}

// Far more than a run of hours needs; memory is taken only for what is written.
const sizeMb = 4_096;

function run(command: string, args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Makes the place in a folder: a file system of its own where this user may mount one, else limits on the size of files. */
export function createPlace(parent: string): Place {
  const folder = join(parent, 'store');
  mkdirSync(folder);
  if (!run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'duly-chaos', folder])) return limited(folder);
  const unmount = () => void run('umount', ['--lazy', folder]);
  process.once('exit', unmount);
  return {
    folder,
    how: 'a small file system',
    fill() {
      // Made as small as what is in it, in one step. Somebody may write meanwhile; then it does not fit and is tried again.
      for (let isFull = false; !isFull; ) {
        const { blocks, bfree, bsize } = statfsSync(folder);
        isFull = run('mount', ['-o', `remount,size=${(blocks - bfree) * bsize}`, folder]);
      }
      return () => void run('mount', ['-o', `remount,size=${sizeMb}m`, folder]);
    },
    close({ keep }) {
      if (keep) cpSync(folder, join(parent, 'store-kept'), { recursive: true });
      unmount();
      process.off('exit', unmount);
    },
  };
}

/** Without the right to mount: a write beyond the limit fails in the processes themselves, with EFBIG instead of ENOSPC. */
function limited(folder: string): Place {
  return {
    folder,
    how: 'a limit on the size of files',
    fill(pids) {
      const { size } = statSync(join(folder, 'duly.db-wal'));
      for (const pid of pids) run('prlimit', ['--pid', String(pid), `--fsize=${size}:unlimited`]);
      return () => {
        for (const pid of pids) run('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited']);
      };
    },
    close() {},
  };
}
