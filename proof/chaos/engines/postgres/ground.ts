/** Real processes on a real PostgreSQL with a synchronous standby. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { Ground, GroundOptions } from '../../ground.ts';
import { startCluster } from './cluster.ts';
import { serverFaults } from './faults.ts';
import { createSeats } from './seats.ts';

const query = 'schema=chaos';

/** Starts the servers. */
export async function createPostgresGround(options: GroundOptions): Promise<Ground> {
  const { folder, hasPooler = false } = options;
  const cluster = await startCluster({ isSynchronous: true, hasPooler });
  const { url } = cluster.primary();
  const seats = createSeats({ folder, url, port: cluster.port, query });
  const first = await seats.take();
  const hasTime = first.time !== null;
  const hasNetem = first.wire?.slow(1, 0) ?? false;
  first.release();
  return {
    engine: hasPooler ? 'postgres --pooler' : 'postgres',
    leaseMs: 3_000,
    // A verb carries the instant at which its statement began, and may have waited for others since.
    unorderedMs: 2_500,
    faults: serverFaults(cluster, hasTime),
    notes: [
      ['packets lost by', first.wire === null ? 'a proxy' : 'network namespaces'],
      ['latency and loss by', hasNetem ? 'netem' : 'a proxy (no netem in this kernel)'],
      ['clocks an hour wrong by', hasTime ? 'libfaketime' : 'nothing: libfaketime is not here'],
    ],
    seat: () => seats.take(),
    store: () => `${cluster.primary().url}?${query}`,
    freeze: (one) => void one.kill('SIGSTOP'),
    // A verb is one statement: the server ends it, whatever becomes of who asked.
    stopMayLock: false,
    canWrite: () => true,
    async check() {
      const open = await cluster.ask(
        `SELECT pid, state, application_name, now() - xact_start AS age, query FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND xact_start < now() - interval '5 s'`,
      );
      return open.map((row) => ({
        invariant: 'nothing-stays-open',
        subjects: [],
        message: `A transaction is open on the server: ${JSON.stringify(row)}`,
      }));
    },
    async close({ keep }) {
      if (keep) {
        for (const [name, server] of [
          ['primary', cluster.primary()],
          ['standby', cluster.standby()],
        ] as const)
          cpSync(join(server.folder, 'log'), join(folder, `${name}.postgres.log`));
      }
      await seats.stop();
      await cluster.stop();
    },
  };
}
