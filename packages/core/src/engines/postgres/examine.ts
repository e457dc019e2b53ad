import {
  examinationOf,
  failureOf,
  type SettingCheck,
  type StoreExamination,
} from '../shared/setting-check.ts';
import { createConnector, type PostgresTarget } from './connect.ts';
import { createDatabase } from './database.ts';
import { durabilityFindings } from './examine/durability.ts';
import { fitnessFindings } from './examine/fitness.ts';
import { limitFindings } from './examine/limits.ts';
import { notificationFinding } from './examine/notifications.ts';
import { readServerFacts } from './examine/server-facts.ts';
import { schemaFindings, tableFindings } from './examine/tables.ts';
import { transactionFindings } from './examine/transactions.ts';
import { readSchema } from './migrate.ts';
import type { PostgresOptions } from './open-postgres.ts';

/** How a store on PostgreSQL is examined. */
export interface ExamineOptions extends PostgresTarget, Pick<PostgresOptions, 'clock' | 'random'> {
  /** From which age on an open transaction is reported. */
  transactionMsMax?: number;
}

const callMs = 10_000;

/** See `examineStore`. */
export async function examinePostgres(options: ExamineOptions): Promise<StoreExamination> {
  const connector = await createConnector(options);
  const { place, pool } = connector;
  const { clock, random, schema } = options;
  const database = createDatabase({ pool, place, clock, random, callMs, lockMs: 2_000 });
  const checks: SettingCheck[] = [];
  try {
    const facts = await readServerFacts(database, clock);
    checks.push(...fitnessFindings(facts), ...durabilityFindings(facts), ...limitFindings(facts));
    checks.push(...(await transactionFindings(database, options.transactionMsMax)));
    const state = await readSchema({ database, schema, place });
    checks.push(...schemaFindings(state, schema));
    if (state.version > 0) checks.push(...(await tableFindings(database, schema, facts)));
    if (!checks.some(({ name, state }) => state === 'failing' && unfit.has(name))) {
      checks.push(await notificationFinding(options));
    }
  } catch (error) {
    checks.push(failureOf(error));
  } finally {
    await database.close();
    await connector.end();
  }
  return examinationOf(place, checks);
}

/** With one of these the engine refuses the store. */
const unfit = new Set(['version', 'standby', 'encoding', 'isolation', 'array_nulls', 'schema']);
