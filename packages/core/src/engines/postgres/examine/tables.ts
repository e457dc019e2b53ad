import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import { functionSet } from '../generated.ts';
import { missingSteps, type SchemaState, schemaVersion, servesOnly } from '../migrate.ts';
import type { Database } from '../work.ts';
import type { ServerFacts } from './server-facts.ts';

// A claim that skips this many dead rows is noticeably slower.
const deadRowMax = 200_000;

/** Checks whether the schema fits this code. */
export function schemaFindings(state: SchemaState, schema: string): SettingCheck[] {
  const { version } = state;
  if (version === 0) {
    return [found('failing', 'schema', `There is no store in the schema "${schema}".`, 'duly migrate')];
  }
  if (state.lowestCode > functionSet.number) {
    const message = `The store is at schema ${version} and ${servesOnly(state)}.`;
    return [found('failing', 'schema', message, 'Update Duly here.')];
  }
  const steps = missingSteps(state);
  if (steps.length === 0) return [ok('schema', `The schema is at ${version}.`)];
  const message = `The schema is at ${version}, this version creates ${schemaVersion}: ${steps.join(', ')} is missing.`;
  return [found('warning', 'schema', message, 'duly migrate')];
}

interface TableFacts {
  isOwner: boolean;
  mayCreate: boolean;
  unvacuumed: string[] | null;
  deadRows: number;
  tomorrow: boolean;
}

const tables = `SELECT
  (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = to_regclass($1)) AS "isOwner",
  (SELECT has_schema_privilege(c.relnamespace, 'CREATE') FROM pg_class c WHERE c.oid = to_regclass($1)) AS "mayCreate",
  (SELECT json_agg(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $2 AND 'autovacuum_enabled=false' = ANY (c.reloptions)) AS unvacuumed,
  (SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = $2 AND relname IN ('jobs', 'leases')) AS "deadRows",
  to_regclass(format('%I.%I', $2::text, 'finished_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD'))) IS NOT NULL AS tomorrow`;

/** Checks the tables of an existing store. */
export async function tableFindings(
  database: Database,
  schema: string,
  { autovacuum }: Pick<ServerFacts, 'autovacuum'>,
): Promise<SettingCheck[]> {
  const [table] = (await database.query<TableFacts>(tables, [`"${schema}".jobs`, schema])) as [TableFacts];
  const findings: SettingCheck[] = [];
  if (table.unvacuumed !== null && autovacuum === 'on') {
    findings.push(
      found(
        'warning',
        'autovacuum',
        `autovacuum is switched off for ${table.unvacuumed.join(', ')} of the schema "${schema}".`,
        `ALTER TABLE "${schema}"."${table.unvacuumed[0]}" RESET (autovacuum_enabled)`,
      ),
    );
  }
  if (table.deadRows > deadRowMax) {
    findings.push(
      found(
        'warning',
        'dead_rows',
        `${table.deadRows} dead rows lie in the tables of live jobs, and claims step over them.`,
        `Find what holds vacuum back (see "transactions"), then VACUUM "${schema}".jobs, "${schema}".leases`,
      ),
    );
  }
  if (!table.isOwner || !table.mayCreate) {
    const lack = table.isOwner
      ? `may not create tables in the schema "${schema}"`
      : `does not own the tables of "${schema}"`;
    findings.push(
      found(
        table.tomorrow ? 'note' : 'warning',
        'history_role',
        `This role ${lack}: where nodes with the role maintenance run under it, history has no days that are dropped whole, and its jobs are forgotten one by one.${table.isOwner ? '' : ' Nodes under it cannot vacuum the tables of live jobs either, which slows the store down under heavy load.'}`,
        table.isOwner
          ? `GRANT CREATE ON SCHEMA "${schema}" TO <role>`
          : `Run one node with the role maintenance as the owner of the tables, or ALTER TABLE … OWNER TO <role>.`,
      ),
    );
  }
  findings.push(
    table.tomorrow
      ? ok('history', 'The coming days of history are created.')
      : found(
          'note',
          'history',
          'The coming days of history are not created yet: no node with the role maintenance has run here lately. Finished jobs are stored, but not dropped by the day.',
          table.isOwner
            ? 'Start a node with the role maintenance.'
            : `Start a node with the role maintenance, as the owner of the tables of "${schema}": this role is not.`,
        ),
  );
  return findings;
}
