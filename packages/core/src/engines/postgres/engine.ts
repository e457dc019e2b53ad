import type { Engine, EngineVerb, Reply } from '../../contract/engine.ts';
import { mapVerbs } from '../../contract/verbs.ts';
import { ClaimScanHints } from './claim-scan-hints.ts';
import { statements } from './generated.ts';
import { schemaVersion } from './migrate.ts';
import { type OpenedPostgres, openPostgres, type PostgresOptions } from './open-postgres.ts';
import { createTransactionWatch } from './transaction-watch.ts';
import { createPostgresUserTransaction } from './user-transaction.ts';
import { createVacuum } from './vacuum.ts';
import * as verbFiles from './verbs/index.ts';
import { Work } from './work.ts';

/** The verbs of this engine. `migrate` is below. */
const verbs: {
  [Verb in Exclude<EngineVerb, 'migrate'>]: (
    work: Work,
    input: Parameters<Engine[Verb]>[0],
  ) => ReturnType<Engine[Verb]>;
} = verbFiles;

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
  const bound = mapVerbs((verb) => {
    const run = verbs[verb as keyof typeof verbs] as (work: Work, input: never) => Promise<Reply>;
    return (input) => run(work, input);
  });
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
    async migrate(input) {
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
