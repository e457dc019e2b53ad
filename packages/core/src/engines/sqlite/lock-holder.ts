import { readFileSync, statSync } from 'node:fs';

// Where SQLite locks the write-ahead log for writing: a byte of the `-shm` file.
const writeLockByte = 120;

/** The process that holds the write lock of a database file, as far as the system tells; null: unknown. */
export function writeLockHolder(path: string): number | null {
  try {
    const { ino } = statSync(`${path}-shm`);
    // 1: POSIX  ADVISORY  WRITE 4711 08:01:1234567 120 120
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, , , mode, pid, file, from, to] = line.trim().split(/\s+/);
      if (mode !== 'WRITE' || file?.split(':').at(-1) !== String(ino)) continue;
      if (Number(from) <= writeLockByte && (to === 'EOF' || Number(to) >= writeLockByte)) return Number(pid);
    }
  } catch {
    // Not Linux, or not allowed: nobody can say.
  }
  return null;
}
