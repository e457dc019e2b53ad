import { formatDuration } from '../../../base/duration.ts';
import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import type { ServerFacts } from './server-facts.ts';

const clockMsMax = 1_000;

/** Checks whether the server can hold a store, and compares its clock with that of this machine. */
export function fitnessFindings(facts: ServerFacts): SettingCheck[] {
  const { version, number, standby, readonly, encoding, isolation, nulls, clockMs } = facts;
  const findings: SettingCheck[] = [
    number < 130_000
      ? found(
          'failing',
          'version',
          `The server is PostgreSQL ${version}; Duly needs 13.`,
          'Update the server.',
        )
      : ok('version', `PostgreSQL ${version}.`),
  ];
  if (standby) {
    const fix = 'Give the address of the primary.';
    findings.push(found('failing', 'standby', 'The server is a standby: it takes no writes.', fix));
  } else if (readonly) {
    const fix = 'ALTER ROLE <role> SET default_transaction_read_only = off';
    findings.push(found('failing', 'standby', 'Transactions are read-only by default.', fix));
  } else findings.push(ok('standby', 'The server is a primary and takes writes.'));
  if (encoding !== 'UTF8') {
    const fix = 'createdb --encoding UTF8 --template template0 <name>';
    findings.push(found('failing', 'encoding', `The database is encoded in ${encoding}, not UTF8.`, fix));
  }
  if (isolation !== 'read committed') {
    const fix = "ALTER ROLE <role> SET default_transaction_isolation = 'read committed'";
    findings.push(found('failing', 'isolation', `Transactions are "${isolation}" by default.`, fix));
  }
  if (nulls !== 'on') {
    const fix = 'ALTER ROLE <role> SET array_nulls = on';
    findings.push(found('failing', 'array_nulls', 'Lists cannot hold NULL (array_nulls is off).', fix));
  }
  findings.push(
    Math.abs(clockMs) <= clockMsMax
      ? ok('clock', "This machine's clock agrees with the server's.")
      : found(
          Math.abs(clockMs) > 60_000 ? 'warning' : 'note',
          'clock',
          `This machine's clock is ${formatDuration(Math.abs(clockMs))} ${clockMs > 0 ? 'behind' : 'ahead of'} the server's. Nothing starts early or late by it, the server's clock rules; but times in its logs do not fit those of jobs.`,
          'Synchronise both clocks (chrony, systemd-timesyncd).',
        ),
  );
  return findings;
}
