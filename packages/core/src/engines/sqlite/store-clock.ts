import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { dulyError } from '../../base/errors.ts';
import type { SqliteDatabase } from './database.ts';
import { statements } from './generated.ts';

/** The two times of one transaction. */
export interface StoreInstant {
  /** The store's wall time, epoch milliseconds; never goes back. */
  now: number;
  /** For leases: monotonic, not moved by a step of the wall clock. */
  steady: number;
}

interface ClockRow {
  offset_ms: number;
  steady_ms: number;
  floor_at: number;
  floor_mono: number;
  candidate_ms: number | null;
  candidate_mono: number | null;
  seen_at: number;
}

/** A wall clock that differs from the store's by less is the same clock, read a moment later. */
const agreementMs = 250;

/** How often it is noted that all is well. A reboot goes on from there, so it is no matter of seconds; and every note is a write. */
const noteMs = 60_000;

/** How long a stepped wall clock must stay where it is before the store follows. */
const stableMs = 10_000;

/** Clocks of boots that nobody has seen for so long are forgotten. */
const forgetMs = 30 * 86_400_000;

/**
 * Names the current boot of the machine. The monotonic clock counts from it, so an offset is good for one boot only.
 */
export function readBootId(clock: Clock): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Elsewhere than on Linux: the minute in which the machine started, as far as one can tell.
    return `started-${Math.round((clock.now() - uptime() * 1000) / 60_000)}`;
  }
}

/**
 * The store's clock: per boot of the machine an offset from monotonic to wall time, kept in the file, so that
 * all processes on it agree, whatever each of them believes the time to be.
 */
export interface StoreClock {
  /** Reads both times. Call inside the transaction. */
  read(): StoreInstant;
  /**
   * Compares the machine's clock with the store's, and follows a step once it has been stable; tells whether it did just now. Call inside
   * a write transaction.
   */
  observe(): boolean;
  /** Whether there is nothing to observe, by what was read last: the clocks agree, and that was noted not long ago. */
  isQuiet(): boolean;
  /** How far this process's wall clock is ahead of the store's. */
  disagreementMs(): number;
}

/** Whether the clock of this boot is there already. */
export function hasStoreClock(db: SqliteDatabase, boot: string): boolean {
  return db.prepare(statements.clock.read).get(knownBoot(db, boot)) !== undefined;
}

/** Opens the clock of this boot, making its row if it is missing; then call it inside a write transaction. */
export function openStoreClock(db: SqliteDatabase, clock: Clock, boot: string): StoreClock {
  const key = knownBoot(db, boot);
  const select = db.prepare(statements.clock.read);
  let lastRow: ClockRow | undefined;
  const readRow = () => {
    lastRow = select.get(key) as unknown as ClockRow | undefined;
    return lastRow;
  };
  if (readRow() === undefined) beginBoot(db, clock, key);

  const nowOf = (row: ClockRow, mono: number) =>
    // The second term only matters after a step backwards: half speed until the wall clock has caught up.
    Math.floor(Math.max(row.offset_ms + mono, row.floor_at + (mono - row.floor_mono) / 2));

  const requireRow = () => {
    const row = readRow();
    if (row !== undefined) return row;
    throw dulyError('store_corrupt', {
      message: `The store has no clock for the current boot ("${key}") of this machine.`,
      hint: 'Something removed a row of the table "clocks". Restart the process to create it again.',
    });
  };

  const agrees = (row: ClockRow, seen: number) => Math.abs(seen - row.offset_ms) <= agreementMs;
  const isNoted = (row: ClockRow, now: number) => row.candidate_ms === null && now - row.seen_at < noteMs;

  return {
    read() {
      const row = requireRow();
      const mono = clock.elapsed();
      return { now: nowOf(row, mono), steady: Math.floor(row.steady_ms + mono) };
    },

    observe() {
      const row = requireRow();
      const mono = clock.elapsed();
      const seen = clock.now() - mono;
      const now = nowOf(row, mono);
      if (agrees(row, seen)) {
        // Also when another process proposed a step: two clocks that disagree are no reason to move.
        if (!isNoted(row, now)) db.prepare(statements.clock.agree).run({ boot: key, now });
        return false;
      }
      if (row.candidate_ms === null || Math.abs(seen - row.candidate_ms) > agreementMs) {
        db.prepare(statements.clock.propose).run({ boot: key, now, seen, mono });
        return false;
      }
      if (mono - (row.candidate_mono as number) < stableMs) return false;
      db.prepare(statements.clock.adopt).run({ boot: key, now, seen, mono });
      db.prepare(statements.clock.record).run({ boot: key, now, step: seen - row.offset_ms });
      return true;
    },

    isQuiet() {
      if (lastRow === undefined) return false;
      const mono = clock.elapsed();
      return agrees(lastRow, clock.now() - mono) && isNoted(lastRow, nowOf(lastRow, mono));
    },

    disagreementMs() {
      return clock.now() - clock.elapsed() - requireRow().offset_ms;
    },
  };
}

function beginBoot(db: SqliteDatabase, clock: Clock, boot: string): void {
  const mono = clock.elapsed();
  const wall = clock.now();
  const { seen } = db.prepare(statements.clock.lastSeen).get() as unknown as { seen: number };
  db.prepare(statements.clock.begin).run({
    boot,
    offset: wall - mono,
    floor: seen,
    mono,
    seen: Math.max(wall, seen),
  });
  // Whoever held a lease in an earlier boot is gone with it: nobody needs to wait for those to run out.
  db.prepare(statements.clock.endJobLeases).run(wall);
  db.prepare(statements.clock.endScheduleLeases).run(wall);
  db.prepare(statements.clock.endLocks).run(wall);
  db.prepare(statements.clock.forgetBoots).run({ boot, before: wall - forgetMs });
}

// Two processes that reckon the minute of the start by themselves may be a minute apart.
function knownBoot(db: SqliteDatabase, boot: string): string {
  const match = /^started-(\d+)$/.exec(boot);
  if (match === null) return boot;
  const minute = Number(match[1]);
  const near = [0, -1, 1, -2, 2].map((step) => `started-${minute + step}`);
  const select = db.prepare(statements.clock.read);
  return near.find((name) => select.get(name) !== undefined) ?? boot;
}
