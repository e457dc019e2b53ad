import type { Engine, EngineVerb, MigrateInput, MigrateReply } from '../../contract/engine.ts';
import { ClaimScanHints } from './claim-scan-hints.ts';
import { statements } from './generated.ts';
import { schemaVersion } from './migrate.ts';
import { type OpenedPostgres, openPostgres, type PostgresOptions } from './open-postgres.ts';
import { createTransactionWatch } from './transaction-watch.ts';
import { createPostgresUserTransaction } from './user-transaction.ts';
import { createVacuum } from './vacuum.ts';
import { cancel, change, reschedule, retry } from './verbs/change.ts';
import { enqueue } from './verbs/enqueue.ts';
import { exchange } from './verbs/exchange.ts';
import { heartbeat, reap } from './verbs/lease.ts';
import { auditRows, changes, counts, get, holder, list } from './verbs/list.ts';
import { acquire, heldLocks, release, renew } from './verbs/locks.ts';
import { nodes } from './verbs/nodes.ts';
import { prune } from './verbs/prune.ts';
import { records } from './verbs/records.ts';
import { logs, report } from './verbs/report.ts';
import { applySchedules, claimSchedules, fire, schedules, slots } from './verbs/schedules.ts';
import { stats, trend } from './verbs/stats.ts';
import { exportRows, importRows, transfer } from './verbs/transfer.ts';
import { upcoming } from './verbs/upcoming.ts';
import { getExpiring, putExpiring, remember } from './verbs/values.ts';
import { Work } from './work.ts';

const verbs = {
  enqueue,
  exchange,
  heartbeat,
  reap,
  cancel,
  reschedule,
  retry,
  report,
  change,
  applySchedules,
  claimSchedules,
  fire,
  schedules,
  slots,
  acquire,
  renew,
  release,
  heldLocks,
  putExpiring,
  getExpiring,
  remember,
  get,
  holder,
  list,
  logs,
  counts,
  upcoming,
  stats,
  trend,
  changes,
  audit: auditRows,
  nodes,
  records,
  prune,
  transfer,
  exportRows,
  importRows,
} satisfies {
  [Verb in Exclude<EngineVerb, 'migrate'>]: (work: Work, input: never) => ReturnType<Engine[Verb]>;
};

/** Opens the engine on PostgreSQL. */
export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  return createPostgresEngine(await openPostgres(options));
}

/** Makes the engine of an open PostgreSQL: every verb is one round trip, or a few where nobody waits for it. */
export function createPostgresEngine(opened: OpenedPostgres): Engine {
  const work = new Work(opened.database, opened.schema, (notifications) => opened.notify(notifications), {
    scanHints: new ClaimScanHints(opened.clock),
  });
  const transactionWatch = createTransactionWatch({
    ...{ database: opened.database, clock: opened.clock },
    notify: (notifications) => opened.notify(notifications),
  });
  const vacuum = createVacuum(opened);
  const bound = Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [
      name,
      (input: never) => (verb as (work: Work, input: never) => unknown)(work, input),
    ]),
  ) as Pick<Engine, keyof typeof verbs>;
  return {
    ...bound,
    async exchange(input) {
      const reply = await bound.exchange(input);
      vacuum.noteWrites(input.settle.length);
      return reply;
    },
    async fire(input) {
      const reply = await bound.fire(input);
      vacuum.noteWrites(input.groups.length);
      return reply;
    },
    info: () => opened.info,
    async migrate(input: MigrateInput): Promise<MigrateReply> {
      const { from, steps } = await opened.migrate(input);
      const now = input.now ?? (await storeNow(work));
      return { now, from, to: schemaVersion, steps };
    },
    subscribe: (listener) => opened.subscribe(listener),
    probe: () => opened.probe(),
    async userTransaction(tx) {
      const { place, id = 0 } = opened.info;
      return createPostgresUserTransaction(tx, {
        schema: opened.schema,
        place,
        id,
        watchTransaction: transactionWatch.watch,
      });
    },
    watchTransaction: (watched) => transactionWatch.watch(watched),
    close() {
      vacuum.close();
      transactionWatch.close();
      return opened.close();
    },
  };
}

async function storeNow(work: Work): Promise<number> {
  const [row] = await work.rowsOnce<{ now: number }>(statements.clock.now, []);
  return (row as { now: number }).now;
}
