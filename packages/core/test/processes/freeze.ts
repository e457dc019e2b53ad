import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Whether every thread of a process stands still: stopped, or dead and not yet buried, since whoever waits for this hears of no death. */
export function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return /^[TZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
    });
  } catch {
    // It, or one of its threads, has gone this very moment; the next look tells.
    return !existsSync(`/proc/${pid}`);
  }
}

/**
 * Stops a process with SIGSTOP, between two of its transactions on this file: one that is stopped inside a commit keeps SQLite's write
 * lock, and then nobody can write until it goes on or dies.
 */
export function freeze(one: ChildProcess, file: string): void {
  const db = new DatabaseSync(file, { timeout: 100 });
  try {
    for (;;) {
      one.kill('SIGSTOP');
      // The signal only asks; each thread stops when the kernel next looks at it.
      while (!isStopped(one.pid as number));
      try {
        db.exec('BEGIN IMMEDIATE; ROLLBACK');
        return;
      } catch {
        one.kill('SIGCONT');
      }
    }
  } finally {
    db.close();
  }
}
