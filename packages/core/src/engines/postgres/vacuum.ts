import type { Clock } from '../../base/clock.ts';
import type { Database } from './work.ts';

/** What the vacuum needs. */
export interface VacuumOptions {
  database: Pick<Database, 'query'>;
  schema: string;
  clock: Clock;
}

/** Removes dead rows from the tables that every job passes through. */
export interface Vacuum {
  /** Counts jobs that ended and schedules that fired here. Starts a run when there were many. */
  noteWrites(count: number): void;
  /** Starts no more runs. */
  close(): void;
}

// A job leaves two dead rows in `jobs` and one in `leases`. Autovacuum checks once a minute by default, which is a million jobs too late.
const writesMin = 10_000;
const deadRowsMin = 10_000;
// Short: a run that comes late has more to do and makes the next one later still.
const pauseMs = 1_000;
// A run that takes longer has met a large table, as while an old transaction prevents the removal. It takes at most a fifth of the time.
const longRunMs = 2_000;
const pausePerLongRun = 4;
const pauseAfterErrorMs = 60_000;
const hotTables = ['jobs', 'leases', 'schedules', 'schedule_leases', 'dedupes', 'gates', 'places', 'journal'];

// Only the owner may vacuum a table. `last_vacuum` tells whether another node did it a moment ago.
const dueTables = `SELECT s.relid::regclass::text AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
  WHERE s.schemaname = $1 AND s.relname IN ('${hotTables.join("', '")}') AND s.n_dead_tup >= ${deadRowsMin}
    AND coalesce(s.last_vacuum < now() - interval '${pauseMs} ms', true) AND pg_has_role(c.relowner, 'USAGE')`;

/** Creates the vacuum of a store. See docs/decisions/0017-plans-and-dead-rows-on-postgres.md. */
export function createVacuum({ database, schema, clock }: VacuumOptions): Vacuum {
  let writeCount = 0;
  let nextElapsed = 0;
  let isRunning = false;
  let isClosed = false;

  async function run(): Promise<void> {
    const startedElapsed = clock.elapsed();
    try {
      for (const { name } of await database.query<{ name: string }>(dueTables, [schema])) {
        // Skips a table that autovacuum or another node works on. Truncating would lock out readers and writers.
        if (!isClosed) await database.query(`VACUUM (SKIP_LOCKED, TRUNCATE OFF, PARALLEL 0) ${name}`);
      }
      const tookMs = clock.elapsed() - startedElapsed;
      nextElapsed = clock.elapsed() + (tookMs <= longRunMs ? pauseMs : pausePerLongRun * tookMs);
    } catch {
      // Autovacuum does the same, only later. A store that is away is reported by the calls that need it.
      nextElapsed = clock.elapsed() + pauseAfterErrorMs;
    }
  }

  return {
    noteWrites(count) {
      writeCount += count;
      if (writeCount < writesMin || isRunning || isClosed || clock.elapsed() < nextElapsed) return;
      writeCount = 0;
      isRunning = true;
      void run().finally(() => {
        isRunning = false;
      });
    },
    close() {
      isClosed = true;
    },
  };
}
