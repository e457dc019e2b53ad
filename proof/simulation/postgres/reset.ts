/** Brings the tables of a store on PostgreSQL back to an earlier state. Copying a whole database for each world takes three times as long. */
import type pg from 'pg';

const saved = 'saved_state';

// Days of history are tables that a store creates as time passes.
const days =
  "SELECT relname FROM pg_class WHERE relnamespace = '%1$s'::regnamespace AND relname ~ '^finished_[0-9]{8}$'";
const tables = "SELECT relname FROM pg_class WHERE relnamespace = '%1$s'::regnamespace AND relkind = 'r'";

function dropDays(schema: string): string {
  return `FOR v_name IN ${days.replace('%1$s', schema)} LOOP EXECUTE format('DROP TABLE "${schema}".%I', v_name); END LOOP;`;
}

/** Saves the state of a schema. Call it once. */
export async function saveState(client: pg.Client, schema: string): Promise<void> {
  await client.query(`CREATE SCHEMA ${saved}`);
  await client.query(`DO $$
    DECLARE v_name text; v_has_rows boolean;
    BEGIN
      ${dropDays(schema)}
      FOR v_name IN ${tables.replace('%1$s', schema)} LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM "${schema}".%I)', v_name) INTO v_has_rows;
        IF v_has_rows THEN EXECUTE format('CREATE TABLE ${saved}.%1$I AS TABLE "${schema}".%1$I', v_name); END IF;
      END LOOP;
    END $$`);
  await client.query(
    `CREATE TABLE ${saved}.sequence_values AS
     SELECT format('%I.%I', schemaname, sequencename) AS name, last_value FROM pg_sequences WHERE schemaname = '${schema}'`,
  );
}

/** Restores the state that was saved. */
export async function restoreState(client: pg.Client, schema: string): Promise<void> {
  await client.query(`DO $$
    DECLARE v_name text; v_names text;
    BEGIN
      ${dropDays(schema)}
      SELECT string_agg(format('"${schema}".%I', t.relname), ', ') INTO v_names FROM (${tables.replace('%1$s', schema)}) t;
      EXECUTE 'TRUNCATE ' || v_names || ' RESTART IDENTITY';
      FOR v_name IN ${tables.replace('%1$s', saved)} AND relname <> 'sequence_values' LOOP
        EXECUTE format('INSERT INTO "${schema}".%1$I OVERRIDING SYSTEM VALUE TABLE ${saved}.%1$I', v_name);
      END LOOP;
      PERFORM setval(name, coalesce(last_value, 1), last_value IS NOT NULL) FROM ${saved}.sequence_values;
    END $$`);
}
