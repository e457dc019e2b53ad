import { formatDuration } from '../../../base/duration.ts';
import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import type { Database } from '../work.ts';

// Vacuum cannot clean up behind a transaction of this age, and no sound program has one open for so long.
const ageMsMaxDefault = 600_000;

interface OldTransaction {
  what: string;
  who: string;
  ageMs: number;
  /** For pg_terminate_backend; null: it has no process. */
  pid: number | null;
}

const oldTransactions = `SELECT * FROM (
  SELECT 'transaction' AS what, trim(concat_ws(' ', usename, nullif(application_name, ''), state)) AS who, pid,
    floor(extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS "ageMs"
  FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  UNION ALL
  SELECT 'prepared transaction', gid, NULL, floor(extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint
  FROM pg_prepared_xacts) t
  WHERE "ageMs" >= $1 ORDER BY "ageMs" DESC LIMIT 5`;

/** Finds transactions and replication slots that keep the server from cleaning up. */
export async function transactionFindings(
  database: Database,
  ageMsMax = ageMsMaxDefault,
): Promise<SettingCheck[]> {
  const old = await database.query<OldTransaction>(oldTransactions, [ageMsMax]);
  const slots = await database.query<{ name: string }>(
    'SELECT slot_name AS name FROM pg_replication_slots WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)',
  );
  const findings = old.map(({ what, who, ageMs, pid }) =>
    found(
      'warning',
      'transactions',
      `A ${what} (${who}${pid === null ? '' : `, pid ${pid}`}) is open for ${formatDuration(ageMs)}: nothing that ended since then can be cleaned up, and claims get slower.`,
      pid === null
        ? `ROLLBACK PREPARED '${who}'`
        : `SELECT pg_terminate_backend(${pid}); and against the next one: ALTER ROLE <its role> SET idle_in_transaction_session_timeout = '5min'`,
    ),
  );
  for (const { name } of slots) {
    findings.push(
      found(
        'warning',
        'transactions',
        `The replication slot "${name}" is used by nobody and keeps the server from cleaning up.`,
        `SELECT pg_drop_replication_slot('${name}')`,
      ),
    );
  }
  return findings.length > 0 ? findings : [ok('transactions', 'No transaction is open for long.')];
}
